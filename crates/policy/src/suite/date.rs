//! Instants as people write them: `2027-01-31T12:00:00Z`, or a date for its midnight, in UTC.

use tidegate_algorithms::Timestamp;

use crate::file::{Node, Report};

const EXAMPLE: &str = "write a date, such as 2027-01-31, or an instant in UTC, such as 2027-01-31T12:00:00Z";

/// Reads an instant.
pub(super) fn instant(node: &Node, what: &str, report: &mut Report) -> Option<Timestamp> {
    let Some(text) = node.scalar() else {
        report.add(node.place, format!("{what} has to be an instant, and this is {}", node.kind()), EXAMPLE);
        return None;
    };
    let instant = parse_instant(text);
    if instant.is_none() {
        report.add(node.place, format!("{what} \"{text}\" is not an instant between 1970 and 2112"), EXAMPLE);
    }
    instant
}

/// Reads an instant between 1970 and 2112, as `2027-01-31T12:00:00Z`, or a date for its midnight, in UTC.
pub fn parse_instant(text: &str) -> Option<Timestamp> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time.strip_suffix('Z')?)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = time.map_or(Some([0; 3]), |time| numbers(time, ':', [2, 2, 2]))?;
    let in_range = year >= 1970
        && (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !in_range {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let months: u64 = (1..month).map(|month| days_of_month(year, month)).sum();
    let days = years.checked_add(months)?.checked_add(day)?.checked_sub(1)?;
    let hours = days.checked_mul(24)?.checked_add(hour)?;
    let seconds = hours.checked_mul(60)?.checked_add(minute)?.checked_mul(60)?.checked_add(second)?;
    Timestamp::from_micros(seconds.checked_mul(1_000_000)?)
}

/// Reads three numbers of so many digits, one mark between each.
fn numbers(text: &str, mark: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(mark);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts
            .next()
            .filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards the calendar: a day too many or too few shifts every calendar window that is tested.
    #[test]
    fn instants_are_those_of_the_calendar() {
        let table = [
            ("1970-01-01", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2027-01-31T12:00:00Z", 1_801_396_800),
            ("2100-03-01", 4_107_542_400),
        ];
        for (text, seconds) in table {
            assert_eq!(parse_instant(text).map(Timestamp::as_micros), Some(seconds * 1_000_000), "{text}");
        }
        for text in [
            "2027-02-29",
            "2100-02-29",
            "1969-12-31",
            "2027-1-1",
            "2027-01-01T00:00:00",
            "2027-01-01T24:00:00Z",
            "2113-01-01",
            "+027-01-01",
        ] {
            assert_eq!(parse_instant(text), None, "{text}");
        }
    }
}
