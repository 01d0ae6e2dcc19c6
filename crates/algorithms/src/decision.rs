//! What is asked of a limit, what it answers, and what a charge leaves behind.

use crate::level::Level;
use crate::quota::MAX_UNITS;
use crate::time::{Span, Timestamp};

/// What a request asks of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    cost: u32,
    max_delay: Span,
}

impl Ask {
    /// Asks for one unit and accepts any delay.
    pub const ONE: Self = Self { cost: 1, max_delay: Span::MAX };

    /// Asks for `cost` units and accepts any delay. A cost of zero asks without taking; one above 2^30 + 1, the most
    /// that the longest queue and its server hold, is more than any limit and stands for 2^30 + 2.
    pub const fn units(cost: u32) -> Self {
        const BEYOND: u32 = MAX_UNITS.saturating_add(2);
        let cost = if cost > BEYOND { BEYOND } else { cost };
        Self { cost, max_delay: Span::MAX }
    }

    /// Returns the same with the longest delay the caller can hold a request; only a leaky bucket delays. One of 2^52 µs
    /// or more, past the last instant there is, is any ([`Span::MAX`]).
    #[must_use]
    pub const fn within(self, max_delay: Span) -> Self {
        let past_the_last = max_delay.as_micros() > Timestamp::MAX.as_micros();
        Self { cost: self.cost, max_delay: if past_the_last { Span::MAX } else { max_delay } }
    }

    /// Returns the units asked for.
    pub const fn cost(self) -> u32 {
        self.cost
    }

    /// Returns the longest acceptable delay.
    pub const fn max_delay(self) -> Span {
        self.max_delay
    }
}

/// The answer of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may pass.
    pub answer: Answer,
    /// The units a fresh state admits at once.
    pub limit: u32,
    /// The units that would still be admitted at this instant, after this request's when it was admitted.
    pub remaining: u32,
    /// How long until one unit would be admitted, zero when one is now; [`Span::MAX`] for never.
    pub next_unit: Span,
    /// How long until the state cannot be told from a fresh one.
    pub reset_after: Span,
}

impl Decision {
    /// Returns whether the request is admitted.
    pub fn is_admitted(&self) -> bool {
        matches!(self.answer, Answer::Admit { .. })
    }

    /// Returns when a refused request would be admitted, `None` for an admitted one.
    pub fn retry(&self) -> Option<Retry> {
        match self.answer {
            Answer::Refuse(retry) => Some(retry),
            Answer::Admit { .. } => None,
        }
    }

    /// Returns how long an admitted request has to be held before it starts; zero for a refused one.
    pub fn delay(&self) -> Span {
        match self.answer {
            Answer::Admit { delay } => delay,
            Answer::Refuse(_) => Span::ZERO,
        }
    }
}

/// Whether a request may pass, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It may, after `delay` (zero but for a leaky bucket).
    Admit {
        /// How long the request must be held before it starts; [`Span::MAX`] also stands for longer than any span.
        delay: Span,
    },
    /// It may not.
    Refuse(Retry),
}

/// When a refused request would be admitted if nothing else happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retry {
    /// Exactly then: one microsecond earlier it would be refused.
    After(Span),
    /// At no instant of the domain: the cost is above the capacity, or the wait ends past [`Timestamp::MAX`].
    Never,
}

impl Retry {
    /// Returns the retry after `wait` as seen at `now`: never when that lies past the domain.
    pub(crate) fn after(wait: Span, now: Timestamp) -> Self {
        if now.checked_add(wait).is_some() { Self::After(wait) } else { Self::Never }
    }

    /// Returns the wait, or `None` for never.
    pub fn wait(self) -> Option<Span> {
        match self {
            Self::After(wait) => Some(wait),
            Self::Never => None,
        }
    }
}

/// What was charged, and when: what a refund needs. Good for one refund.
///
/// It can be taken apart and put together again, to be kept outside the process: whatever its parts, a refund with it is
/// total, and takes no more out of a state than the state holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) charged_at: Timestamp,
    pub(crate) units: u32,
    pub(crate) place: Place,
}

impl Receipt {
    /// Returns the instant of the charge.
    pub fn charged_at(&self) -> Timestamp {
        self.charged_at
    }

    /// Returns the units charged.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Returns where in the state the charge sits.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Builds a receipt from its parts, as somebody who keeps it outside the process has them.
    pub fn from_parts(charged_at: Timestamp, units: u32, place: Place) -> Self {
        Self { charged_at, units, place }
    }
}

/// Where in the state a charge sits, as far as its instant does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// A tag of one byte beside a flag of one would have receipts copied in pieces that straddle it, which costs a store
// a tenth of its time.
#[repr(u64)]
pub enum Place {
    /// Its instant tells: in a log, a counter, a token bucket.
    ByInstant,
    /// In a window on the clock or the calendar.
    ClockWindow {
        /// The end of the window, in microseconds since the epoch.
        closes_at: u64,
    },
    /// In a window from the first hit.
    HitWindow {
        /// The end of the window just after the charge, in microseconds since the epoch.
        closes_at: u64,
        /// Whether this charge opened it.
        opened: bool,
    },
    /// In the window of a lockout.
    Attempt {
        /// The end of the window just after the charge, in microseconds since the epoch.
        closes_at: u64,
        /// Whether this charge opened it.
        opened: bool,
    },
    /// At the tail of a queue that looked like this after the charge.
    Tail(Level),
}

#[cfg(test)]
mod tests {
    use super::{Ask, Span, Timestamp};

    /// A delay that no double holds exactly would be another one in the script.
    #[test]
    fn a_delay_past_the_last_instant_is_any() {
        let last = Timestamp::MAX.as_micros();
        assert_eq!(Ask::ONE.within(Span::from_micros(last)).max_delay().as_micros(), last);
        assert_eq!(Ask::ONE.within(Span::from_micros(last + 1)), Ask::ONE);
        assert_eq!(Ask::ONE.within(Span::from_micros(u64::MAX - 1)), Ask::ONE);
    }
}
