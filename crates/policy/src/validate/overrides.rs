//! Overrides: other terms for one value of a limit's key, until a day.

use tidegate_algorithms::Timestamp;

use super::{terms, values};
use crate::file::{Fields, Node, Report, list};
use crate::key::Key;
use crate::plan::Override;
use crate::values::Values;

/// Reads a limit's overrides, and their index by the key's value.
pub(super) fn read(
    node: &Node,
    key: Option<&Key>,
    report: &mut Report,
) -> Option<(Vec<Override>, Values<usize>)> {
    let items = list(node, "overrides", report)?;
    let part = match key.map(|key| key.parts.as_slice()) {
        Some([part]) => Some(part),
        Some(parts) => {
            let message = format!("an override is for one value, and the key has {} parts", parts.len());
            report.add(node.place, message, "make a limit with a key of one part (a first_of counts as one)");
            None
        }
        None => None,
    };
    let mut reading = part.and_then(|part| values::Reading::of(part, node.place, report));
    let mut overrides = Vec::new();
    for item in items {
        let Some((one, value)) = read_one(item, report) else { continue };
        let index = overrides.len();
        if let (Some(reading), Some(value)) = (&mut reading, value) {
            reading.put(value, index, item.member("value").map_or(item.place, |node| node.place), report);
        }
        overrides.extend(one);
    }
    let index = reading?.finish();
    (overrides.len() == items.len()).then_some((overrides, index))
}

/// Reads one override and its value, which is looked at even where something else is wrong with it.
fn read_one<'n>(node: &'n Node, report: &mut Report) -> Option<(Option<Override>, Option<&'n str>)> {
    let mut fields = Fields::open(node, "the override", report)?;
    let value = fields.need("value", "\"sha256:…\"").and_then(|node| node.text("value", report));
    let until = fields.get("until").map(|node| until(node, report));
    let because = fields.need("because", "contract 81").and_then(|node| node.text("because", report));
    let terms = terms::read(&mut fields, "the override", report);
    fields.finish(&[], report);
    let one = || {
        let until = until.map_or(Some(None), |until| until.map(Some))?;
        Some(Override { value: value?.to_owned(), until, because: because?.to_owned(), terms: terms? })
    };
    Some((one(), value))
}

/// Reads the last day on which something holds, and returns the instant at which it ends: the next midnight in UTC.
fn until(node: &Node, report: &mut Report) -> Option<Timestamp> {
    let Some(given) = node.scalar() else {
        report.add(node.place, format!("until has to be a day, and this is {}", node.kind()), EXAMPLE);
        return None;
    };
    match end_of_day(given) {
        Ok(end) => Some(end),
        Err(remedy) => {
            report.add(node.place, format!("until \"{given}\" is not a day"), remedy);
            None
        }
    }
}

const EXAMPLE: &str = "write year, month and day, such as 2027-03-31";
/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;
/// The last year whose days end in the domain of instants.
const LAST_YEAR: u32 = 2111;

/// Reads a day; says what to write instead of anything else.
fn end_of_day(text: &str) -> Result<Timestamp, String> {
    let day = text.get(..10).filter(|day| date(day).is_some());
    if let Some(day) = day.filter(|day| day.len() < text.len()) {
        return Err(format!("write {day} alone: it holds until that day ends in UTC"));
    }
    let (year, month, day) = date(text).ok_or_else(|| EXAMPLE.to_owned())?;
    if !(1970..=LAST_YEAR).contains(&year) {
        return Err(format!("write a year between 1970 and {LAST_YEAR}, or leave `until` out"));
    }
    let Some(length) = days_in(year, month) else {
        return Err("a year has twelve months; write year, month and day".to_owned());
    };
    if !(1..=length).contains(&day) {
        return Err(format!("that month has {length} days"));
    }
    let end = days_before(year, month).saturating_add(u64::from(day)).saturating_mul(DAY);
    Timestamp::from_micros(end).ok_or_else(|| EXAMPLE.to_owned())
}

/// Reads `YYYY-MM-DD`, whatever the numbers are.
fn date(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text.split('-').zip([4, 2, 2]).map(|(digits, length)| {
        let plain = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| plain)
    });
    let date = (numbers.next()??, numbers.next()??, numbers.next()??);
    (text.len() == 10).then_some(date)
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u32, month: u32) -> Option<u32> {
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => return None,
    })
}

/// Returns the days between the epoch and the first of a month.
fn days_before(year: u32, month: u32) -> u64 {
    let years = (1970..year).map(|year| if is_leap(year) { 366 } else { 365_u64 });
    let months = (1..month).filter_map(|month| days_in(year, month)).map(u64::from);
    years.chain(months).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Timestamp;

    use super::end_of_day;

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
