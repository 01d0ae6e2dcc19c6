//! One instance's share of a quota, for when instances cannot count together.

use crate::quota::{
    FixedWindow, LeakyBucket, Lockout, MAX_SPAN, Quota, Rate, SlidingCounter, SlidingLog, TokenBucket,
};

impl Quota {
    /// Returns the share of one of so many instances: counts and rates divided by their number, rounded down and at least
    /// one; windows and locks as they are. A limit of zero stays zero, and so may a queue become.
    ///
    /// All instances together admit at most what the whole does, as long as there are no more of them than units and the
    /// rate stays above a unit in 400 days; a sliding counter up to one unit an instance more, since each rounds its own
    /// estimate. Beyond that it is one unit each, or a unit in 400 days.
    ///
    /// ```
    /// use tidegate_algorithms::{Quota, Rate, Span};
    ///
    /// let whole = Quota::token_bucket(10, Rate::new(10, Span::from_secs(1))?)?;
    /// assert_eq!(whole.share_of(3), Quota::token_bucket(3, Rate::new(10, Span::from_secs(3))?)?);
    /// # Ok::<(), tidegate_algorithms::QuotaError>(())
    /// ```
    #[must_use]
    pub fn share_of(&self, instances: u32) -> Self {
        match *self {
            Self::FixedWindow(FixedWindow { limit, window, anchor }) => {
                Self::FixedWindow(FixedWindow { limit: part(limit, instances), window, anchor })
            }
            Self::SlidingLog(SlidingLog { limit, window }) => {
                Self::SlidingLog(SlidingLog { limit: part(limit, instances), window })
            }
            Self::SlidingCounter(SlidingCounter { limit, window }) => {
                Self::SlidingCounter(SlidingCounter { limit: part(limit, instances), window })
            }
            Self::TokenBucket(TokenBucket { capacity, refill }) => Self::TokenBucket(TokenBucket {
                capacity: part(capacity, instances),
                refill: slower(refill, instances),
            }),
            Self::LeakyBucket(LeakyBucket { rate, queue }) => Self::LeakyBucket(LeakyBucket {
                rate: slower(rate, instances),
                // The one that is served is a place as well.
                queue: part(queue.saturating_add(1), instances).saturating_sub(1),
            }),
            Self::Lockout(Lockout { attempts, within, lock }) => {
                Self::Lockout(Lockout { attempts: part(attempts, instances), within, lock })
            }
        }
    }
}

fn part(units: u32, instances: u32) -> u32 {
    if units == 0 { 0 } else { units.checked_div(instances).unwrap_or(units).max(1) }
}

/// Returns the rate divided, no slower than a unit in the longest period there is.
fn slower(rate: Rate, instances: u32) -> Rate {
    let micros = rate.micros().saturating_mul(u64::from(instances.max(1)));
    if micros <= MAX_SPAN.as_micros() {
        return Rate::reduced(rate.units(), micros);
    }
    // So long a period fits none; fewer units in the longest, rounded down.
    let units = crate::wide::mul_div_floor(u64::from(rate.units()), MAX_SPAN.as_micros(), micros);
    Rate::reduced(u32::try_from(units).unwrap_or(u32::MAX).max(1), MAX_SPAN.as_micros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anchor, Calendar, Span};

    fn quotas(units: u64) -> Vec<Quota> {
        let hour = Span::from_secs(3_600);
        let rate = Rate::new(units.max(1), hour).unwrap();
        [
            Quota::fixed_window(units, hour, Anchor::Clock),
            Quota::fixed_window(units, hour, Anchor::FirstHit),
            Quota::calendar_window(units, Calendar::Day),
            Quota::sliding_log(units, hour),
            Quota::sliding_counter(units, hour),
            Quota::token_bucket(units.max(1), rate),
            Quota::leaky_bucket(rate, units),
            Quota::lockout(units.max(1), hour, hour),
        ]
        .into_iter()
        .map(Result::unwrap)
        .collect()
    }

    /// Shares that add up to more than the whole would raise every limit in an outage, when it is needed most.
    #[test]
    fn all_shares_together_admit_no_more_than_the_whole() {
        for units in [1, 2, 7, 10, 1_000] {
            for instances in [1, 2, 3, 7] {
                for whole in quotas(units).into_iter().filter(|whole| whole.nominal() >= instances) {
                    let share = whole.share_of(instances);
                    for span in [0, 1, 10_000_000, 3_599_999_999, 3_600_000_000, 90_000_000_000] {
                        let span = Span::from_micros(span);
                        let together = share.most_in_closed(span) * u128::from(instances);
                        // An estimate is rounded by each instance.
                        let is_estimate = matches!(whole, Quota::SlidingCounter(_));
                        let slack = if is_estimate { u128::from(instances - 1) } else { 0 };
                        assert!(together <= whole.most_in_closed(span) + slack, "{whole:?} by {instances}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_share_is_never_nothing_unless_the_whole_is() {
        for whole in quotas(2) {
            assert_eq!(whole.share_of(10).nominal(), 1, "{whole:?}");
            assert_eq!(whole.share_of(1), whole);
            assert_eq!(whole.share_of(0), whole);
        }
        let closed = Quota::sliding_log(0, Span::from_secs(1)).unwrap();
        assert_eq!(closed.share_of(3), closed);
    }

    #[test]
    fn a_rate_that_fits_no_period_keeps_the_longest() {
        let slow = Rate::new(1, MAX_SPAN).unwrap();
        let whole = Quota::token_bucket(5, slow).unwrap();
        assert_eq!(whole.share_of(5), Quota::token_bucket(1, slow).unwrap());
    }
}
