//! Plain counters that other programs count as well.
//!
//! Such a counter is the number that `INCR` makes of a key, and goes with the key's own end, which the first write sets. It
//! counts what it refuses. None of it is a state of ours: it is asked for by a script of its own, after all else of a batch,
//! and what it allows is read off the number alone.

mod batch;
mod call;
mod given;

use tidegate_algorithms::{Answer, Decision, Place, Quota, Receipt, Retry, Span, State, Timestamp, Window};

pub(crate) use call::{CounterCall, counter_script};
pub(crate) use given::Given;

/// What a user needs for shared counters besides, as `ACL SETUSER` takes it, on keys such as `~rate-limit:*`.
pub const COUNTER_RIGHTS: &str = "+incrby +decrby +pttl +pexpire";

/// A question about a counter, whose name is a key in Redis as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) name: Vec<u8>,
    pub(crate) what: What,
}

/// What is asked of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Counts units, in a window that ends so many milliseconds after the first.
    Count { units: u32, window: u64 },
    /// Tells the count; a counter without an end is told as one that has such a window before it.
    Look { window: u64 },
    /// Takes units out of the window that ends at an instant, in milliseconds.
    Give { units: u32, ends: u64 },
    /// Removes it.
    Forget,
}

/// What a counter told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    /// The server's instant.
    pub(crate) at: Timestamp,
    /// The count, with what was just counted.
    pub(crate) count: i64,
    /// The milliseconds until it goes; none where there is no counter, or one without end.
    pub(crate) left: Option<u64>,
}

impl Told {
    /// Returns the first instant at which the counter is gone: a key is there in the very millisecond it ends in.
    fn ends_at(self) -> u64 {
        let left = self.left.map_or(0, |left| left.saturating_add(1));
        (self.at.as_micros() / 1_000).saturating_add(left).saturating_mul(1_000)
    }

    fn wait(self) -> Span {
        match self.left {
            Some(_) => Span::from_micros(self.ends_at().saturating_sub(self.at.as_micros())),
            None => Span::ZERO,
        }
    }

    fn units(self) -> u32 {
        u32::try_from(self.count.max(0)).unwrap_or(u32::MAX)
    }

    /// Returns what the count means for a request of so many units, which it holds if they were `counted`.
    pub(crate) fn decision(self, quota: &Quota, units: u32, counted: bool) -> Decision {
        let limit = quota.nominal();
        let with = if counted { self.count } else { self.count.saturating_add(i64::from(units)) };
        let admits = units == 0 || with <= i64::from(limit);
        let remaining = limit.saturating_sub(self.units());
        let wait = self.wait();
        let answer = match (admits, units > limit) {
            (true, _) => Answer::Admit { delay: Span::ZERO },
            (false, true) => Answer::Refuse(Retry::Never),
            (false, false) => Answer::Refuse(Retry::After(wait)),
        };
        let next_unit = match (limit, remaining) {
            (0, _) => Span::MAX,
            (_, 0) => wait,
            _ => Span::ZERO,
        };
        Decision { answer, limit, remaining, next_unit, reset_after: wait }
    }

    /// Returns what a refund of so many units needs.
    pub(crate) fn receipt(self, units: u32) -> Receipt {
        let opened = self.count == i64::from(units);
        Receipt::from_parts(self.at, units, Place::HitWindow { closes_at: self.ends_at(), opened })
    }

    /// Returns the count as a state, if there is one.
    pub(crate) fn state(self) -> Option<State> {
        self.left?;
        (self.count > 0).then(|| self.window())
    }

    /// Returns the count as a state, also where it is nothing.
    pub(crate) fn window(self) -> State {
        State::HitWindow(Window { ends_at: self.ends_at(), count: self.units(), early: 0 })
    }
}

/// Returns the length of a counter's window in milliseconds; of less than one, one.
pub(crate) fn window(quota: &Quota) -> u64 {
    quota.window().as_micros().div_ceil(1_000).max(1)
}
