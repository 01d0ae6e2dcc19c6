//! Alerts: the use of a limit that rises to its `alert_at`, told once a key and rise.
//!
//! What is remembered is bounded: a keyed hash and two instants for each key that is or just was above, [`MOST`] of
//! them. A key is forgotten once its state would be fresh again and its rise is no news of this minute.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use tidegate_algorithms::{Span, Timestamp};

use crate::limiter::Limiter;
use crate::observe::{Cause, Observer, add, lock, read};
use crate::verdict::LimitDecision;

/// The most keys of a limit that are told of one by one; who is above then is one flood, and one line.
const MOST: usize = 1024;
/// A key whose use goes up and down across the line is logged no more often than this.
const QUIET: Span = Span::from_secs(60);

/// A limit whose use, for some key, has risen to its `alert_at`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nearing {
    /// The limit's name.
    pub limit: String,
    /// The key's name outside this process, where a policy gives it one.
    pub identity: Option<String>,
    /// How many units are used up.
    pub used: u32,
    /// Of how many.
    pub of: u32,
    /// The share of the limit in percent at which the alert is.
    pub alert_at: u8,
    /// How long it takes until the limit has forgotten what is used up, if nothing more is asked of it.
    pub reset_after: Span,
}

/// Whom to tell of what [`Nearing`] says, beside the log.
#[derive(Default)]
pub(crate) struct Listener(OnceLock<Box<Listen>>);

type Listen = dyn Fn(Nearing) + Send + Sync;

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("set", &self.0.get().is_some()).finish()
    }
}

impl Limiter {
    /// Has somebody told whenever the use of a limit rises to its `alert_at`, as often as the log is: once a key and rise.
    ///
    /// It is called while a check is answered, so it must neither wait nor take long. There can be one; whether this became
    /// it is returned. It outlives reloads.
    pub fn on_nearing(&self, listen: impl Fn(Nearing) + Send + Sync + 'static) -> bool {
        self.snapshot().inner.lasting.observer.nearing.0.set(Box::new(listen)).is_ok()
    }
}

/// The keys of a limit whose use is at its `alert_at` or just was.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    raised: AtomicU64,
    /// How many keys are remembered, so that a limit far below its line takes no lock.
    remembered: AtomicUsize,
    keys: Mutex<Above>,
}

#[derive(Debug, Default)]
struct Above {
    hasher: RandomState,
    keys: HashMap<u64, Rise>,
    /// No rise can be forgotten before.
    next_end: Timestamp,
}

#[derive(Debug, Clone, Copy)]
struct Rise {
    above: bool,
    told: Timestamp,
    /// When the key's state is fresh again unless it is used.
    until: Timestamp,
}

impl Rise {
    /// Returns when it can be forgotten: a key that rises again within a minute would be logged again, and a short window
    /// is over many times in that.
    fn ends(&self) -> Timestamp {
        self.until.max(self.told.saturating_add(QUIET))
    }
}

/// What is to be told.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Nothing,
    /// A rise that was logged a moment ago already.
    Again,
    Rise,
    TooMany,
}

impl Alerts {
    /// Returns how often a key's use has risen to the line.
    pub(crate) fn raised(&self) -> u64 {
        read(&self.raised)
    }

    /// Looks at a decision for a key, and tells when the limit's use has risen to the line. `identity` names the key to
    /// those who may know it.
    pub(crate) fn look_at(
        &self,
        observer: &Observer,
        (decided, at_percent): (&LimitDecision, u8),
        (key, now): (&[u8], Timestamp),
        identity: impl FnOnce() -> Option<String>,
    ) {
        let (limit, remaining) = (decided.decision.limit, decided.decision.remaining);
        let used = limit.saturating_sub(remaining);
        let above = limit > 0 && u64::from(used) * 100 >= u64::from(limit) * u64::from(at_percent);
        if !above && self.remembered.load(Ordering::Relaxed) == 0 {
            return;
        }
        let until = now.saturating_add(decided.decision.reset_after);
        let news = self.note(key, above, (now, until));
        if matches!(news, News::Again | News::Rise) {
            add(&self.raised);
        }
        let name = decided.limit.name();
        if news == News::Rise {
            let percent = u64::from(used) * 100 / u64::from(limit.max(1));
            let identity = identity();
            tracing::warn!(
                limit = name,
                key = identity,
                used,
                of = limit,
                "the use of this limit has risen to {percent} %, and its alert is at {at_percent} %"
            );
            if let Some(listen) = observer.nearing.0.get() {
                listen(Nearing {
                    limit: name.to_owned(),
                    identity,
                    used,
                    of: limit,
                    alert_at: at_percent,
                    reset_after: decided.decision.reset_after,
                });
            }
        } else if news == News::TooMany && observer.is_first(Cause::ManyAlerts) {
            tracing::warn!(limit = name, told = MOST, "more keys than are told of are at this limit's alert");
        }
    }

    fn note(&self, key: &[u8], above: bool, (now, until): (Timestamp, Timestamp)) -> News {
        let mut known = lock(&self.keys);
        let hash = known.hasher.hash_one(key);
        let news = known.note(hash, above, (now, until));
        self.remembered.store(known.keys.len(), Ordering::Relaxed);
        news
    }
}

impl Above {
    fn note(&mut self, key: u64, above: bool, (now, until): (Timestamp, Timestamp)) -> News {
        if let Some(rise) = self.keys.get_mut(&key) {
            let was = std::mem::replace(&mut rise.above, above);
            let quiet = now < rise.told.saturating_add(QUIET);
            let ended = now >= rise.until;
            rise.until = until;
            return match (was && !ended, above) {
                (false, true) if quiet => News::Again,
                (false, true) => {
                    rise.told = now;
                    News::Rise
                }
                (_, false) if !quiet => {
                    self.keys.remove(&key);
                    News::Nothing
                }
                _ => News::Nothing,
            };
        }
        self.forget(now);
        if !above {
            return News::Nothing;
        }
        if self.keys.len() >= MOST {
            return News::TooMany;
        }
        let rise = Rise { above, told: now, until };
        self.next_end = if self.keys.is_empty() { rise.ends() } else { self.next_end.min(rise.ends()) };
        self.keys.insert(key, rise);
        News::Rise
    }

    /// Forgets the rises that are over, if there can be any.
    fn forget(&mut self, now: Timestamp) {
        if now < self.next_end {
            return;
        }
        self.keys.retain(|_, rise| now < rise.ends());
        // A rise that goes on ends later than it was noted with, so this is no later than the truth.
        self.next_end = self.keys.values().map(Rise::ends).min().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::default().saturating_add(Span::from_secs(secs))
    }

    /// Guards the log against a key that goes up and down across the line with every request.
    #[test]
    fn a_rise_is_told_once_and_again_after_a_fall_and_not_every_second() {
        let mut known = Above::default();
        let mut note = |secs, above| known.note(1, above, (at(secs), at(secs + 1_000)));
        assert_eq!(note(0, false), News::Nothing);
        assert_eq!(note(1, true), News::Rise);
        assert_eq!(note(2, true), News::Nothing);
        assert_eq!(note(3, false), News::Nothing);
        assert_eq!(note(4, true), News::Again);
        assert_eq!(note(90, false), News::Nothing);
        assert_eq!(note(91, true), News::Rise);
    }

    /// Guards against a set that fills once and then tells nothing for ever.
    #[test]
    fn what_is_remembered_is_bounded_and_forgotten() {
        let mut known = Above::default();
        for key in 0..MOST as u64 {
            assert_eq!(known.note(key, true, (at(0), at(10))), News::Rise);
        }
        assert_eq!(known.note(9_999, true, (at(59), at(69))), News::TooMany);
        assert_eq!(known.note(9_999, true, (at(60), at(70))), News::Rise);
        assert_eq!(known.keys.len(), 1);
        // A state that was fresh in between has fallen, though nobody looked.
        assert_eq!(known.note(9_999, true, (at(130), at(140))), News::Rise);
    }

    /// Guards the log against a window that is over sooner than a rise may be told again, also while the set is full.
    #[test]
    fn a_short_window_is_not_told_each_time() {
        let mut known = Above::default();
        for second in 0..60 {
            for key in 0..MOST as u64 {
                let news = known.note(key, true, (at(second), at(second + 1)));
                assert_eq!(news, if second == 0 { News::Rise } else { News::Again }, "{second}");
            }
            assert_eq!(known.note(9_999, true, (at(second), at(second + 1))), News::TooMany);
        }
    }

    /// Guards requests far below the line against taking a lock for a key that never came again.
    #[test]
    fn a_key_that_never_comes_again_is_forgotten_all_the_same() {
        let mut known = Above::default();
        assert_eq!(known.note(1, true, (at(0), at(100))), News::Rise);
        assert_eq!(known.note(2, false, (at(99), at(199))), News::Nothing);
        assert_eq!(known.keys.len(), 1);
        assert_eq!(known.note(2, false, (at(100), at(200))), News::Nothing);
        assert_eq!(known.keys.len(), 0);
    }
}
