//! What several limits together let through.

use std::cmp::Ordering;

use tidegate_algorithms::{LongRun, Quota, Span};

use crate::figures::float;

/// The limits that all count the tries at one victim.
///
/// Each try has to pass every one of them, so that they let through at most what the tightest does; where they differ in
/// when they are tightest, that is a bound which no schedule may reach. No limits at all let everything through at once.
#[derive(Debug, Clone, Copy)]
pub struct Allowance<'a> {
    quotas: &'a [Quota],
}

impl<'a> Allowance<'a> {
    /// Takes the limits together.
    pub fn of(quotas: &'a [Quota]) -> Self {
        Self { quotas }
    }

    /// Returns the most tries that an attack of a length (closed) makes that begins on fresh states; [`u128::MAX`] without
    /// limits.
    pub fn from_idle(&self, horizon: Span) -> u128 {
        self.quotas.iter().map(|quota| quota.most_from_idle(horizon)).min().unwrap_or(u128::MAX)
    }

    /// Returns the rate of the slowest limit in the long run; `None` without limits.
    pub fn long_run(&self) -> Option<LongRun> {
        self.quotas.iter().map(Quota::long_run).min_by(|a, b| slower(*a, *b))
    }

    /// Returns the earliest time after the first try at which so many can have been made, exactly; `None` when that is never,
    /// or later than the longest [`Span`], 584,542 years.
    ///
    /// What limits let through from idle never falls, so the time is found by halving.
    pub fn earliest(&self, tries: u128) -> Option<Span> {
        if self.from_idle(Span::MAX) < tries {
            return None;
        }
        let (mut early, mut enough) = (0, u64::MAX);
        while early < enough {
            let middle = early.midpoint(enough);
            if self.from_idle(Span::from_micros(middle)) >= tries {
                enough = middle;
            } else {
                early = middle.saturating_add(1);
            }
        }
        Some(Span::from_micros(enough))
    }

    /// Returns the earliest time in seconds at which so many tries can have been made; `None` for never.
    ///
    /// Beyond the longest span the tries still to come are made at the long-run rate.
    pub fn seconds_to(&self, tries: u128) -> Option<f64> {
        if let Some(span) = self.earliest(tries) {
            return Some(seconds(span));
        }
        let each = self.quotas.iter().map(|quota| {
            let left = tries.saturating_sub(quota.most_from_idle(Span::MAX));
            let LongRun { units, micros } = quota.long_run();
            if left == 0 {
                Some(0.0)
            } else if units == 0 {
                None
            } else {
                Some(seconds(Span::MAX) + float(left) * float(micros) / f64::from(units) / 1e6)
            }
        });
        each.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).unwrap_or(Some(0.0))
    }

    /// Returns the fewest requests that keep a key refused throughout a closed span, by way of the limit that is cheapest to
    /// fill; `None` without limits, or when no such number fits.
    pub fn requests_to_deny(&self, span: Span) -> Option<u64> {
        self.quotas.iter().filter_map(|quota| quota.requests_to_deny(span)).min()
    }
}

/// Returns a span in seconds.
pub(super) fn seconds(span: Span) -> f64 {
    float(span.as_micros()) / 1e6
}

/// Orders two rates, the slower first.
fn slower(a: LongRun, b: LongRun) -> Ordering {
    let cross = |a: LongRun, b: LongRun| u128::from(a.units).saturating_mul(b.micros.into());
    cross(a, b).cmp(&cross(b, a))
}
