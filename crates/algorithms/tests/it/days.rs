//! The calendar by counting, a month at a time: shares nothing with the crate's arithmetic.

use tidegate_algorithms::Calendar;

pub(crate) const DAY: u64 = 86_400_000_000;

fn days_in(year: u64, month: u64) -> u64 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The first days of the months from January 1970 to December 2112, in days since the epoch.
pub(crate) fn months() -> impl Iterator<Item = u64> {
    let months = (1970..=2112).flat_map(|year| (1..=12).map(move |month| (year, month)));
    months.scan(0, |day, (year, month)| {
        let first = *day;
        *day += days_in(year, month);
        Some(first)
    })
}

/// Returns the first instant of a date.
pub(crate) fn date(year: u64, month: u64, day: u64) -> u64 {
    let months = usize::try_from((year - 1970) * 12 + month - 1).unwrap();
    (self::months().nth(months).unwrap() + day - 1) * DAY
}

/// Returns the beginnings, in microseconds, of all days, weeks or months of the domain, the first of them 0 although a
/// week began before.
pub(crate) fn beginnings(calendar: Calendar) -> Vec<u64> {
    let last = (1 << 52) / DAY + 40;
    let days: Vec<u64> = match calendar {
        Calendar::Day => (0..last).collect(),
        // 5 January 1970 was a Monday.
        Calendar::Week => std::iter::once(0).chain((4..last).step_by(7)).collect(),
        Calendar::Month => months().collect(),
    };
    days.into_iter().map(|day| day * DAY).collect()
}

/// Returns the end of the day, week or month that holds an instant.
pub(crate) fn end_of(calendar: Calendar, micros: u64) -> u64 {
    match calendar {
        Calendar::Day => micros - micros % DAY + DAY,
        Calendar::Week => (0..)
            .map(|week| (4 + 7 * week) * DAY)
            .nth(usize::try_from((micros / DAY + 3) / 7).unwrap())
            .unwrap(),
        Calendar::Month => months().map(|day| day * DAY).find(|begins| *begins > micros).unwrap(),
    }
}
