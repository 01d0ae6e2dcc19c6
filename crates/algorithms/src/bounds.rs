//! What a limit can admit at most, as closed forms on the microsecond grid.
//!
//! Each algorithm's file holds its own form for a closed span and says where it comes from; here is what follows
//! from it. An exhaustive search over schedules, which knows no form, holds them all (`bounds/tests`).

use crate::quota::{Anchor, Quota};
use crate::time::Span;
use crate::{calendar, fixed_window, leaky_bucket, lockout, sliding_counter, sliding_log, token_bucket};

/// A long-run rate: `units` a `micros` microseconds, not reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongRun {
    /// Units admitted.
    pub units: u32,
    /// In this many microseconds.
    pub micros: u64,
}

impl Quota {
    /// Returns the most units admitted in a closed span [t, t + s], over all histories and all t.
    pub fn most_in_closed(&self, span: Span) -> u128 {
        match self {
            Self::FixedWindow(quota) => fixed_window::most_in_closed(*quota, span),
            Self::SlidingLog(quota) => sliding_log::most_in_closed(*quota, span),
            Self::SlidingCounter(quota) => sliding_counter::most_in_closed(*quota, span),
            Self::TokenBucket(quota) => token_bucket::most_in_closed(quota.capacity, quota.refill, span),
            Self::LeakyBucket(quota) => token_bucket::most_in_closed(quota.places(), quota.rate, span),
            Self::Lockout(quota) => lockout::most_in_closed(*quota, span),
        }
    }

    /// Returns the most units admitted in a half-open span [t, t + s), over all histories and all t.
    ///
    /// On the grid [t, t + s) is [t, t + s − 1].
    pub fn most_in_half_open(&self, span: Span) -> u128 {
        match span.as_micros().checked_sub(1) {
            Some(closed) => self.most_in_closed(Span::from_micros(closed)),
            None => 0,
        }
    }

    /// Returns the most units an attack of length `horizon` (closed) takes that begins on a fresh state, over all
    /// its instants of beginning.
    pub fn most_from_idle(&self, horizon: Span) -> u128 {
        match self {
            Self::FixedWindow(quota) => fixed_window::most_from_idle(*quota, horizon),
            Self::Lockout(quota) => lockout::most_from_idle(*quota, horizon),
            _ => self.most_in_closed(horizon),
        }
    }

    /// Returns the most units that *start* in a closed span: those a leaky bucket releases, and for every other
    /// algorithm those it admits.
    pub fn most_started_in_closed(&self, span: Span) -> u128 {
        match self {
            Self::LeakyBucket(quota) => leaky_bucket::most_started_in_closed(*quota, span),
            _ => self.most_in_closed(span),
        }
    }

    /// Returns the rate no schedule exceeds in the long run, and the best one reaches (but for a sliding counter of a
    /// unit a microsecond and more).
    pub fn long_run(&self) -> LongRun {
        match self {
            Self::FixedWindow(quota) => fixed_window::long_run(*quota),
            Self::SlidingLog(quota) => LongRun { units: quota.limit, micros: quota.window.as_micros() },
            Self::SlidingCounter(quota) => LongRun { units: quota.limit, micros: quota.window.as_micros() },
            Self::TokenBucket(quota) => token_bucket::long_run(quota.capacity, quota.refill),
            Self::LeakyBucket(quota) => token_bucket::long_run(quota.places(), quota.rate),
            Self::Lockout(quota) => lockout::long_run(*quota),
        }
    }

    /// Returns the fewest requests of one unit each that keep a key refused at every instant of a closed span, from the
    /// first that finds it fresh; `None` where the number does not fit.
    ///
    /// Somebody who wants another's requests refused pays this, and no other limit: at every instant at which a unit is
    /// free he asks first (a refusal's retry tells him when), he alone asks, and he begins at the time that suits him,
    /// such as the start of a window. Who cannot keep in step needs more, or leaves gaps. A limit of zero costs
    /// nothing. For a sliding counter of a unit a microsecond and more it is a lower bound.
    pub fn requests_to_deny(&self, span: Span) -> Option<u64> {
        let rounds = |units: u32, round: Span| {
            let begun = span.as_micros().checked_div(round.as_micros())?.checked_add(1)?;
            begun.checked_mul(units.into())
        };
        match self {
            Self::FixedWindow(quota) => match quota.anchor {
                Anchor::Clock | Anchor::FirstHit => rounds(quota.limit, quota.window),
                Anchor::Calendar(calendar) => {
                    calendar::fewest_touched(calendar, span.as_micros()).checked_mul(quota.limit.into())
                }
            },
            Self::SlidingLog(quota) => rounds(quota.limit, quota.window),
            Self::SlidingCounter(quota) => sliding_counter::requests_to_deny(*quota, span),
            Self::Lockout(quota) => rounds(quota.attempts, quota.lock),
            // All that ever comes in has to be taken at once.
            Self::TokenBucket(_) | Self::LeakyBucket(_) => u64::try_from(self.most_in_closed(span)).ok(),
        }
    }

    /// Returns the most bytes of numbers one key's state holds: instants of 8 bytes, counts of 4, and for a log as
    /// many entries as units, which it reaches with costs of one.
    pub fn state_bytes(&self) -> u64 {
        match self {
            Self::FixedWindow(quota) if quota.anchor == Anchor::FirstHit => 16,
            Self::FixedWindow(_) => 12,
            Self::SlidingLog(quota) => u64::from(quota.limit).saturating_mul(16),
            Self::SlidingCounter(_) => 16,
            Self::TokenBucket(_) | Self::LeakyBucket(_) => 20,
            Self::Lockout(_) => 24,
        }
    }
}

#[cfg(test)]
mod tests;
