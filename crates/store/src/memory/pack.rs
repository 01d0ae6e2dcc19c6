//! A state in 16 bytes, with the number of the quota it was written under.
//!
//! | algorithm | bits, from the top |
//! |---|---|
//! | buckets | instant 52, count 31, sub-microsecond 30, quota 14 |
//! | windows | instant 53, early units 30, count 31, quota 14 |
//! | counter | instant 52, current 31, previous 31, quota 14 |
//! | log | index among the logs 32, quota 14 |
//! | lockout | end of its window 53, early units 30, count 30, zero 1, quota 14 |
//! | the same, locked | end of the lock 53, end of its window 53, early units 7, one 1, quota 14 |
//!
//! The denominator of a sub-microsecond instant is the numerator of the quota's rate, so the quota's number tells it.
//! Nothing that a decision tells is lost: the domain of the algorithms ends before these fields do. The count of a lockout
//! that is locked is the attempts of its quota, or will not be asked for before the lock is over; of more early units than
//! its field holds, so many are kept that a refund puts the window's end off no later than it would with all.

use tidegate_algorithms::{
    Compact, Counter, FixedWindow, LeakyBucket, Level, Lock, Lockout, MAX_UNITS, Mark, Quota, SlidingCounter,
    State, TokenBucket, Window,
};

use super::quotas::QuotaId;
use crate::check::Algorithm;

/// Returns the number of the quota.
#[inline]
pub(super) fn quota_of(word: u128) -> QuotaId {
    QuotaId(narrow_16(word & u128::from(QuotaId::UNKNOWN.0)))
}

/// Numbers whose states fit a word.
pub(super) trait Packed: Compact {
    /// Packs a state.
    fn pack(state: Self::State, quota: QuotaId) -> u128;

    /// Unpacks a state that was written under these numbers.
    fn unpack(self, word: u128) -> Self::State;
}

macro_rules! packed {
    ($($quota:ident: |$numbers:ident, $word:ident| $unpack:expr, $pack:ident;)*) => { $(
        impl Packed for $quota {
            #[inline]
            fn pack(state: Self::State, quota: QuotaId) -> u128 {
                $pack(state, quota)
            }

            #[inline]
            fn unpack(self, $word: u128) -> Self::State {
                let ($numbers, $word) = (self, $word >> QuotaId::BITS);
                $unpack
            }
        }
    )* };
}

packed! {
    FixedWindow: |_quota, word| window(word), pack_window;
    SlidingCounter: |_quota, word| counter(word), pack_counter;
    TokenBucket: |quota, word| level(word, quota.refill().units()), pack_level;
    LeakyBucket: |quota, word| level(word, quota.rate().units()), pack_level;
    Lockout: |quota, word| lock(word, quota.attempts()), pack_lock;
}

/// Packs a state, a log by its index; a state of another algorithm packs to its fields as they come.
#[inline]
pub(super) fn pack(state: &State, quota: QuotaId) -> u128 {
    match state {
        State::ClockWindow(window) | State::HitWindow(window) => pack_window(*window, quota),
        State::Counter(counter) => pack_counter(*counter, quota),
        State::Credit(level) | State::Backlog(level) => pack_level(*level, quota),
        State::Lock(lock) => pack_lock(*lock, quota),
        State::Log(_) => u128::from(quota.0),
    }
}

#[inline]
fn pack_window(window: Window, quota: QuotaId) -> u128 {
    Word::of(quota).and(window.count.into(), 31).and(window.early.into(), 30).and(window.ends_at, 53).0
}

#[inline]
fn pack_counter(counter: Counter, quota: QuotaId) -> u128 {
    let word = Word::of(quota).and(counter.previous.into(), 31).and(counter.current.into(), 31);
    word.and(counter.charged_at, 52).0
}

#[inline]
fn pack_level(level: Level, quota: QuotaId) -> u128 {
    // Without the quota's number the denominator would be lost, so the fraction is rounded up.
    let mark = level.mark();
    let known = quota != QuotaId::UNKNOWN;
    let (micros, sub) = match mark.sub() {
        0 => (mark.micros(), 0),
        sub if known => (mark.micros(), sub),
        _ => (mark.micros().saturating_add(1), 0),
    };
    Word::of(quota).and(sub.into(), 30).and(level.whole().into(), 31).and(micros, 52).0
}

#[inline]
fn pack_lock(lock: Lock, quota: QuotaId) -> u128 {
    let word = Word::of(quota);
    if lock.locked_until > 0 {
        word.and(1, 1).and(lock.early.into(), 7).and(lock.ends_at, 53).and(lock.locked_until, 53).0
    } else {
        word.and(0, 1).and(lock.count.into(), 30).and(lock.early.into(), 30).and(lock.ends_at, 53).0
    }
}

/// Packs the index of a log.
pub(super) fn pack_log(index: u32, quota: QuotaId) -> u128 {
    Word::of(quota).and(index.into(), 32).0
}

/// Returns the index of a log.
pub(super) fn log_of(word: u128) -> u32 {
    narrow_32(word >> QuotaId::BITS)
}

/// Unpacks a state that is not a log. Its quota may not be known: then a fraction is taken for none, and a lock's count for
/// the largest.
#[inline]
pub(super) fn unpack(algorithm: Algorithm, word: u128, quota: Option<&Quota>) -> Option<State> {
    let word = word >> QuotaId::BITS;
    let per = match quota {
        Some(Quota::TokenBucket(quota)) => quota.refill().units(),
        Some(Quota::LeakyBucket(quota)) => quota.rate().units(),
        _ => 1,
    };
    let attempts = if let Some(Quota::Lockout(quota)) = quota { quota.attempts() } else { MAX_UNITS };
    Some(match algorithm {
        Algorithm::ClockWindow => State::ClockWindow(window(word)),
        Algorithm::HitWindow => State::HitWindow(window(word)),
        Algorithm::Counter => State::Counter(counter(word)),
        Algorithm::Credit => State::Credit(level(word, per)),
        Algorithm::Backlog => State::Backlog(level(word, per)),
        Algorithm::Lock => State::Lock(lock(word, attempts)),
        Algorithm::Log => return None,
    })
}

#[inline]
fn lock(word: u128, attempts: u32) -> Lock {
    if word & 1 == 0 {
        let (count, early) = (narrow_30(word >> 1), narrow_30(word >> 31));
        return Lock { ends_at: narrow_64(word >> 61), count, early, locked_until: 0 };
    }
    let ends_at = narrow_64(word >> 8) & ((1 << 53) - 1);
    let (early, locked_until) = (narrow_32(word >> 1) & 0x7f, narrow_64(word >> 61));
    Lock { ends_at, count: attempts, early, locked_until }
}

#[inline]
fn window(word: u128) -> Window {
    Window { ends_at: narrow_64(word >> 61), count: narrow_31(word), early: narrow_30(word >> 31) }
}

#[inline]
fn counter(word: u128) -> Counter {
    let (current, previous) = (narrow_31(word >> 31), narrow_31(word));
    Counter { charged_at: narrow_64(word >> 62), current, previous }
}

#[inline]
fn level(word: u128, per: u32) -> Level {
    Level::from_parts(narrow_31(word >> 30), Mark::from_parts(narrow_64(word >> 61), narrow_30(word), per))
}

/// A word that is filled from its low end.
struct Word(u128, u32);

impl Word {
    #[inline]
    fn of(quota: QuotaId) -> Self {
        Self(u128::from(quota.0), QuotaId::BITS)
    }

    #[inline]
    fn and(self, field: u64, bits: u32) -> Self {
        let most = (1_u64 << bits) - 1;
        Self(self.0 | u128::from(field.min(most)) << self.1, self.1 + bits)
    }
}

fn narrow_30(word: u128) -> u32 {
    narrow_32(word) & ((1 << 30) - 1)
}

fn narrow_31(word: u128) -> u32 {
    narrow_32(word) & ((1 << 31) - 1)
}

#[allow(clippy::cast_possible_truncation, reason = "the fields above are cut off on purpose")]
fn narrow_16(word: u128) -> u16 {
    word as u16
}

#[allow(clippy::cast_possible_truncation, reason = "the fields above are cut off on purpose")]
fn narrow_32(word: u128) -> u32 {
    word as u32
}

#[allow(clippy::cast_possible_truncation, reason = "the fields above are cut off on purpose")]
fn narrow_64(word: u128) -> u64 {
    word as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_algorithms::{MAX_UNITS, Rate, Span, Timestamp};

    fn same_after_packing(state: &State, algorithm: Algorithm, quota: &Quota) {
        for id in [0, 1, QuotaId::UNKNOWN.0 - 1] {
            let word = pack(state, QuotaId(id));
            assert_eq!(unpack(algorithm, word, Some(quota)).as_ref(), Some(state));
            assert_eq!(quota_of(word), QuotaId(id));
        }
    }

    #[test]
    fn nothing_is_lost_at_the_ends_of_the_domain() {
        let last = Timestamp::MAX.as_micros();
        let rate = Rate::new(u64::from(MAX_UNITS) - 1, Span::from_secs(1)).unwrap();
        let buckets = (Quota::token_bucket(5, rate).unwrap(), Quota::leaky_bucket(rate, 5).unwrap());
        for at in [0, 1, 1_700_000_000_000_000, last] {
            for count in [0, 1, MAX_UNITS, MAX_UNITS + 1] {
                let level = |sub: u32| Level::from_parts(count, Mark::from_parts(at, sub, rate.units()));
                for level in [level(0), level(1), level(rate.units() - 1)] {
                    same_after_packing(&State::Credit(level), Algorithm::Credit, &buckets.0);
                    same_after_packing(&State::Backlog(level), Algorithm::Backlog, &buckets.1);
                }
                let counter = Counter { charged_at: at, current: count, previous: MAX_UNITS - count.min(9) };
                same_after_packing(&State::Counter(counter), Algorithm::Counter, &buckets.0);
                let early = count.min(MAX_UNITS - 1);
                let window = Window { ends_at: at * 2, count, early };
                same_after_packing(&State::ClockWindow(window), Algorithm::ClockWindow, &buckets.0);
                same_after_packing(&State::HitWindow(window), Algorithm::HitWindow, &buckets.0);
            }
        }
        assert_eq!(log_of(pack_log(u32::MAX, QuotaId(9))), u32::MAX);
        assert_eq!(quota_of(pack_log(u32::MAX, QuotaId(9))), QuotaId(9));
    }

    #[test]
    fn a_lockout_is_kept_to_the_ends_of_its_fields() {
        let last = Timestamp::MAX.as_micros() * 2 + 1;
        for attempts in [1, 5, 127, MAX_UNITS] {
            let day = Span::from_secs(86_400);
            let quota = Quota::lockout(attempts.into(), day, day).unwrap();
            for ends_at in [1, 1_700_000_000_000_000, last] {
                for count in [0, 1, attempts - 1] {
                    let open = Lock { ends_at, count, early: count, locked_until: 0 };
                    same_after_packing(&State::Lock(open), Algorithm::Lock, &quota);
                }
                for locked_until in [1, 1_700_000_000_000_001, last] {
                    let early = attempts.min(127);
                    let locked = Lock { ends_at, count: attempts, early, locked_until };
                    same_after_packing(&State::Lock(locked), Algorithm::Lock, &quota);
                    let more = State::Lock(Lock { early: attempts, ..locked });
                    let kept = unpack(Algorithm::Lock, pack(&more, QuotaId(1)), Some(&quota));
                    assert_eq!(kept, Some(State::Lock(locked)));
                }
            }
        }
        let locked = State::Lock(Lock { ends_at: 7, count: 5, early: 0, locked_until: 9 });
        let expected = State::Lock(Lock { ends_at: 7, count: MAX_UNITS, early: 0, locked_until: 9 });
        assert_eq!(unpack(Algorithm::Lock, pack(&locked, QuotaId::UNKNOWN), None), Some(expected));
    }

    #[test]
    fn without_a_quota_a_fraction_is_rounded_up_and_never_refills() {
        let level = Level::from_parts(3, Mark::from_parts(41, 2, 7));
        let word = pack(&State::Credit(level), QuotaId::UNKNOWN);
        let expected = State::Credit(Level::from_parts(3, Mark::from_parts(42, 0, 1)));
        assert_eq!(unpack(Algorithm::Credit, word, None), Some(expected));
    }
}
