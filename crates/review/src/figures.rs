//! Figures as people say them.

use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

/// Returns a count as a floating-point number, the nearest.
#[expect(clippy::cast_precision_loss, reason = "the figure is only shown, in a few digits")]
pub fn float(count: impl Into<u128>) -> f64 {
    let count: u128 = count.into();
    count as f64
}

/// Returns the nearest whole number: zero for what is below or no number, the largest for what is above.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
pub fn whole(number: f64) -> u128 {
    number.round() as u128
}

/// Writes a time in seconds in the unit people would use: `23.15 days`, `3.37 years`; a year has 365 days. Three and more
/// digits keep one decimal, and four and more none.
pub fn spoken_time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (365.0 * 86_400.0, "years"),
        (86_400.0, "days"),
        (3_600.0, "hours"),
        (60.0, "minutes"),
        (1.0, "seconds"),
    ];
    if seconds == 0.0 {
        return "at once".to_owned();
    }
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    let (amount, unit) =
        unit.map_or((seconds * 1_000.0, "milliseconds"), |(length, unit)| (seconds / length, *unit));
    let amount = match amount {
        ..99.995 => format!("{amount:.2}"),
        ..999.95 => format!("{amount:.1}"),
        1e15.. => format!("{amount:.1e}"),
        _ => spoken_count(whole(amount)),
    };
    format!("{amount} {unit}")
}

/// Writes a count with a comma between each three digits.
pub fn spoken_count(count: u128) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a chance in two digits, as a percentage, or as one in so many when it is less than a hundredth of one: `4.2 %`,
/// `> 99.99 %`, `1 in 330,000`.
pub fn spoken_chance(chance: f64) -> String {
    let percent = chance * 100.0;
    match percent {
        ..=0.0 => "none".to_owned(),
        ..0.01 => {
            let one_in = chance.recip();
            let unit = 10_f64.powf(one_in.log10().floor() - 1.0);
            let rounded = (one_in / unit).round() * unit;
            if rounded < 1e15 {
                format!("1 in {}", spoken_count(whole(rounded)))
            } else {
                format!("1 in {rounded:.1e}")
            }
        }
        ..0.0995 => format!("{percent:.3} %"),
        ..0.995 => format!("{percent:.2} %"),
        ..9.95 => format!("{percent:.1} %"),
        ..98.5 => format!("{percent:.0} %"),
        ..99.995 => format!("{percent:.2} %"),
        _ => "> 99.99 %".to_owned(),
    }
}

/// Writes a limit as a policy file does: `token_bucket: { capacity: 4, refill: 1 per 10s }`.
pub fn written(quota: &Quota) -> String {
    let numbers = match quota {
        Quota::FixedWindow(fixed) => match fixed.anchor() {
            Anchor::Clock => format!("limit: {}, window: {}", fixed.limit(), fixed.window()),
            Anchor::FirstHit => {
                format!("limit: {}, window: {}, anchor: first_hit", fixed.limit(), fixed.window())
            }
            Anchor::Calendar(calendar) => {
                let window = match calendar {
                    Calendar::Day => "day",
                    Calendar::Week => "week",
                    Calendar::Month => "month",
                };
                format!("limit: {}, anchor: calendar, window: {window}", fixed.limit())
            }
        },
        Quota::SlidingLog(log) => format!("limit: {}, window: {}", log.limit(), log.window()),
        Quota::SlidingCounter(counter) => format!("limit: {}, window: {}", counter.limit(), counter.window()),
        Quota::TokenBucket(bucket) => {
            format!("capacity: {}, refill: {}", bucket.capacity(), written_rate(bucket.refill()))
        }
        Quota::LeakyBucket(bucket) => {
            format!("rate: {}, queue: {}", written_rate(bucket.rate()), bucket.queue())
        }
        Quota::Lockout(lockout) => {
            format!(
                "attempts: {}, within: {}, lock: {}",
                lockout.attempts(),
                lockout.within(),
                lockout.lock()
            )
        }
    };
    format!("{}: {{ {numbers} }}", quota.algorithm())
}

/// Writes a rate as a policy file does, over whole milliseconds.
fn written_rate(rate: Rate) -> String {
    let times =
        (1..=1_000_u64).find(|times| rate.micros().saturating_mul(*times).is_multiple_of(1_000)).unwrap_or(1);
    let units = u64::from(rate.units()).saturating_mul(times);
    format!("{units} per {}", Span::from_micros(rate.micros().saturating_mul(times)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_the_unit_people_would_use() {
        let said: Vec<String> = [
            0.0,
            0.25,
            30.0,
            90.0,
            57_600.0 * 1.05,
            2_000_160.0,
            9_993_600.0,
            106_276_320.0,
            1.73e10,
            3.2e12,
            1e30,
        ]
        .map(spoken_time)
        .into();
        let expected = [
            "at once",
            "250.0 milliseconds",
            "30.00 seconds",
            "1.50 minutes",
            "16.80 hours",
            "23.15 days",
            "115.7 days",
            "3.37 years",
            "548.6 years",
            "101,471 years",
            "3.2e22 years",
        ];
        assert_eq!(said, expected);
    }

    /// Guards against a chance that rounds to nothing or to certainty.
    #[test]
    fn chances_keep_two_digits_at_both_ends() {
        let said: Vec<String> =
            [0.0, 3e-6, 1e-20, 0.0003, 0.002, 0.0423, 0.5, 0.990, 0.999_92, 0.999_999, 1.0]
                .map(spoken_chance)
                .into();
        let expected = [
            "none",
            "1 in 330,000",
            "1 in 1.0e20",
            "0.030 %",
            "0.20 %",
            "4.2 %",
            "50 %",
            "99.00 %",
            "99.99 %",
            "> 99.99 %",
            "> 99.99 %",
        ];
        assert_eq!(said, expected);
    }

    /// Guards against remedies that a policy file would not take, or would read as another limit.
    #[test]
    fn a_written_limit_reads_back_to_the_same_numbers() {
        let rate = |units, micros| Rate::from_parts(units, micros).unwrap();
        let quotas = [
            Quota::fixed_window(5, Span::from_secs(30), Anchor::Clock),
            Quota::fixed_window(5, Span::from_millis(1_500), Anchor::FirstHit),
            Quota::calendar_window(5, Calendar::Day),
            Quota::calendar_window(5, Calendar::Week),
            Quota::calendar_window(5, Calendar::Month),
            Quota::sliding_log(5, Span::from_secs(86_400)),
            Quota::sliding_counter(0, Span::from_secs(61)),
            Quota::token_bucket(4, rate(1, 10_000_000)),
            Quota::token_bucket(4, rate(16_384, 15_625)),
            Quota::leaky_bucket(rate(1_000, 1), 0),
            Quota::lockout(10, Span::from_secs(1_800), Span::from_secs(3_600)),
        ];
        for quota in quotas.map(Result::unwrap) {
            let text = written(&quota);
            assert_eq!(
                tidegate_policy::parse_quota("LIMIT", &text).map(|(read, _)| read),
                Ok(quota),
                "{text}"
            );
        }
    }
}
