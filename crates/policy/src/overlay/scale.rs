//! Other numbers for a limit, made from its own.

use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

/// Returns a quota of the same algorithm that admits `number` at once: a window's limit, a lockout's attempts, a bucket's
/// capacity or a queue's places, these two with their rates in the same proportion.
///
/// # Errors
/// With why not, when there is no such quota.
pub(super) fn scaled(quota: &Quota, number: u64) -> Result<Quota, String> {
    let none = || {
        let what = quota.algorithm();
        format!("a {what} of {number} is none; `refuse` as the mode lets nothing through")
    };
    let built = match quota {
        Quota::FixedWindow(own) => match own.anchor() {
            Anchor::Calendar(calendar) => Quota::calendar_window(number, calendar),
            anchor => Quota::fixed_window(number, own.window(), anchor),
        },
        Quota::SlidingLog(own) => Quota::sliding_log(number, own.window()),
        Quota::SlidingCounter(own) => Quota::sliding_counter(number, own.window()),
        Quota::TokenBucket(own) => {
            let capacity = own.capacity().into();
            Quota::token_bucket(number, proportional(own.refill(), number, capacity).ok_or_else(none)??)
        }
        Quota::LeakyBucket(own) => {
            let rate = proportional(own.rate(), number, quota.nominal().into()).ok_or_else(none)??;
            Quota::leaky_bucket(rate, number.saturating_sub(1))
        }
        Quota::Lockout(_) if number == 0 => return Err(none()),
        Quota::Lockout(own) => Quota::lockout(number, own.within(), own.lock()),
    };
    built.map_err(|error| format!("{}: {error}", quota.algorithm()))
}

/// Returns a rate that is to another as `number` is to `of`, exactly; `None` for a `number` of zero.
fn proportional(rate: Rate, number: u64, of: u64) -> Option<Result<Rate, String>> {
    let units = u128::from(rate.units()).saturating_mul(number.into());
    let micros = u128::from(rate.micros()).saturating_mul(of.into());
    let divisor = gcd(units, micros);
    let (units, micros) = (units.checked_div(divisor)?, micros.checked_div(divisor)?);
    if units == 0 {
        return None;
    }
    let beyond = || {
        format!(
            "in the same proportion the rate would be {units} in {micros} microseconds, which is beyond any; \
             write whole new `terms`"
        )
    };
    let parts = u64::try_from(units).ok().zip(u64::try_from(micros).ok());
    Some(parts.and_then(|(units, micros)| Rate::from_parts(units, micros).ok()).ok_or_else(beyond))
}

fn gcd(a: u128, b: u128) -> u128 {
    match a.checked_rem(b) {
        None => a,
        Some(rest) => gcd(b, rest),
    }
}

/// Returns a quota that admits nothing, of the same algorithm where there is one.
pub(super) fn nothing(quota: &Quota) -> Option<Quota> {
    scaled(quota, 0)
        .or_else(|_| Quota::sliding_log(0, Span::from_secs(1)).map_err(|error| error.to_string()))
        .ok()
}

/// Returns an algorithm's numbers as a policy writes them: `capacity 4, refill 1 per 10s`.
pub fn numbers(quota: &Quota) -> String {
    let rate = |rate: Rate| format!("{} per {}", rate.units(), Span::from_micros(rate.micros()));
    match quota {
        Quota::FixedWindow(quota) => {
            let (window, anchor) = match quota.anchor() {
                Anchor::Clock => (quota.window().to_string(), "clock"),
                Anchor::FirstHit => (quota.window().to_string(), "first_hit"),
                Anchor::Calendar(Calendar::Day) => ("day".to_owned(), "calendar"),
                Anchor::Calendar(Calendar::Week) => ("week".to_owned(), "calendar"),
                Anchor::Calendar(Calendar::Month) => ("month".to_owned(), "calendar"),
            };
            format!("limit {}, window {window}, anchor {anchor}", quota.limit())
        }
        Quota::SlidingLog(quota) => format!("limit {}, window {}", quota.limit(), quota.window()),
        Quota::SlidingCounter(quota) => format!("limit {}, window {}", quota.limit(), quota.window()),
        Quota::TokenBucket(quota) => {
            format!("capacity {}, refill {}", quota.capacity(), rate(quota.refill()))
        }
        Quota::LeakyBucket(quota) => format!("rate {}, queue {}", rate(quota.rate()), quota.queue()),
        Quota::Lockout(quota) => {
            format!("attempts {}, within {}, lock {}", quota.attempts(), quota.within(), quota.lock())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(text: &str) -> Quota {
        crate::parse_quota("test", text).unwrap().0
    }

    /// Guards against a bucket that holds more and refills as before, or whose rate was rounded.
    #[test]
    fn a_number_changes_a_bucket_in_proportion_and_exactly() {
        for (text, number, expected) in [
            ("token_bucket: { capacity: 4, refill: 1 per 10s }", 8, "capacity 8, refill 1 per 5s"),
            ("token_bucket: { capacity: 4, refill: 1 per 10s }", 3, "capacity 3, refill 3 per 40s"),
            ("token_bucket: { capacity: 7, refill: 1 per 10s }", 3, "capacity 3, refill 3 per 70s"),
            ("leaky_bucket: { rate: 10 per 1s, queue: 4 }", 10, "rate 1 per 50ms, queue 9"),
            ("leaky_bucket: { rate: 10 per 1s, queue: 0 }", 2, "rate 1 per 50ms, queue 1"),
            ("sliding_log: { limit: 5, window: 1m }", 0, "limit 0, window 1m"),
            ("sliding_counter: { limit: 5, window: 1m }", 9, "limit 9, window 1m"),
            (
                "fixed_window: { limit: 5, window: 1m, anchor: first_hit }",
                9,
                "limit 9, window 1m, anchor first_hit",
            ),
            (
                "fixed_window: { limit: 5, window: day, anchor: calendar }",
                9,
                "limit 9, window day, anchor calendar",
            ),
            ("lockout: { attempts: 5, within: 30m, lock: 1h }", 2, "attempts 2, within 30m, lock 1h"),
        ] {
            assert_eq!(numbers(&scaled(&quota(text), number).unwrap()), expected, "{text} at {number}");
        }
    }

    /// What cannot be has to say what can.
    #[test]
    fn a_number_that_makes_no_limit_is_told_with_the_remedy() {
        for (text, number, told) in [
            ("token_bucket: { capacity: 4, refill: 1 per 10s }", 0, "`refuse`"),
            ("leaky_bucket: { rate: 1 per 1s, queue: 4 }", 0, "`refuse`"),
            ("lockout: { attempts: 5, within: 30m, lock: 1h }", 0, "`refuse`"),
            ("sliding_counter: { limit: 5, window: 1m }", u64::MAX, "the nearest possible is 1073741824"),
            ("token_bucket: { capacity: 1073741824, refill: 1 per 400d }", 1, "beyond any"),
            ("token_bucket: { capacity: 1, refill: 1073741824 per 1ms }", u64::MAX, "beyond any"),
        ] {
            let error = scaled(&quota(text), number).unwrap_err();
            assert!(error.contains(told), "{text} at {number}: {error}");
        }
    }

    #[test]
    fn nothing_is_of_the_same_algorithm_where_there_is_one() {
        for (text, algorithm) in [
            ("token_bucket: { capacity: 4, refill: 1 per 10s }", "sliding_log"),
            ("fixed_window: { limit: 5, window: 1m }", "fixed_window"),
            ("sliding_counter: { limit: 5, window: 1m }", "sliding_counter"),
        ] {
            let none = nothing(&quota(text)).unwrap();
            assert_eq!((none.algorithm(), none.nominal()), (algorithm, 0), "{text}");
        }
    }
}
