//! The calendar's windows against a count of days, over the whole domain.

use proptest::prelude::*;
use tidegate_algorithms::{Ask, Calendar, Quota, Span, State, Timestamp, decide, keep_until};

use crate::days::{DAY, beginnings, date};

const ALL: [Calendar; 3] = [Calendar::Day, Calendar::Week, Calendar::Month];

/// Returns the end of the window that a first unit at an instant goes to.
fn end(calendar: Calendar, at: u64) -> u64 {
    let quota = Quota::calendar_window(1, calendar).unwrap();
    let now = Timestamp::from_micros(at).unwrap();
    match decide(&quota, None, Ask::ONE, now).change {
        tidegate_algorithms::Change::Put(State::ClockWindow(window)) => window.ends_at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_day_week_and_month_of_the_domain_ends_where_the_next_begins() {
    for calendar in ALL {
        let beginnings = beginnings(calendar);
        let pairs = beginnings.iter().zip(&beginnings[1..]).filter(|(_, next)| **next <= 1 << 52);
        let mut held = 0;
        for (begins, next) in pairs {
            for at in [*begins, begins + 1, begins.midpoint(*next), next - 1] {
                assert_eq!(end(calendar, at), *next, "{calendar:?} of {at}");
            }
            held += 1;
        }
        assert!(held > 1_700, "only {held} of {calendar:?}");
    }
    // The last instant of the domain lies in September 2112.
    assert_eq!(end(Calendar::Month, Timestamp::MAX.as_micros()), date(2112, 10, 1));
}

#[test]
fn leap_days_are_where_they_are_and_2100_has_none() {
    for (year, days) in [(1972, 29), (1999, 28), (2000, 29), (2026, 28), (2028, 29), (2100, 28), (2104, 29)] {
        let february = date(year, 2, 1);
        assert_eq!(end(Calendar::Month, february) - february, days * DAY, "February {year}");
    }
    // Sunday 29 November 2026, and the Monday after.
    assert_eq!(end(Calendar::Week, date(2026, 11, 29)), date(2026, 11, 30));
    assert_eq!(end(Calendar::Week, date(2026, 11, 30)), date(2026, 12, 7));
}

/// The most and the fewest windows that a closed span touches, by trying where it may begin.
fn touched(beginnings: &[u64], span: u64) -> (usize, usize) {
    let at = |at: u64| beginnings.partition_point(|begins| *begins <= at) - 1;
    let last = beginnings[beginnings.len() - 1] - 1;
    let starts = beginnings[1..].iter().flat_map(|begins| [begins - 1, *begins]);
    let counts = starts.filter(|start| start + span <= last).map(|start| at(start + span) - at(start) + 1);
    counts.fold((0, usize::MAX), |(most, least), count| (most.max(count), least.min(count)))
}

#[test]
fn a_span_touches_as_many_windows_as_the_calendar_has_it() {
    let mut compared = 0;
    for calendar in ALL {
        let mut beginnings = beginnings(calendar);
        let quota = Quota::calendar_window(3, calendar).unwrap();
        // The lengths of a few months, of years and of lifetimes, each and a microsecond about it.
        let mut days: Vec<u64> =
            (0..130).chain((130..1_100).step_by(7)).chain((1_100..45_000).step_by(977)).collect();
        if calendar != Calendar::Month {
            beginnings.truncate(500);
            days.retain(|day| *day < 300);
        }
        for span in days.into_iter().flat_map(|day| [(day * DAY).saturating_sub(1), day * DAY, day * DAY + 1])
        {
            let (most, least) = touched(&beginnings, span);
            let (closed, open) = (Span::from_micros(span), Span::from_micros(span + 1));
            assert_eq!(
                quota.most_in_closed(closed),
                3 * u128::try_from(most).unwrap(),
                "{calendar:?} {span}"
            );
            assert_eq!(quota.most_in_half_open(open), quota.most_in_closed(closed));
            assert_eq!(quota.most_from_idle(closed), quota.most_in_closed(closed));
            assert_eq!(
                quota.requests_to_deny(closed),
                Some(3 * u64::try_from(least).unwrap()),
                "{calendar:?} {span}"
            );
            compared += 1;
        }
    }
    assert!(compared > 1_400, "only {compared} spans");
}

#[test]
fn the_long_run_of_months_is_theirs_over_four_centuries() {
    let run = Quota::calendar_window(7, Calendar::Month).unwrap().long_run();
    assert_eq!((run.units, run.micros * 4_800), (7, 146_097 * DAY));
    // A hundred years of the domain come within a unit of it.
    let century = Span::from_micros(date(2070, 1, 1) - date(1970, 1, 1) - 1);
    let most = Quota::calendar_window(1, Calendar::Month).unwrap().most_in_closed(century);
    assert!((1_200..=1_202).contains(&most), "{most}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_refused_unit_may_come_again_when_the_next_window_begins(at in 0..(1_u64 << 52) - 32 * DAY) {
        for calendar in ALL {
            let quota = Quota::calendar_window(1, calendar).unwrap();
            let now = Timestamp::from_micros(at).unwrap();
            let mut state = None;
            decide(&quota, None, Ask::ONE, now).change.apply(&mut state);
            let refused = decide(&quota, state.as_ref(), Ask::ONE, now).decision;
            let end = crate::days::end_of(calendar, at);
            prop_assert_eq!(refused.retry().and_then(tidegate_algorithms::Retry::wait), Some(Span::from_micros(end - at)));
            prop_assert_eq!(keep_until(&quota, &state.unwrap(), now).as_micros(), end);
        }
    }
}
