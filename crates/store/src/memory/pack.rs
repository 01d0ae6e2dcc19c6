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

use tidegate_algorithms::{Counter, Level, Lock, MAX_UNITS, Mark, Quota, State, Window};

use super::quotas::QuotaId;
use crate::check::Algorithm;

/// Returns the number of the quota.
#[inline]
pub(super) fn quota_of(word: u128) -> QuotaId {
    QuotaId(narrow_16(word & u128::from(QuotaId::UNKNOWN.0)))
}

/// Packs a state, a log by its index; a state of another algorithm packs to its fields as they come.
#[inline]
pub(super) fn pack(state: &State, quota: QuotaId) -> u128 {
    let word = Word(u128::from(quota.0), QuotaId::BITS);
    match state {
        State::ClockWindow(window) | State::HitWindow(window) => {
            word.and(window.count.into(), 31).and(window.early.into(), 30).and(window.ends_at, 53).0
        }
        State::Counter(counter) => {
            word.and(counter.previous.into(), 31)
                .and(counter.current.into(), 31)
                .and(counter.charged_at, 52)
                .0
        }
        State::Credit(level) | State::Backlog(level) => {
            // Without the quota's number the denominator would be lost, so the fraction is rounded up.
            let mark = level.mark();
            let known = quota != QuotaId::UNKNOWN;
            let (micros, sub) = match mark.sub() {
                0 => (mark.micros(), 0),
                sub if known => (mark.micros(), sub),
                _ => (mark.micros().saturating_add(1), 0),
            };
            word.and(sub.into(), 30).and(level.whole().into(), 31).and(micros, 52).0
        }
        State::Lock(lock) if lock.locked_until > 0 => {
            word.and(1, 1).and(lock.early.into(), 7).and(lock.ends_at, 53).and(lock.locked_until, 53).0
        }
        State::Lock(lock) => {
            word.and(0, 1).and(lock.count.into(), 30).and(lock.early.into(), 30).and(lock.ends_at, 53).0
        }
        State::Log(_) => word.0,
    }
}

/// Packs the index of a log.
pub(super) fn pack_log(index: u32, quota: QuotaId) -> u128 {
    Word(u128::from(quota.0), QuotaId::BITS).and(index.into(), 32).0
}

/// Returns the index of a log.
pub(super) fn log_of(word: u128) -> u32 {
    narrow_32(word >> QuotaId::BITS)
}

/// Unpacks a state that is not a log.
#[inline]
pub(super) fn unpack(algorithm: Algorithm, word: u128, quota: Option<&Quota>) -> Option<State> {
    let word = word >> QuotaId::BITS;
    Some(match algorithm {
        Algorithm::ClockWindow => State::ClockWindow(window(word)),
        Algorithm::HitWindow => State::HitWindow(window(word)),
        Algorithm::Counter => State::Counter(Counter {
            charged_at: narrow_64(word >> 62),
            current: narrow_31(word >> 31),
            previous: narrow_31(word),
        }),
        Algorithm::Credit => State::Credit(level(word, quota)),
        Algorithm::Backlog => State::Backlog(level(word, quota)),
        Algorithm::Lock => State::Lock(lock(word, quota)),
        Algorithm::Log => return None,
    })
}

fn lock(word: u128, quota: Option<&Quota>) -> Lock {
    if word & 1 == 0 {
        let (count, early) = (narrow_30(word >> 1), narrow_30(word >> 31));
        return Lock { ends_at: narrow_64(word >> 61), count, early, locked_until: 0 };
    }
    let count = if let Some(Quota::Lockout(quota)) = quota { quota.attempts() } else { MAX_UNITS };
    let ends_at = narrow_64(word >> 8) & ((1 << 53) - 1);
    Lock { ends_at, count, early: narrow_32(word >> 1) & 0x7f, locked_until: narrow_64(word >> 61) }
}

fn window(word: u128) -> Window {
    Window { ends_at: narrow_64(word >> 61), count: narrow_31(word), early: narrow_30(word >> 31) }
}

fn level(word: u128, quota: Option<&Quota>) -> Level {
    let per = match quota {
        Some(Quota::TokenBucket(quota)) => quota.refill().units(),
        Some(Quota::LeakyBucket(quota)) => quota.rate().units(),
        _ => 1,
    };
    Level::from_parts(narrow_31(word >> 30), Mark::from_parts(narrow_64(word >> 61), narrow_30(word), per))
}

/// A word that is filled from its low end.
struct Word(u128, u32);

impl Word {
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
