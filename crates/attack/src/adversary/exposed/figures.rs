//! Figures for the sentences in which adversaries say what they have shown.

use tidegate_algorithms::Span;
use tidegate_review::{float, spoken_chance, spoken_count, whole};

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

    /// Guards against nearly all that is told as all, and against all that is told as nearly all.
    #[test]
    fn a_share_is_all_only_where_it_is() {
        assert_eq!(share(145, 145), "100 %");
        assert_eq!(share(99_999, 100_000), "> 99.99 %");
        assert_eq!(share(126, 145), "87 %");
        assert_eq!(share(0, 145), "none");
    }
}
