//! Days, weeks and months of the calendar, in UTC.
//!
//! Whole numbers and divisions rounded down only, each below 2^53, so that a script whose numbers are doubles can
//! repeat it. Exact over the domain of instants, 1970 to 2112: a year is counted from March, so that the leap day is its
//! last, and four years are 1,461 days, but for the leap day that 2100 does not have.

use crate::quota::Calendar;

/// Microseconds in a day; UTC as computers count it has no other.
pub(crate) const DAY: u64 = 86_400_000_000;
/// The days from 1 March 1968, where a cycle of four years begins, to the epoch.
const CYCLE_TO_EPOCH: u64 = 671;
/// The days from the epoch to 1 March 2100, before which there is no leap day.
const MARCH_2100: u64 = 47_541;
/// The epoch was a Thursday, three days after a Monday.
const MONDAY_TO_EPOCH: u64 = 3;

/// Returns the end of the day, week or month that holds an instant, all in microseconds since the epoch.
#[inline]
pub(crate) fn end_of(calendar: Calendar, micros: u64) -> u64 {
    let day = whole(micros, DAY);
    let end = match calendar {
        Calendar::Day => day.saturating_add(1),
        Calendar::Week => day.saturating_add(7).saturating_sub(weekday(day)),
        Calendar::Month => next_month(day),
    };
    end.saturating_mul(DAY)
}

/// Returns the days since Monday.
fn weekday(day: u64) -> u64 {
    let days = day.saturating_add(MONDAY_TO_EPOCH);
    days.saturating_sub(whole(days, 7).saturating_mul(7))
}

/// Returns the first day of the next month, in days since the epoch.
fn next_month(day: u64) -> u64 {
    let missing = u64::from(day >= MARCH_2100);
    let day = day.saturating_add(CYCLE_TO_EPOCH).saturating_add(missing);
    let year = whole(day.saturating_mul(4).saturating_add(3), 1_461);
    let into = day.saturating_sub(whole(year.saturating_mul(1_461), 4));
    let month = whole(into.saturating_mul(5).saturating_add(2), 153);
    let next = if month == 11 {
        month_begins(year.saturating_add(1), 0)
    } else {
        month_begins(year, month.saturating_add(1))
    };
    let missing = u64::from(next > MARCH_2100.saturating_add(CYCLE_TO_EPOCH));
    next.saturating_sub(CYCLE_TO_EPOCH).saturating_sub(missing)
}

/// Returns the first day of a month that is counted from March in a year counted from 1968, in days since then, as if
/// 2100 had a leap day.
fn month_begins(year: u64, month: u64) -> u64 {
    let year = whole(year.saturating_mul(1_461), 4);
    year.saturating_add(whole(month.saturating_mul(153).saturating_add(2), 5))
}

/// Returns ⌊a / b⌋ for a `b` that is a constant other than zero.
#[inline]
fn whole(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(0)
}

/// Returns the most days, weeks or months that a closed span of so many microseconds touches.
///
/// A span that touches n of them holds all but the first and the last, and a microsecond of one of these two.
pub(crate) fn most_touched(calendar: Calendar, span: u64) -> u64 {
    let Some(within) = span.checked_sub(1) else { return 1 };
    let days = whole(within, DAY);
    let held = match calendar {
        Calendar::Day => days,
        Calendar::Week => whole(days, 7),
        Calendar::Month => most_months_in(days),
    };
    held.saturating_add(2)
}

/// Returns the fewest days, weeks or months that a closed span of so many microseconds touches.
pub(crate) fn fewest_touched(calendar: Calendar, span: u64) -> u64 {
    let days = whole(span, DAY);
    let held = match calendar {
        Calendar::Day => days,
        Calendar::Week => whole(days, 7),
        Calendar::Month => most_months_over(days),
    };
    held.saturating_add(1)
}

/// The days of each month, January first.
const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const FEBRUARY: usize = 1;

/// Returns the largest number of months in a row whose days can be as few as `days`.
fn most_months_in(days: u64) -> u64 {
    // Years of 365 1/4 days always fit; a dozen months and a few more are then to be tried.
    let mut months = whole(days.saturating_mul(4), 1_461).saturating_mul(12);
    while fewest_days(months.saturating_add(1)) <= days {
        months = months.saturating_add(1);
    }
    months
}

/// Returns the largest number of months in a row whose days are as few as `days`, however long they are.
fn most_months_over(days: u64) -> u64 {
    let mut months = whole(days.saturating_sub(1).saturating_mul(4), 1_461).saturating_mul(12);
    while most_days(months.saturating_add(1)) <= days {
        months = months.saturating_add(1);
    }
    months
}

/// Returns the fewest days that so many months in a row have.
///
/// Seven Februaries without a leap day lie about 2100; every four more have one.
fn fewest_days(months: u64) -> u64 {
    rows(months)
        .map(|(days, februaries)| days.saturating_add(februaries.saturating_sub(7).div_ceil(4)))
        .min()
        .unwrap_or(0)
}

/// Returns the most days that so many months in a row have.
fn most_days(months: u64) -> u64 {
    rows(months).map(|(days, februaries)| days.saturating_add(februaries.div_ceil(4))).max().unwrap_or(0)
}

/// Returns the days, without leap days, and the Februaries of so many months in a row, for each month to begin with.
fn rows(months: u64) -> impl Iterator<Item = (u64, u64)> {
    let years = whole(months, 12);
    let rest = usize::try_from(months.saturating_sub(years.saturating_mul(12))).unwrap_or(0);
    (0..MONTHS.len()).map(move |first| {
        let row = MONTHS.iter().cycle().skip(first).take(rest);
        let last = first.saturating_add(rest);
        let february = (first..last).any(|month| month.checked_rem(12) == Some(FEBRUARY));
        let days = row.fold(years.saturating_mul(365), |days, month| days.saturating_add(*month));
        (days, years.saturating_add(u64::from(february)))
    })
}
