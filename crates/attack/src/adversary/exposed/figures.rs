//! Figures for the sentences in which adversaries say what they have shown.

use tidegate_algorithms::Span;
use tidegate_review::{float, spoken_chance, spoken_count, spoken_time, whole};

const HOUR: f64 = 3_600e6;

/// Returns so many in a time as a number an hour; zero in no time.
pub(crate) fn each_hour(count: u64, time: Span) -> f64 {
    if time == Span::ZERO { 0.0 } else { float(count) * HOUR / float(time.as_micros()) }
}

/// Writes a count of something: `1 guess`, `3,000 guesses`.
pub(crate) fn counted(count: impl Into<u128>, what: &str) -> String {
    let count = count.into();
    let plural = match what.strip_suffix('y') {
        _ if count == 1 => what.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None if what.ends_with('s') => format!("{what}es"),
        None => format!("{what}s"),
    };
    format!("{} {plural}", spoken_count(count))
}

/// Writes so many in a time as `360 requests an hour`, or as so many a day where that is less than one an hour.
pub(crate) fn often(count: u64, time: Span, what: &str) -> String {
    let an_hour = each_hour(count, time);
    let (often, unit) = if an_hour < 1.0 { (an_hour * 24.0, "a day") } else { (an_hour, "an hour") };
    format!("{} {unit}", counted(whole(often), what))
}

/// Writes a time as a policy does where that is what people would say, `10m`, `24h`, and else in the unit they would use:
/// `1.87 hours` rather than `112m`.
pub(crate) fn lasting(time: Span) -> String {
    const SECOND: u64 = 1_000_000;
    // So many of the larger unit each, in the smaller one: below that the smaller one is as good.
    const FAMILIAR: [(u64, u64); 3] = [(SECOND, 60), (60 * SECOND, 60), (3_600 * SECOND, 24)];
    let micros = time.as_micros();
    let is_told =
        |(unit, most): (u64, u64)| micros.is_multiple_of(unit) && micros < unit.saturating_mul(most);
    let is_of_days = micros > 0 && micros.is_multiple_of(24 * 3_600 * SECOND);
    if is_of_days || FAMILIAR.into_iter().any(is_told) {
        return time.to_string();
    }
    spoken_time(time.as_duration().as_secs_f64())
}

/// Writes a part of a whole as a percentage: `87 %`, and `100 %` only where it is all of it.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if part == whole { "100 %".to_owned() } else { spoken_chance(float(part) / float(whole.max(1))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a rate of another unit than it says.
    #[test]
    fn a_rate_is_told_by_the_hour_or_by_the_day_where_it_is_less_than_one() {
        let day = Span::from_secs(86_400);
        assert_eq!(often(8_643, day, "request"), "360 requests an hour");
        assert_eq!(often(9, day, "request"), "9 requests a day");
        assert_eq!(often(2_160_000, day, "message"), "90,000 messages an hour");
        assert_eq!(often(1, day, "request"), "1 request a day");
        assert_eq!(often(1, Span::ZERO, "request"), "0 requests a day");
    }

    /// Guards against several of what there is one of.
    #[test]
    fn one_is_told_as_one_and_others_as_many() {
        assert_eq!(counted(1_u32, "guess"), "1 guess");
        assert_eq!(counted(3_000_u32, "guess"), "3,000 guesses");
        assert_eq!(counted(2_u64, "address"), "2 addresses");
        assert_eq!(counted(0_u64, "try"), "0 tries");
        assert_eq!(counted(2_u64, "spelling"), "2 spellings");
    }

    /// Guards against times that nobody reads: seconds by the thousand, and minutes that are hours.
    #[test]
    fn times_are_told_in_the_unit_that_people_would_use() {
        let told = |seconds| lasting(Span::from_secs(seconds));
        assert_eq!([5, 59, 60, 600, 3_600].map(told), ["5s", "59s", "1m", "10m", "1h"]);
        assert_eq!([26_260, 112 * 60, 242].map(told), ["7.29 hours", "1.87 hours", "4.03 minutes"]);
        assert_eq!([86_400, 4 * 86_400].map(told), ["1d", "4d"]);
    }

    /// Guards against nearly all that is told as all, and against all that is told as nearly all.
    #[test]
    fn a_share_is_all_only_where_it_is() {
        assert_eq!(share(145, 145), "100 %");
        assert_eq!(share(99_999, 100_000), "> 99.99 %");
        assert_eq!(share(126, 145), "87 %");
        assert_eq!(share(0, 145), "none");
    }
}
