//! Instants and spans in whole microseconds.
//!
//! Time is always an argument: nothing in this crate reads a clock. Both types are plain integers, so that the
//! same arithmetic can be written a second time in a Redis script, whose numbers are doubles: an instant stays
//! below 2^52 and is therefore exact there, with room for one carry.

use std::fmt;

/// Microseconds in one second.
const MICROS_PER_SEC: u64 = 1_000_000;

/// An instant, in microseconds since the Unix epoch, below 2^52 (the year 2112).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);
    /// The last instant of the domain, 2^52 − 1 microseconds.
    pub const MAX: Self = Self((1 << 52) - 1);

    /// Returns the instant `micros` after the epoch, or `None` past [`Timestamp::MAX`].
    pub const fn from_micros(micros: u64) -> Option<Self> {
        if micros <= Self::MAX.0 { Some(Self(micros)) } else { None }
    }

    /// Returns the instant `micros` after the epoch, or [`Timestamp::MAX`] when that lies past it.
    pub const fn saturating_from_micros(micros: u64) -> Self {
        if micros <= Self::MAX.0 { Self(micros) } else { Self::MAX }
    }

    /// Returns the microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the instant `span` later, or [`Timestamp::MAX`] when that lies past it.
    pub const fn saturating_add(self, span: Span) -> Self {
        Self::saturating_from_micros(self.0.saturating_add(span.0))
    }

    /// Returns the instant `span` later, or `None` past [`Timestamp::MAX`].
    pub const fn checked_add(self, span: Span) -> Option<Self> {
        match self.0.checked_add(span.0) {
            Some(micros) => Self::from_micros(micros),
            None => None,
        }
    }

    /// Returns how long before `self` the instant `earlier` lies, zero when it does not.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span; stands for every longer one.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns a span of `millis` milliseconds, [`Span::MAX`] when it would not fit.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Returns a span of `secs` seconds, [`Span::MAX`] when it would not fit.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(MICROS_PER_SEC))
    }

    /// Returns the span in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the span in seconds, rounded up: people and headers are never told to come back too early.
    pub const fn ceil_secs(self) -> u64 {
        self.0.div_ceil(MICROS_PER_SEC)
    }

    /// Returns the span as a standard duration.
    pub const fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_micros(self.0)
    }
}

impl fmt::Display for Span {
    /// Writes the span in the largest unit that divides it, as policy files do: `90s`, `24h`, `400d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] = [
            (86_400 * MICROS_PER_SEC, "d"),
            (3_600 * MICROS_PER_SEC, "h"),
            (60 * MICROS_PER_SEC, "m"),
            (MICROS_PER_SEC, "s"),
            (1_000, "ms"),
        ];
        let exact = UNITS.iter().find(|(micros, _)| self.0 >= *micros && self.0.is_multiple_of(*micros));
        match exact.and_then(|(micros, unit)| Some((self.0.checked_div(*micros)?, unit))) {
            Some((count, unit)) => write!(f, "{count}{unit}"),
            None => write!(f, "{}us", self.0),
        }
    }
}
