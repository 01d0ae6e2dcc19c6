//! A count that changes continuously, kept exactly.
//!
//! A bucket's credit is a whole number of units and a fraction of one. With a refill of p units in q microseconds
//! (reduced) the fraction is a multiple of 1/q, a number of the quota. Its place in time is free of that: the
//! instant at which the level last *was* whole lies at a multiple of 1/p of a microsecond, and p is 1 for nearly
//! every rate people write. So a level is a whole count and that instant, exact for ever: three per second never
//! drifts, and after a change of rate the count still means what it meant.

use crate::quota::Rate;
use crate::time::Timestamp;
use crate::wide::{div_ceil, div_floor, mul};

/// A whole count, and the instant at which the level was that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Level {
    pub(crate) whole: u32,
    pub(crate) mark: Mark,
}

impl Level {
    /// Builds a level from its parts, as a store keeps them.
    pub fn from_parts(whole: u32, mark: Mark) -> Self {
        Self { whole, mark }
    }

    /// Returns the whole count.
    pub fn whole(&self) -> u32 {
        self.whole
    }

    /// Returns the instant at which the level was that count.
    pub fn mark(&self) -> Mark {
        self.mark
    }
}

/// An instant `micros` + `sub`/`per` microseconds after the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark {
    micros: u64,
    sub: u32,
    per: u32,
}

impl Mark {
    /// Builds the instant `micros` + `sub`/`per`. A fraction that is none (`sub` not below `per`) is taken as one
    /// whole microsecond: later, which never refills.
    pub fn from_parts(micros: u64, sub: u32, per: u32) -> Self {
        if sub == 0 {
            return Self { micros, sub: 0, per: 1 };
        }
        if sub < per {
            Self { micros, sub, per }
        } else {
            Self { micros: micros.saturating_add(1), sub: 0, per: 1 }
        }
    }

    /// Returns a whole instant.
    #[inline]
    pub(crate) fn at(now: Timestamp) -> Self {
        Self { micros: now.as_micros(), sub: 0, per: 1 }
    }

    /// Returns the whole microseconds.
    pub fn micros(&self) -> u64 {
        self.micros
    }

    /// Returns the numerator of the fraction of a microsecond.
    pub fn sub(&self) -> u32 {
        self.sub
    }

    /// Returns the denominator of the fraction of a microsecond; 1 when there is none.
    pub fn per(&self) -> u32 {
        self.per
    }

    /// Returns the whole and fractional parts in units of 1/`per` for a rate whose numerator is `per`; a fraction
    /// of another rate is rounded up to the next microsecond, which never refills.
    #[inline]
    pub fn parts(self, per: u32) -> (u64, u32) {
        if self.sub == 0 || self.per == per {
            (self.micros, self.sub)
        } else {
            (self.micros.saturating_add(1), 0)
        }
    }

    /// Returns the time from the mark to `now` in 1/`per` microseconds, `None` when the mark lies after `now`.
    #[inline]
    fn elapsed(self, now: Timestamp, per: u32) -> Option<u128> {
        let (micros, sub) = self.parts(per);
        let whole = now.as_micros().checked_sub(micros)?;
        mul(whole, u64::from(per)).checked_sub(u128::from(sub))
    }

    /// Returns the first whole microsecond at which `units` of `rate` have flowed since the mark.
    pub(crate) fn after(self, units: u32, rate: Rate) -> u64 {
        div_ceil(self.plus_units(units, rate), u64::from(rate.units()))
    }

    /// Returns the instant plus the time of `units` of a rate, in 1/n microseconds since the epoch for a rate of n units in
    /// some microseconds ([`Rate::units`]).
    pub fn plus_units(self, units: u32, rate: Rate) -> u128 {
        let (micros, sub) = self.parts(rate.units());
        let own = mul(micros, u64::from(rate.units())).saturating_add(u128::from(sub));
        own.saturating_add(mul(u64::from(units), rate.micros()))
    }
}

/// What flowed since a mark: whole units, and the rest in 1/q of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) units: u64,
    pub(crate) rest: u64,
}

/// Returns what `rate` brings from `mark` to `now`, `None` when the mark lies after `now`.
#[inline]
pub(crate) fn flow(mark: Mark, rate: Rate, now: Timestamp) -> Option<Flow> {
    let elapsed = mark.elapsed(now, rate.units())?;
    Some(split(elapsed, rate))
}

/// Splits an amount in 1/q of a unit into whole units and the rest.
#[inline]
pub(crate) fn split(amount: u128, rate: Rate) -> Flow {
    if let Ok(small) = u64::try_from(amount) {
        let units = small.checked_div(rate.micros()).unwrap_or(0);
        let rest = small.wrapping_sub(units.wrapping_mul(rate.micros()));
        return Flow { units, rest };
    }
    let rest = amount.checked_rem(u128::from(rate.micros())).and_then(|rest| u64::try_from(rest).ok());
    Flow { units: div_floor(amount, rate.micros()), rest: rest.unwrap_or(0) }
}

/// Returns the instant before `now` at which a level that is now `rest`/q of a unit past a whole count was whole.
#[inline]
pub(crate) fn whole_at(now: Timestamp, rest: u64, rate: Rate) -> Mark {
    if rest == 0 {
        return Mark::at(now);
    }
    let per = u64::from(rate.units());
    if per == 1 {
        return Mark { micros: now.as_micros().saturating_sub(rest), sub: 0, per: 1 };
    }
    let back = rest.div_ceil(per);
    let sub = mul(back, per).saturating_sub(u128::from(rest));
    let sub = u32::try_from(sub).unwrap_or(0);
    Mark::from_parts(now.as_micros().saturating_sub(back), sub, rate.units())
}
