//! Days and instants as people write them, in UTC.

use tidegate_algorithms::Timestamp;

/// What to write for a day.
pub(crate) const DAY_EXAMPLE: &str = "write year, month and day, such as 2027-03-31";
/// Seconds of a day.
const DAY: u64 = 86_400;
/// The last year whose days end in the domain of instants.
const LAST_YEAR: u64 = 2111;

/// A day as it is written, whatever its numbers are.
#[derive(Debug, Clone, Copy)]
struct Date {
    year: u64,
    month: u64,
    day: u64,
}

/// Reads an instant between 1970 and 2112, as `2027-01-31T12:00:00Z`, or a date for its midnight, in UTC.
pub fn parse_instant(text: &str) -> Option<Timestamp> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time.strip_suffix('Z')?)),
        None => (text, None),
    };
    let day = Date::read(date).filter(|day| day.fault().is_none())?;
    let [hour, minute, second] = time.map_or(Some([0; 3]), |time| numbers(time, ':', [2, 2, 2]))?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    instant(day.seconds().saturating_add(hour * 3_600 + minute * 60 + second))
}

/// Reads a day and returns the instant at which it ends, the next midnight; says what to write instead of anything else.
pub(crate) fn end_of_day(text: &str) -> Result<Timestamp, String> {
    let date = text.get(..10).filter(|date| date.len() < text.len() && Date::read(date).is_some());
    if let Some(date) = date {
        return Err(format!("write {date} alone: it holds until that day ends in UTC"));
    }
    let day = Date::read(text).ok_or_else(|| DAY_EXAMPLE.to_owned())?;
    if let Some(fault) = day.fault() {
        return Err(fault);
    }
    instant(day.seconds().saturating_add(DAY)).ok_or_else(|| DAY_EXAMPLE.to_owned())
}

/// Writes the day that ends at an instant.
pub(crate) fn day_before(instant: Timestamp) -> String {
    let mut left = (instant.as_micros() / 1_000_000 / DAY).saturating_sub(1);
    let (mut year, mut month) = (1970, 1);
    while let Some(rest) = left.checked_sub(days_of_month(year, month)) {
        left = rest;
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

fn instant(seconds: u64) -> Option<Timestamp> {
    Timestamp::from_micros(seconds.checked_mul(1_000_000)?)
}

impl Date {
    /// Reads `YYYY-MM-DD`.
    fn read(text: &str) -> Option<Self> {
        let [year, month, day] = numbers(text, '-', [4, 2, 2])?;
        Some(Self { year, month, day })
    }

    /// Returns why the calendar has no such day, or this program does not.
    fn fault(self) -> Option<String> {
        if !(1970..=LAST_YEAR).contains(&self.year) {
            return Some(format!("write a year between 1970 and {LAST_YEAR}, or leave `until` out"));
        }
        if !(1..=12).contains(&self.month) {
            return Some("a year has twelve months; write year, month and day".to_owned());
        }
        let length = days_of_month(self.year, self.month);
        (!(1..=length).contains(&self.day)).then(|| format!("that month has {length} days"))
    }

    /// Returns the seconds from the epoch to its beginning, for a day without fault.
    fn seconds(self) -> u64 {
        let years = (1970..self.year).map(|year| if is_leap(year) { 366 } else { 365 });
        let months = (1..self.month).map(|month| days_of_month(self.year, month));
        let before: u64 = years.chain(months).sum();
        before.saturating_add(self.day).saturating_sub(1).saturating_mul(DAY)
    }
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

    #[test]
    fn a_day_is_written_as_it_was_read() {
        for day in ["1970-01-01", "2000-02-29", "2027-01-31", "2027-12-31", "2111-12-30"] {
            assert_eq!(day_before(end_of_day(day).unwrap()), day);
        }
    }

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

    /// Guards the end of an override: the midnight after its last day, in leap years as well.
    #[test]
    fn a_day_ends_at_the_next_midnight() {
        for (day, end) in [
            ("1970-01-01", 86_400),
            ("2027-03-31", 1_806_537_600),
            ("2028-02-29", 1_835_481_600),
            ("2000-02-29", 951_868_800),
            ("2099-12-31", 4_102_444_800),
            ("2111-12-31", 4_481_049_600),
        ] {
            assert_eq!(end_of_day(day).map(Timestamp::as_micros), Ok(end * 1_000_000), "{day}");
        }
    }

    /// Guards against a slip in a day that is taken for another day.
    #[test]
    fn what_is_no_day_is_refused_with_what_to_write() {
        for (text, remedy) in [
            ("2027-02-29", "that month has 28 days"),
            ("2100-02-29", "that month has 28 days"),
            ("2027-04-31", "that month has 30 days"),
            ("2027-04-00", "that month has 30 days"),
            ("2027-13-01", "a year has twelve months"),
            ("2027-3-31", "such as 2027-03-31"),
            ("31.03.2027", "such as 2027-03-31"),
            ("03/31/2027", "such as 2027-03-31"),
            ("20270331", "such as 2027-03-31"),
            ("2027-03-31T12:00:00Z", "write 2027-03-31 alone"),
            ("2027-03-31 12:00", "write 2027-03-31 alone"),
            ("9999-12-31", "between 1970 and 2111"),
            ("never", "such as 2027-03-31"),
            ("2027-é3-31", "such as 2027-03-31"),
        ] {
            let error = end_of_day(text).unwrap_err();
            assert!(error.contains(remedy), "{text}: {error}");
        }
    }
}
