//! Algorithms with their numbers, as the API shows them.

use serde::Serialize;
use tidegate::{Anchor, Calendar, Quota, Rate};
use utoipa::ToSchema;

/// An algorithm with its numbers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "algorithm", rename_all = "snake_case")]
#[schema(as = Quota)]
pub(super) enum QuotaView {
    /// A count that starts afresh with each window.
    FixedWindow {
        limit: u32,
        /// Of the calendar, the longest there is.
        window_micros: u64,
        anchor: AnchorName,
        /// Which windows of the calendar, with that anchor.
        #[schema(required, inline = false)]
        calendar: Option<CalendarName>,
    },
    /// The exact count over the last window.
    SlidingLog { limit: u32, window_micros: u64 },
    /// The weighted estimate of the count over the last window.
    SlidingCounter { limit: u32, window_micros: u64 },
    /// Credit that refills continuously up to a capacity.
    TokenBucket { capacity: u32, refill: RateView },
    /// A queue that is served at an even rate.
    LeakyBucket { rate: RateView, queue: u32 },
    /// A count of attempts within a window, and a lock after the last.
    Lockout { attempts: u32, within_micros: u64, lock_micros: u64 },
}

/// Where windows begin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Anchor)]
pub(super) enum AnchorName {
    /// At multiples of the window since the epoch.
    Clock,
    /// At the first admitted request after the last window.
    FirstHit,
    /// With each day, week or month of the calendar, in UTC.
    Calendar,
}

/// A kind of window of the calendar, in UTC.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Calendar)]
pub(super) enum CalendarName {
    /// From midnight to midnight.
    Day,
    /// From Monday's midnight to the next.
    Week,
    /// From the first of a month to the first of the next.
    Month,
}

/// A rate of `units` in `per_micros`, as a reduced fraction.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rate)]
pub(super) struct RateView {
    units: u32,
    per_micros: u64,
}

impl QuotaView {
    pub(super) fn of(quota: &Quota) -> Self {
        match quota {
            Quota::FixedWindow(quota) => {
                let (anchor, calendar) = AnchorName::of(quota.anchor());
                let window_micros = quota.window().as_micros();
                Self::FixedWindow { limit: quota.limit(), window_micros, anchor, calendar }
            }
            Quota::SlidingLog(quota) => {
                Self::SlidingLog { limit: quota.limit(), window_micros: quota.window().as_micros() }
            }
            Quota::SlidingCounter(quota) => {
                Self::SlidingCounter { limit: quota.limit(), window_micros: quota.window().as_micros() }
            }
            Quota::TokenBucket(quota) => {
                Self::TokenBucket { capacity: quota.capacity(), refill: RateView::of(quota.refill()) }
            }
            Quota::LeakyBucket(quota) => {
                Self::LeakyBucket { rate: RateView::of(quota.rate()), queue: quota.queue() }
            }
            Quota::Lockout(quota) => Self::Lockout {
                attempts: quota.attempts(),
                within_micros: quota.within().as_micros(),
                lock_micros: quota.lock().as_micros(),
            },
        }
    }
}

impl AnchorName {
    fn of(anchor: Anchor) -> (Self, Option<CalendarName>) {
        match anchor {
            Anchor::Clock => (Self::Clock, None),
            Anchor::FirstHit => (Self::FirstHit, None),
            Anchor::Calendar(Calendar::Day) => (Self::Calendar, Some(CalendarName::Day)),
            Anchor::Calendar(Calendar::Week) => (Self::Calendar, Some(CalendarName::Week)),
            Anchor::Calendar(Calendar::Month) => (Self::Calendar, Some(CalendarName::Month)),
        }
    }
}

impl RateView {
    fn of(rate: Rate) -> Self {
        Self { units: rate.units(), per_micros: rate.micros() }
    }
}
