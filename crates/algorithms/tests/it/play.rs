//! Quotas over the whole domain, and histories that jump to the instants at which something changes.

use crate::days::end_of;
use proptest::prelude::*;
use tidegate_algorithms::{
    Anchor, Answer, Ask, Calendar, MAX_LOG_UNITS, MAX_SPAN, MAX_UNITS, MIN_SPAN, Outcome, Quota, Rate, Retry,
    Span, State, Timestamp, decide, keep_until,
};

/// A limit, what it remembers, and what time it is.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) quota: Quota,
    pub(crate) state: Option<State>,
    pub(crate) now: Timestamp,
    pub(crate) retry_at: u64,
}

impl World {
    pub(crate) fn new(quota: Quota, start: u64) -> Self {
        Self { quota, state: None, now: Timestamp::saturating_from_micros(start), retry_at: start }
    }

    /// Decides and writes.
    pub(crate) fn ask(&mut self, ask: Ask) -> Outcome {
        let outcome = decide(&self.quota, self.state.as_ref(), ask, self.now);
        if let Answer::Refuse(Retry::After(wait)) = outcome.decision.answer {
            self.retry_at = self.now.as_micros() + wait.as_micros();
        }
        outcome.change.clone().apply(&mut self.state);
        outcome
    }

    /// Moves to the instant of a move.
    pub(crate) fn go(&mut self, jump: Jump) {
        let now = self.now.as_micros();
        let window = window(&self.quota);
        let around = |at: u64, off: i8| at.saturating_add_signed(i64::from(off));
        let to = match jump {
            Jump::Stay => now,
            Jump::On(by) => now.saturating_add(by),
            Jump::Back(by) => now.saturating_sub(by),
            Jump::Windows(count, off) => around(window_begins(&self.quota, now, count), off),
            Jump::Later(count, off) => around(now.saturating_add(count * window), off),
            Jump::Retry(off) => around(self.retry_at, off),
            Jump::Forget(off) => match &self.state {
                Some(state) => around(keep_until(&self.quota, state, self.now).as_micros(), off),
                None => now,
            },
            Jump::To(at) => at,
        };
        self.now = Timestamp::saturating_from_micros(to);
    }

    /// The same, but never back.
    pub(crate) fn go_on(&mut self, jump: Jump) {
        let before = self.now;
        self.go(jump);
        self.now = self.now.max(before);
    }
}

/// The span after which a quota repeats itself: its window, or the time of a unit.
pub(crate) fn window(quota: &Quota) -> u64 {
    match quota {
        Quota::FixedWindow(quota) => quota.window().as_micros(),
        Quota::SlidingLog(quota) => quota.window().as_micros(),
        Quota::SlidingCounter(quota) => quota.window().as_micros(),
        Quota::TokenBucket(quota) => quota.refill().time_for(1).as_micros(),
        Quota::LeakyBucket(quota) => quota.rate().time_for(1).as_micros(),
        Quota::Lockout(quota) => quota.within().as_micros(),
    }
}

/// The beginning of the window on the clock that is `count` after that of `now`.
fn window_begins(quota: &Quota, now: u64, count: u64) -> u64 {
    match quota {
        Quota::FixedWindow(quota) if let Anchor::Calendar(calendar) = quota.anchor() => match count {
            0 => now,
            // Its end, or somewhere after the next one's.
            _ => end_of(calendar, now).saturating_add((count - 1) * window(&Quota::FixedWindow(*quota))),
        },
        _ => (now / window(quota) + count) * window(quota),
    }
}

/// Where a move goes in time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Jump {
    Stay,
    On(u64),
    Back(u64),
    /// To the start of a window on the clock, give or take a microsecond.
    Windows(u64, i8),
    /// Whole windows later, give or take a microsecond.
    Later(u64, i8),
    /// To the instant the last refusal named, give or take a microsecond.
    Retry(i8),
    /// To where the state may be forgotten, give or take a microsecond.
    Forget(i8),
    To(u64),
}

/// A request of a history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub(crate) jump: Jump,
    pub(crate) cost: Cost,
    pub(crate) within: Option<u64>,
}

/// A cost, on the scale of the quota that is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cost {
    Units(u32),
    /// So many more than the limit.
    Limit(i8),
    /// So many 64ths of the limit.
    Part(u32),
}

impl Move {
    pub(crate) fn ask(&self, quota: &Quota) -> Ask {
        let ask = Ask::units(self.cost.of(quota));
        self.within.map_or(ask, |micros| ask.within(Span::from_micros(micros)))
    }
}

impl Cost {
    pub(crate) fn of(self, quota: &Quota) -> u32 {
        match self {
            Self::Units(units) => units,
            Self::Limit(off) => quota.nominal().saturating_add_signed(i32::from(off)),
            Self::Part(part) => u32::try_from(u64::from(quota.nominal()) * u64::from(part) / 64).unwrap(),
        }
    }
}

/// Numbers of every magnitude up to `most`, both ends included.
pub(crate) fn wide(least: u64, most: u64) -> impl Strategy<Value = u64> + Clone {
    let bits = u64::BITS - most.leading_zeros();
    prop_oneof![
        2 => Just(least),
        2 => Just(most),
        1 => Just(least + 1).prop_map(move |n| n.min(most)),
        1 => Just(most - 1).prop_map(move |n| n.max(least)),
        8 => (0..bits, any::<u64>()).prop_map(move |(bits, n)| (n >> (63 - bits)).clamp(least, most)),
        4 => least..=most,
    ]
}

fn spans() -> impl Strategy<Value = Span> + Clone {
    let round = [1_000_u64, 1_001, 999_983, 1_000_000, 10_000_000, 60_000_000, 3_600_000_000, 86_400_000_000];
    prop_oneof![
        wide(MIN_SPAN.as_micros(), MAX_SPAN.as_micros()),
        prop::sample::select(round.to_vec()),
        1_000..5_000_u64,
    ]
    .prop_map(Span::from_micros)
}

fn limits(most: u32) -> impl Strategy<Value = u64> + Clone {
    prop_oneof![2 => 0..=8_u64, 1 => wide(0, u64::from(most))]
}

pub(crate) fn rates() -> impl Strategy<Value = Rate> + Clone {
    let units = prop_oneof![Just(1), 1..12_u64, wide(1, u64::from(MAX_UNITS))];
    (units, spans()).prop_map(|(units, span)| Rate::new(units, span).unwrap())
}

fn anchors() -> impl Strategy<Value = Anchor> + Clone {
    prop_oneof![Just(Anchor::Clock), Just(Anchor::FirstHit)]
}

pub(crate) fn calendars() -> impl Strategy<Value = Calendar> + Clone {
    prop_oneof![Just(Calendar::Day), Just(Calendar::Week), Just(Calendar::Month)]
}

/// Lockouts whose locks are shorter than their windows, as long, and longer.
pub(crate) fn lockouts() -> impl Strategy<Value = Quota> + Clone {
    let locks = prop_oneof![2 => spans().prop_map(Some), 1 => Just(None)];
    (limits(MAX_UNITS), spans(), locks).prop_map(|(attempts, within, lock)| {
        Quota::lockout(attempts.max(1), within, lock.unwrap_or(within)).unwrap()
    })
}

/// Every algorithm, over the whole domain and often with small numbers.
pub(crate) fn quotas() -> BoxedStrategy<Quota> {
    let fixed = (limits(MAX_UNITS), spans(), anchors());
    prop_oneof![
        2 => fixed.prop_map(|(limit, span, anchor)| Quota::fixed_window(limit, span, anchor).unwrap()),
        1 => (limits(MAX_UNITS), calendars())
            .prop_map(|(limit, calendar)| Quota::calendar_window(limit, calendar).unwrap()),
        1 => lockouts(),
        1 => (limits(MAX_LOG_UNITS), spans()).prop_map(|(limit, span)| Quota::sliding_log(limit, span).unwrap()),
        1 => (limits(MAX_UNITS), spans()).prop_map(|(limit, span)| Quota::sliding_counter(limit, span).unwrap()),
        1 => (limits(MAX_UNITS), rates()).prop_map(|(n, rate)| Quota::token_bucket(n.max(1), rate).unwrap()),
        1 => (limits(MAX_UNITS), rates()).prop_map(|(n, rate)| Quota::leaky_bucket(rate, n).unwrap()),
    ]
    .boxed()
}

/// Instants: the ends of the domain, and in between.
pub(crate) fn starts() -> impl Strategy<Value = u64> + Clone {
    let last = Timestamp::MAX.as_micros();
    prop_oneof![
        1 => Just(0),
        1 => 0..10_000_u64,
        1 => (last - 100_000_000)..=last,
        4 => 1_700_000_000_000_000..1_800_000_000_000_000_u64,
        1 => wide(0, last),
    ]
}

pub(crate) fn jumps() -> impl Strategy<Value = Jump> + Clone {
    prop_oneof![
        4 => Just(Jump::Stay),
        3 => wide(0, 1 << 46).prop_map(Jump::On),
        3 => (0..100_000_u64).prop_map(Jump::On),
        2 => wide(0, 1 << 46).prop_map(Jump::Back),
        2 => (0..100_000_u64).prop_map(Jump::Back),
        3 => (0..3_u64, -1..=1_i8).prop_map(|(count, off)| Jump::Windows(count, off)),
        3 => (0..3_u64, -1..=1_i8).prop_map(|(count, off)| Jump::Later(count, off)),
        3 => (-1..=1_i8).prop_map(Jump::Retry),
        2 => (-1..=1_i8).prop_map(Jump::Forget),
        1 => starts().prop_map(Jump::To),
    ]
}

pub(crate) fn costs() -> impl Strategy<Value = Cost> + Clone {
    prop_oneof![
        6 => Just(Cost::Units(1)),
        3 => (0..6_u32).prop_map(Cost::Units),
        2 => (-2..=2_i8).prop_map(Cost::Limit),
        3 => (0..=64_u32).prop_map(Cost::Part),
        1 => Just(Cost::Units(MAX_UNITS)),
        1 => any::<u32>().prop_map(Cost::Units),
    ]
}

pub(crate) fn moves() -> impl Strategy<Value = Move> + Clone {
    let within = prop_oneof![3 => Just(None), 1 => wide(0, u64::MAX >> 1).prop_map(Some), 1 => (0..50_000_u64).prop_map(Some)];
    (jumps(), costs(), within).prop_map(|(jump, cost, within)| Move { jump, cost, within })
}

pub(crate) fn histories(most: usize) -> impl Strategy<Value = Vec<Move>> + Clone {
    prop::collection::vec(moves(), 1..most)
}
