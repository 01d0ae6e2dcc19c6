//! Each limiter a second time, from the contract's table, in steps counted from now; nothing here is the crate's
//! but the names of the anchors.

use crate::quota::Anchor;

use super::search::Grid;

pub(super) struct FixedWindow {
    pub(super) limit: u32,
    pub(super) window: u64,
    pub(super) anchor: Anchor,
}

/// (steps into the window, count); from the first hit, (steps left, count).
impl Grid for FixedWindow {
    type State = (u64, u32);

    fn idle(&self) -> Vec<Self::State> {
        match self.anchor {
            Anchor::FirstHit => vec![(0, 0)],
            _ => (0..self.window).map(|phase| (phase, 0)).collect(),
        }
    }

    fn most(&self, state: &Self::State) -> u32 {
        self.limit - state.1
    }

    fn step(&self, &(at, count): &Self::State, units: u32) -> (Self::State, u64) {
        let count = count + units;
        let next = match self.anchor {
            Anchor::FirstHit => {
                let left = if at == 0 && units > 0 { self.window } else { at };
                if left > 1 { (left - 1, count) } else { (0, 0) }
            }
            _ if at + 1 == self.window => (0, 0),
            _ => (at + 1, count),
        };
        (next, u64::from(units))
    }
}

pub(super) struct Lockout {
    pub(super) attempts: u32,
    pub(super) within: u64,
    pub(super) lock: u64,
}

/// (steps left of the window or the lock, count): locked when it is full, fresh when no step is left.
impl Grid for Lockout {
    type State = (u64, u32);

    fn idle(&self) -> Vec<Self::State> {
        vec![(0, 0)]
    }

    fn most(&self, state: &Self::State) -> u32 {
        self.attempts - state.1
    }

    fn step(&self, &(left, count): &Self::State, units: u32) -> (Self::State, u64) {
        let left = match count + units {
            all if units > 0 && all == self.attempts => self.lock,
            all if all > 0 && count == 0 => self.within,
            _ => left,
        };
        let next = if left > 1 { (left - 1, count + units) } else { (0, 0) };
        (next, u64::from(units))
    }
}

/// A lockout to somebody who takes care not to be locked.
pub(super) struct Careful(pub(super) Lockout);

impl Grid for Careful {
    type State = (u64, u32);

    fn idle(&self) -> Vec<Self::State> {
        self.0.idle()
    }

    fn most(&self, state: &Self::State) -> u32 {
        self.0.most(state) - 1
    }

    fn step(&self, state: &Self::State, units: u32) -> (Self::State, u64) {
        self.0.step(state, units)
    }
}

pub(super) struct SlidingLog {
    pub(super) limit: u32,
    pub(super) window: u64,
}

/// The ages of the units still in the window, newest last.
impl Grid for SlidingLog {
    type State = Vec<u64>;

    fn idle(&self) -> Vec<Self::State> {
        vec![Vec::new()]
    }

    fn most(&self, ages: &Self::State) -> u32 {
        self.limit - u32::try_from(ages.len()).unwrap()
    }

    fn step(&self, ages: &Self::State, units: u32) -> (Self::State, u64) {
        let new = std::iter::repeat_n(0, usize::try_from(units).unwrap());
        let next = ages.iter().copied().chain(new).map(|age| age + 1).filter(|age| *age < self.window);
        (next.collect(), u64::from(units))
    }
}

pub(super) struct SlidingCounter {
    pub(super) limit: u32,
    pub(super) window: u64,
}

/// (steps into the window, previous, current).
impl Grid for SlidingCounter {
    type State = (u64, u64, u64);

    fn idle(&self) -> Vec<Self::State> {
        (0..self.window).map(|phase| (phase, 0, 0)).collect()
    }

    fn most(&self, &(elapsed, previous, current): &Self::State) -> u32 {
        // previous·(1 − elapsed) + current + (n − 1) < L, times the window.
        let passes = |n: u64| {
            previous * (self.window - elapsed) + (current + n - 1) * self.window
                < u64::from(self.limit) * self.window
        };
        u32::try_from((1..=u64::from(self.limit)).take_while(|&n| passes(n)).count()).unwrap()
    }

    fn step(&self, &(elapsed, previous, current): &Self::State, units: u32) -> (Self::State, u64) {
        let current = current + u64::from(units);
        let next =
            if elapsed + 1 == self.window { (0, current, 0) } else { (elapsed + 1, previous, current) };
        (next, u64::from(units))
    }
}

pub(super) struct TokenBucket {
    pub(super) capacity: u32,
    pub(super) p: u32,
    pub(super) q: u64,
}

/// The credit, in 1/q of a unit.
impl Grid for TokenBucket {
    type State = u64;

    fn idle(&self) -> Vec<Self::State> {
        vec![u64::from(self.capacity) * self.q]
    }

    fn most(&self, credit: &Self::State) -> u32 {
        u32::try_from(credit / self.q).unwrap()
    }

    fn step(&self, credit: &Self::State, units: u32) -> (Self::State, u64) {
        let left = credit - u64::from(units) * self.q + u64::from(self.p);
        (left.min(u64::from(self.capacity) * self.q), u64::from(units))
    }
}

/// A server that takes q/p steps a unit, and places to wait.
pub(super) struct Queue {
    pub(super) places: u32,
    pub(super) p: u32,
    pub(super) q: u64,
}

impl Queue {
    /// Units that find their slot within the queue when the next free one is `free`/p steps away.
    fn most(&self, free: u64) -> u32 {
        let fits = |n: u64| free + (n - 1) * self.q <= u64::from(self.places) * self.q;
        u32::try_from((1..=u64::from(self.places) + 1).take_while(|&n| fits(n)).count()).unwrap()
    }
}

/// A queue of which what it takes in counts; its state is how far the next free slot is, in 1/p of a step.
pub(super) struct Arrivals(pub(super) Queue);

impl Grid for Arrivals {
    type State = u64;

    fn idle(&self) -> Vec<Self::State> {
        vec![0]
    }

    fn most(&self, free: &Self::State) -> u32 {
        self.0.most(*free)
    }

    fn step(&self, free: &Self::State, units: u32) -> (Self::State, u64) {
        let free = free + u64::from(units) * self.0.q;
        (free.saturating_sub(u64::from(self.0.p)), u64::from(units))
    }
}

/// A queue of which what it starts counts: besides the next free slot its state holds how many start in each
/// step to come. A unit starts on the first step not before its slot.
pub(super) struct Starts(pub(super) Queue);

impl Grid for Starts {
    type State = (u64, Vec<u64>);

    fn idle(&self) -> Vec<Self::State> {
        vec![(0, Vec::new())]
    }

    fn most(&self, (free, _): &Self::State) -> u32 {
        self.0.most(*free)
    }

    fn step(&self, (free, starts): &Self::State, units: u32) -> (Self::State, u64) {
        let (mut free, mut starts) = (*free, starts.clone());
        for _ in 0..units {
            let step = usize::try_from(free.div_ceil(u64::from(self.0.p))).unwrap();
            starts.resize(starts.len().max(step + 1), 0);
            starts[step] += 1;
            free += self.0.q;
        }
        let now = if starts.is_empty() { 0 } else { starts.remove(0) };
        ((free.saturating_sub(u64::from(self.0.p)), starts), now)
    }
}
