//! What a limit allows: an algorithm with its numbers.
//!
//! A quota can only be built inside the domain, and inside it all arithmetic of this crate fits: decisions are
//! total. The domain is wide (2^30 units, windows from a millisecond to 400 days), so an error means a slip of
//! the pen, and says which number and what the nearest one would be.

use std::fmt;

use crate::time::Span;
use crate::wide::mul_div_ceil;

/// The largest limit, capacity, queue or cost: 2^30 units.
pub const MAX_UNITS: u32 = 1 << 30;
/// The largest limit of a sliding log, in units.
///
/// A log keeps one entry of 16 bytes for each instant that charged, however many units it charged: 50,000 units in costs
/// of 25 are at most 2,000 entries. With costs of one there is an entry a unit, 1.6 MB at this limit, and a refusal may
/// have to pass them all; more would be too long a time for the others who wait for the same lock, or for a store that is
/// asked over the network.
pub const MAX_LOG_UNITS: u32 = 100_000;
/// The shortest window or period.
pub const MIN_SPAN: Span = Span::from_millis(1);
/// The longest window or period, 400 days.
pub const MAX_SPAN: Span = Span::from_secs(400 * 86_400);

/// An algorithm with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quota {
    /// A count that starts afresh with each window.
    FixedWindow(FixedWindow),
    /// The exact count over the last window.
    SlidingLog(SlidingLog),
    /// The weighted estimate of the count over the last window.
    SlidingCounter(SlidingCounter),
    /// Credit that refills continuously up to a capacity.
    TokenBucket(TokenBucket),
    /// A queue that is served at an even rate.
    LeakyBucket(LeakyBucket),
    /// A count of attempts, and a lock after the last.
    Lockout(Lockout),
}

impl Quota {
    /// Builds a fixed window of `limit` units a `window`.
    ///
    /// # Errors
    /// When a number lies outside the domain, or is not the length of the calendar's windows.
    pub fn fixed_window(limit: u64, window: Span, anchor: Anchor) -> Result<Self, QuotaError> {
        let limit = units("limit", limit, 0, MAX_UNITS)?;
        let window = match anchor {
            Anchor::Calendar(calendar) => only(window, calendar.longest())?,
            Anchor::Clock | Anchor::FirstHit => span("window", window)?,
        };
        Ok(Self::FixedWindow(FixedWindow { limit, window, anchor }))
    }

    /// Builds a fixed window of `limit` units a day, week or month of the calendar.
    ///
    /// # Errors
    /// When the limit lies outside the domain.
    pub fn calendar_window(limit: u64, calendar: Calendar) -> Result<Self, QuotaError> {
        Self::fixed_window(limit, calendar.longest(), Anchor::Calendar(calendar))
    }

    /// Builds a sliding log of `limit` units in any `window`.
    ///
    /// # Errors
    /// When a number lies outside the domain; a log holds at most [`MAX_LOG_UNITS`].
    pub fn sliding_log(limit: u64, window: Span) -> Result<Self, QuotaError> {
        let limit = units("limit", limit, 0, MAX_LOG_UNITS)?;
        Ok(Self::SlidingLog(SlidingLog { limit, window: span("window", window)? }))
    }

    /// Builds a sliding counter of `limit` units a `window`.
    ///
    /// # Errors
    /// When a number lies outside the domain.
    pub fn sliding_counter(limit: u64, window: Span) -> Result<Self, QuotaError> {
        let limit = units("limit", limit, 0, MAX_UNITS)?;
        Ok(Self::SlidingCounter(SlidingCounter { limit, window: span("window", window)? }))
    }

    /// Builds a token bucket that holds `capacity` units and refills at `refill`.
    ///
    /// # Errors
    /// When a number lies outside the domain; a capacity of zero could never admit.
    pub fn token_bucket(capacity: u64, refill: Rate) -> Result<Self, QuotaError> {
        let capacity = units("capacity", capacity, 1, MAX_UNITS)?;
        Ok(Self::TokenBucket(TokenBucket { capacity, refill }))
    }

    /// Builds a leaky bucket that starts requests at `rate` and lets up to `queue` units wait.
    ///
    /// # Errors
    /// When a number lies outside the domain.
    pub fn leaky_bucket(rate: Rate, queue: u64) -> Result<Self, QuotaError> {
        let queue = units("queue", queue, 0, MAX_UNITS)?;
        Ok(Self::LeakyBucket(LeakyBucket { rate, queue }))
    }

    /// Builds a lockout that locks for `lock` with the last of `attempts` units within a window.
    ///
    /// # Errors
    /// When a number lies outside the domain; no attempts at all could never admit.
    pub fn lockout(attempts: u64, within: Span, lock: Span) -> Result<Self, QuotaError> {
        let attempts = units("attempts", attempts, 1, MAX_UNITS)?;
        Ok(Self::Lockout(Lockout { attempts, within: span("within", within)?, lock: span("lock", lock)? }))
    }

    /// Returns the name of the algorithm as a policy file writes it.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::FixedWindow(_) => "fixed_window",
            Self::SlidingLog(_) => "sliding_log",
            Self::SlidingCounter(_) => "sliding_counter",
            Self::TokenBucket(_) => "token_bucket",
            Self::LeakyBucket(_) => "leaky_bucket",
            Self::Lockout(_) => "lockout",
        }
    }

    /// Returns the units that a fresh state admits at once: the limit, the capacity or the attempts; of a queue, those
    /// that wait and the one that starts.
    pub fn nominal(&self) -> u32 {
        match self {
            Self::FixedWindow(quota) => quota.limit,
            Self::SlidingLog(quota) => quota.limit,
            Self::SlidingCounter(quota) => quota.limit,
            Self::TokenBucket(quota) => quota.capacity,
            Self::LeakyBucket(quota) => quota.places(),
            Self::Lockout(quota) => quota.attempts,
        }
    }

    /// Returns the window that clients are told: the window itself (of a calendar the longest), that in which a lockout
    /// counts, or the time an empty bucket takes to fill, ⌈capacity / rate⌉, in microseconds rounded up.
    pub fn window(&self) -> Span {
        match self {
            Self::FixedWindow(quota) => quota.window,
            Self::SlidingLog(quota) => quota.window,
            Self::SlidingCounter(quota) => quota.window,
            Self::TokenBucket(quota) => quota.refill.time_for(u64::from(quota.capacity)),
            Self::LeakyBucket(quota) => quota.rate.time_for(u64::from(quota.places())),
            Self::Lockout(quota) => quota.within,
        }
    }
}

/// `limit` units a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    pub(crate) limit: u32,
    pub(crate) window: Span,
    pub(crate) anchor: Anchor,
}

/// Where the windows of a fixed window begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// At multiples of the window since the epoch, the same for every key.
    Clock,
    /// At the first admitted request after the last window ended, as a counter whose expiry is set on its first
    /// write does.
    FirstHit,
    /// With each day, week or month of the calendar, in UTC.
    Calendar(Calendar),
}

/// A kind of window of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Calendar {
    /// From midnight to midnight.
    Day,
    /// From Monday's midnight to the next, as ISO 8601 counts weeks.
    Week,
    /// From the first of a month to the first of the next, 28 to 31 days.
    Month,
}

impl Calendar {
    /// Returns the length of the longest such window: 1, 7 or 31 days.
    pub fn longest(self) -> Span {
        Span::from_secs(match self {
            Self::Day => 86_400,
            Self::Week => 7 * 86_400,
            Self::Month => 31 * 86_400,
        })
    }
}

/// `limit` units in any window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    pub(crate) limit: u32,
    pub(crate) window: Span,
}

/// `limit` units a window, the last window estimated from two counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingCounter {
    pub(crate) limit: u32,
    pub(crate) window: Span,
}

/// Up to `capacity` units at once, then `refill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenBucket {
    pub(crate) capacity: u32,
    pub(crate) refill: Rate,
}

/// One start each 1/`rate`, up to `queue` units waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeakyBucket {
    pub(crate) rate: Rate,
    pub(crate) queue: u32,
}

impl LeakyBucket {
    /// Returns the units the queue and the server hold together; at most 2^30 + 1, so it always fits.
    pub(crate) fn places(self) -> u32 {
        self.queue.saturating_add(1)
    }
}

/// Up to `attempts` units within a window; with the last of them a lock begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lockout {
    pub(crate) attempts: u32,
    pub(crate) within: Span,
    pub(crate) lock: Span,
}

macro_rules! getters {
    ($($quota:ident { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? })*) => { $(
        impl $quota { $(
            $(#[$doc])*
            pub fn $field(&self) -> $type { self.$field }
        )* }
    )* };
}

getters! {
    FixedWindow {
        /// Returns the units a window admits.
        limit: u32,
        /// Returns the length of a window, of the longest on a calendar.
        window: Span,
        /// Returns where windows begin.
        anchor: Anchor,
    }
    SlidingLog {
        /// Returns the units any window admits.
        limit: u32,
        /// Returns the length of the window.
        window: Span,
    }
    SlidingCounter {
        /// Returns the units a window nominally admits.
        limit: u32,
        /// Returns the length of the window.
        window: Span,
    }
    TokenBucket {
        /// Returns the units the bucket holds.
        capacity: u32,
        /// Returns the rate at which it refills.
        refill: Rate,
    }
    LeakyBucket {
        /// Returns the rate of starts.
        rate: Rate,
        /// Returns the units that may wait.
        queue: u32,
    }
    Lockout {
        /// Returns the units a window admits; the last of them locks.
        attempts: u32,
        /// Returns the length of the window in which they count.
        within: Span,
        /// Returns the length of the lock.
        lock: Span,
    }
}

/// A rate of `units` a `micros` microseconds, as a reduced fraction, so that it never drifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    units: u32,
    micros: u64,
}

impl Rate {
    /// Builds the rate of `units` per `period`.
    ///
    /// # Errors
    /// When `units` is zero or over [`MAX_UNITS`], or `period` outside [`MIN_SPAN`] to [`MAX_SPAN`].
    pub fn new(units_per_period: u64, period: Span) -> Result<Self, QuotaError> {
        let units = units("rate", units_per_period, 1, MAX_UNITS)?;
        let period = span("period", period)?;
        Ok(Self::reduced(units, period.as_micros()))
    }

    /// Builds a rate of the two numbers that [`Rate::units`] and [`Rate::micros`] gave, for whoever wrote them down. As a
    /// fraction is reduced, its period may be shorter than any that [`Rate::new`] takes.
    ///
    /// # Errors
    /// When no rate gives these numbers.
    pub fn from_parts(units: u64, micros: u64) -> Result<Self, QuotaError> {
        let times = MIN_SPAN.as_micros().div_ceil(micros.max(1));
        Self::new(units.saturating_mul(times), Span::from_micros(micros.saturating_mul(times)))
    }

    /// Reduces a fraction of two numbers that are not zero.
    pub(crate) fn reduced(units: u32, micros: u64) -> Self {
        let divisor = gcd(u64::from(units), micros);
        let units = u64::from(units).checked_div(divisor).and_then(|n| u32::try_from(n).ok());
        Self { units: units.unwrap_or(1), micros: micros.checked_div(divisor).unwrap_or(1) }
    }

    /// Returns the numerator: units in [`Rate::micros`].
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Returns the denominator in microseconds.
    pub fn micros(&self) -> u64 {
        self.micros
    }

    /// Returns the time `count` units take, rounded up to the microsecond.
    pub fn time_for(&self, count: u64) -> Span {
        Span::from_micros(mul_div_ceil(count, self.micros, u64::from(self.units)))
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

/// A quota outside the domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaError {
    field: &'static str,
    given: String,
    nearest: String,
}

impl QuotaError {
    /// Returns the name of the number that does not fit: `limit`, `window`, `capacity`, `rate`, `period`,
    /// `queue`, `attempts`, `within` or `lock`.
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// Returns the nearest value that would fit, as a policy file writes it.
    pub fn nearest(&self) -> &str {
        &self.nearest
    }
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} is out of range; the nearest possible is {}", self.field, self.given, self.nearest)
    }
}

impl std::error::Error for QuotaError {}

fn units(field: &'static str, given: u64, least: u32, most: u32) -> Result<u32, QuotaError> {
    let nearest = u32::try_from(given).unwrap_or(u32::MAX).clamp(least, most);
    if u64::from(nearest) == given {
        return Ok(nearest);
    }
    Err(QuotaError { field, given: given.to_string(), nearest: nearest.to_string() })
}

/// Takes the one window there is.
fn only(given: Span, window: Span) -> Result<Span, QuotaError> {
    if given == window {
        return Ok(window);
    }
    Err(QuotaError { field: "window", given: given.to_string(), nearest: window.to_string() })
}

fn span(field: &'static str, given: Span) -> Result<Span, QuotaError> {
    let nearest = given.clamp(MIN_SPAN, MAX_SPAN);
    if nearest == given {
        return Ok(given);
    }
    Err(QuotaError { field, given: given.to_string(), nearest: nearest.to_string() })
}
