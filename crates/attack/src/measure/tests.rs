//! Every measure against plain counting, and the ends of spans by hand.

mod beyond;
mod bounds;
mod naive;
mod seed;

use std::net::{IpAddr, Ipv4Addr};

use super::curve::MOST_POINTS;
use super::*;
use crate::act::{Outcome, Who};

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn at(micros: u64) -> Timestamp {
    Timestamp::saturating_from_micros(micros)
}

fn micros(spans: &[u64]) -> Vec<Span> {
    spans.iter().copied().map(Span::from_micros).collect()
}

/// An attack from 1,000 on, over 1,000 microseconds.
fn wanted(spans: &[u64]) -> Wanted {
    Wanted {
        start: at(1_000),
        length: Span::from_micros(1_000),
        spans: micros(spans),
        first: micros(spans),
        rate: LongRun { units: 1, micros: 10 },
        window: Span::ZERO,
        is_first: true,
        guesses: Vec::new(),
        guess: None,
    }
}

/// A request of the adversary's that passed, with one guess at subject 0.
fn passed(micros: u64) -> Event {
    Event {
        at: at(micros),
        seat: 0,
        role: Role::Adversary,
        who: Who::new(0, HOME),
        guesses: 1,
        outcome: Outcome::Failure,
        admitted: true,
        degraded: false,
        delay: Span::ZERO,
    }
}

fn measured(wanted: Wanted, events: &[Event]) -> Measured {
    let mut measure = Measure::new(wanted);
    for event in events {
        measure.event(event);
    }
    measure.closed(&Exposure::default())
}

fn seen(spans: &[InSpan]) -> Vec<u64> {
    spans.iter().map(|span| span.seen).collect()
}

/// Guards against an end that is counted on the wrong side: a request exactly W after another is not in one half-open W with
/// it, but it is in the first closed W.
#[test]
fn peaks_are_half_open_and_times_from_the_first_request_are_closed() {
    let events = [1_100, 1_100, 1_130, 1_131].map(passed);
    let all = measured(wanted(&[0, 1, 30, 31, 32]), &events);
    assert_eq!(seen(&all.peaks), [0, 2, 2, 3, 4]);
    assert_eq!(seen(&all.first), [2, 2, 3, 4, 4]);
    assert_eq!((all.admitted, all.begun, all.per_day() > 0.0), (4, 100, false));
}

/// Guards against a first request that has to pass before anything is counted, and against refusals in a peak.
#[test]
fn times_count_from_the_first_request_even_if_it_is_refused() {
    let refused = Event { admitted: false, ..passed(1_010) };
    let all = measured(wanted(&[20]), &[refused, passed(1_025), passed(1_035)]);
    assert_eq!((seen(&all.peaks), seen(&all.first)), (vec![2], vec![1]));
    assert_eq!((all.requests, all.refused(), all.begun), (3, 1, 10));
}

/// Guards against a fault of ours that is none: what a lost store let through is in no bound.
#[test]
fn requests_decided_without_the_store_are_in_no_span() {
    let lost = Event { degraded: true, ..passed(1_101) };
    let all = measured(wanted(&[20]), &[passed(1_100), lost, lost, passed(1_102)]);
    assert_eq!((seen(&all.peaks), seen(&all.first), all.envelope), (vec![2], vec![2], 2));
    assert_eq!((all.admitted, all.without_store, all.admitted_with_store(), all.guesses), (4, 2, 2, 4));
}

#[test]
fn the_half_begins_with_its_first_instant_and_the_attack_ends_before_its_end() {
    let all = measured(wanted(&[2_000]), &[1_499, 1_500, 1_999, 2_000].map(passed));
    assert_eq!((all.sustained, all.admitted, seen(&all.peaks)), ((2, 500), 3, vec![3]));
}

/// Guards against an attack that was cut off in its first tenth and is said to have sustained nothing.
#[test]
fn an_attack_that_ends_early_is_measured_over_what_was_played_of_it() {
    let mut measure = Measure::new(wanted(&[50, 200]));
    for micros in [1_000, 1_010, 1_050, 1_060, 1_100] {
        measure.event(&passed(micros));
    }
    measure.ended(at(1_100));
    let all = measure.closed(&Exposure::default());
    // Three passed from the fiftieth microsecond on; what passes in 200 was not seen to its end.
    assert_eq!((all.sustained, all.sustained_guesses, all.ended), ((3, 50), 3, Some(100)));
    assert_eq!((seen(&all.peaks), seen(&all.first)), (vec![2, 5], vec![3]));
    assert_eq!(all.went_on(Span::from_micros(1_000)), Span::from_micros(100));
}

#[test]
fn an_envelope_is_rounded_up_to_whole_requests() {
    // At one per ten: two at once, and a third seven later, of which seven tenths have drained.
    assert_eq!(measured(wanted(&[]), &[1_000, 1_000].map(passed)).envelope, 2);
    assert_eq!(measured(wanted(&[]), &[1_000, 1_000, 1_007].map(passed)).envelope, 3);
    assert_eq!(measured(wanted(&[]), &[1_000, 1_000, 1_010].map(passed)).envelope, 2);
    assert_eq!(measured(wanted(&[]), &[1_000, 1_500, 1_990].map(passed)).envelope, 1);
}

/// Guards against an instant that is skipped by a request with several guesses.
#[test]
fn a_request_with_several_guesses_makes_all_of_them_at_its_instant() {
    let batch = |micros, guesses| Event { guesses, ..passed(micros) };
    let guesses = vec![1, 2, 5, 6, 9];
    let all =
        measured(Wanted { guesses, ..wanted(&[100]) }, &[batch(1_010, 0), batch(1_020, 5), batch(1_030, 3)]);
    assert_eq!(all.times, [Some(10), Some(10), Some(10), Some(20), None]);
    assert_eq!((all.admitted, all.guesses, seen(&all.peaks)), (3, 8, vec![3]));
}

/// Guards against memory that grows with an attack: nothing is kept that has left the longest span, nor what can never
/// leave it any more.
#[test]
fn what_is_kept_is_bounded_by_what_passes_in_the_longest_span() {
    let length = Span::from_micros(2_000_000);
    let spans = micros(&[10, 100, 5_000, 2_000_000, 90_000_000]);
    let mut measure = Measure::new(Wanted { length, spans, ..wanted(&[]) });
    let mut kept = 0;
    for index in 0..200_000_u32 {
        // Two at each instant, which are one entry.
        let event = Event { who: Who::new(index, HOME), ..passed(1_000 + u64::from(index / 2) * 20) };
        measure.event(&event);
        kept = kept.max(measure.fullest.keeps());
    }
    assert_eq!(kept, 250, "5,000 microseconds hold 250 instants");
    let points = measure.curve.points().count();
    assert!((MOST_POINTS / 2..=MOST_POINTS).contains(&points), "{points}");
    let all = measure.closed(&Exposure::default());
    assert_eq!(seen(&all.peaks), [2, 10, 500, 200_000, 200_000]);
    assert_eq!(all.subjects, 200_000);
}

/// Guards against a drawing that leaves out where an attack begins or ends, or shows a count that never was.
#[test]
fn a_curve_is_thinned_to_points_that_were_and_keeps_the_first_and_the_last() {
    for instants in [1_u64, 2, 1_998, 1_999, 2_000, 2_001, 5_000, 33_333] {
        let length = Span::from_micros(1_000_000);
        let mut measure = Measure::new(Wanted { length, ..wanted(&[]) });
        for index in 0..instants {
            measure.event(&passed(1_003 + index * 7));
        }
        let all = measure.closed(&Exposure::default());
        assert!(all.curve.len() <= MOST_POINTS && all.curve.len() as u64 >= instants.min(1_000));
        assert_eq!(all.curve.first(), Some(&(3, 1)));
        assert_eq!(all.curve.last(), Some(&(3 + (instants - 1) * 7, instants)));
        assert!(all.curve.iter().all(|(micros, count)| *micros == 3 + (count - 1) * 7));
        assert!(all.curve.is_sorted_by(|a, b| a < b));
    }
}

/// Guards the half of an attack that was cut off after more instants than are kept: it begins where the count is known.
#[test]
fn an_attack_that_ends_early_is_halved_at_an_instant_that_is_known() {
    let length = Span::from_micros(1_000_000_000);
    let mut measure = Measure::new(Wanted { length, ..wanted(&[]) });
    for index in 0..10_000 {
        measure.event(&passed(1_000 + index * 10));
    }
    measure.ended(at(101_000));
    let (count, span) = measure.closed(&Exposure::default()).sustained;
    assert!((50_000..50_100).contains(&span), "{span}");
    assert_eq!(count, span / 10 - 1, "one each ten microseconds, and none at the end");
}

#[test]
fn people_are_shut_out_when_nothing_of_theirs_ever_passes() {
    let person = |micros, seat, admitted| Event { role: Role::Person, seat, admitted, ..passed(micros) };
    let all = measured(
        wanted(&[100]),
        &[person(1_000, 3, false), person(1_001, 4, false), person(1_002, 3, true), person(1_003, 4, false)],
    );
    assert_eq!(all.people, PeopleSeen { tries: 4, denied: 3, people: 2, shut_out: 1 });
    assert_eq!((all.people.share_denied(), all.people.share_shut_out()), (Some(0.75), Some(0.5)));
    assert_eq!((all.admitted, all.subjects, seen(&all.peaks)), (0, 0, vec![0]));
    assert_eq!(PeopleSeen::default().share_denied(), None);
}
