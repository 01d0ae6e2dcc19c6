//! People as they come, and what they do when they are refused.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rand::SeedableRng;
use tidegate::Quota;

use super::*;
use crate::act::Role;
use crate::adversary::{OWN, address};
use crate::simulate::{Course, Event, simulate};
use crate::target::Bare;
use crate::world::{Setting, World};

const START: Timestamp = Timestamp::saturating_from_micros(2_209_075_200_000_000);

fn people() -> People {
    let end = START.saturating_add(Span::from_secs(10_000));
    People {
        count: 100,
        first: 0,
        every: Span::from_secs(100),
        typo: 0.0,
        tries: 1,
        think: Span::from_secs(5),
        share: 1,
        start: START,
        end,
    }
}

/// Plays people alone at a limit that refuses nobody.
fn played(people: &People, seed: u64) -> Vec<Event> {
    let quota = Quota::fixed_window(1 << 20, Span::from_secs(60), tidegate::Anchor::Clock).unwrap();
    let target = std::sync::Arc::new(Bare::of(quota));
    let mut world = World::new(target, Setting::default()).unwrap();
    let course = Course { until: people.end, most_requests: u64::MAX, seed };
    let mut events = Vec::new();
    simulate(&mut world, people.seats(), Vec::new(), course, &mut |event| events.push(*event));
    events
}

/// Guards against people who come more or less often than said, or in step: 10,000 visits are expected, with a standard
/// deviation of 100, and so is the variance of how many come in a second, which is its mean.
#[test]
fn people_come_as_often_as_said_and_by_a_poisson_process() {
    let events = played(&people(), 1);
    assert!((9_700..=10_300).contains(&events.len()), "{}", events.len());
    assert!(events.iter().all(|event| event.role == Role::Person && event.admitted));
    let mut seconds = vec![0_u32; 10_000];
    for event in &events {
        let second = event.at.saturating_since(START).as_micros() / 1_000_000;
        seconds[usize::try_from(second).unwrap()] += 1;
    }
    let mean = f64::from(u32::try_from(events.len()).unwrap()) / 10_000.0;
    let squares: f64 = seconds.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum();
    let dispersion = squares / 10_000.0 / mean;
    assert!((0.95..1.05).contains(&dispersion), "{dispersion}");
}

/// Guards against a course of events that one seed does not fix, and against a seed that changes nothing.
#[test]
fn a_seed_is_one_course_of_visits() {
    let one = People { typo: 0.3, tries: 3, ..people() };
    assert_eq!(played(&one, 7), played(&one, 7));
    assert_ne!(played(&one, 7), played(&one, 8));
}

/// Guards against people who share a subject with each other or with the adversary, an address with him, or more addresses
/// than they are said to.
#[test]
fn everybody_has_his_own_subject_and_ten_share_an_address() {
    let events = played(&People { share: 10, ..people() }, 1);
    let subjects: BTreeSet<u32> = events.iter().map(|event| event.who.subject).collect();
    let addresses: BTreeSet<IpAddr> = events.iter().map(|event| event.who.address).collect();
    assert_eq!((subjects.len(), addresses.len()), (100, 10));
    assert!(subjects.iter().all(|subject| *subject < OWN));
    assert!((0..200_000).all(|index| !addresses.contains(&address(index))));
    let sessions: BTreeSet<u32> = events.iter().map(|event| event.who.session).collect();
    assert_eq!(sessions.len(), events.len(), "every visit is a session of its own");
}

/// Guards against typos that come more or less often than said: of 10,000 first tries 3,000 are wrong, give or take 46.
#[test]
fn a_typo_is_as_likely_as_said_and_tried_again_until_tries_are_used() {
    let events = played(&People { typo: 0.3, tries: 2, ..people() }, 1);
    let wrong = events.iter().filter(|event| event.outcome == Outcome::Failure).count();
    // Of 1.3 tries a visit 0.3 and 0.09 are wrong.
    let thousandths = wrong * 1_000 / events.len();
    assert!((285..315).contains(&thousandths), "{thousandths}");
    let always = played(&People { typo: 1.0, tries: 3, ..people() }, 1);
    let visits: BTreeSet<u32> = always.iter().map(|event| event.who.session).collect();
    let cut_short = visits.len() * 3 - always.len();
    assert!(cut_short < visits.len() / 50, "{cut_short} tries of visits at the very end are not made");
}

/// Guards against people who heed no `Retry-After`, and against some who never give up.
#[test]
fn a_refused_try_is_made_again_when_the_refusal_says_until_tries_are_used() {
    let one = People { count: 1, tries: 3, ..people() };
    let mut seat = one.seats().remove(0);
    let mut chance = Chance::seed_from_u64(1);
    let first = seat.actor.next(None, &mut chance).unwrap();
    let refused =
        |act: &Act, retry_after| Answer { at: act.at, admitted: 0, refused: 1, retry_after, degraded: false };
    let wait = Span::from_secs(17);
    let second = seat.actor.next(Some(&refused(&first, Some(wait))), &mut chance).unwrap();
    assert_eq!(second.at, first.at.saturating_add(wait));
    let third = seat.actor.next(Some(&refused(&second, None)), &mut chance).unwrap();
    assert!(third.at > second.at, "untold, he pauses for a while");
    let next = seat.actor.next(Some(&refused(&third, Some(wait))), &mut chance).unwrap();
    assert_eq!(third.who, first.who);
    assert_ne!(next.who.session, first.who.session, "he gave up, and comes another time");
}

/// Guards against people who wait for the rest of the day because a refusal says so, and are then hardly ever seen refused:
/// they come again when they would have anyway.
#[test]
fn a_refusal_that_says_to_wait_too_long_ends_the_visit() {
    let one = People { count: 1, tries: 3, ..people() };
    let next = |refused, retry_after| {
        let mut seat = one.seats().remove(0);
        let mut chance = Chance::seed_from_u64(1);
        let at = seat.actor.next(None, &mut chance).unwrap().at;
        let answer = Answer { at, admitted: 1 - refused, refused, retry_after, degraded: false };
        seat.actor.next(Some(&answer), &mut chance).unwrap()
    };
    let too_long = Span::from_micros(one.every.as_micros() + 1);
    assert_eq!(next(1, Some(too_long)), next(0, None));
    assert_ne!(next(1, Some(one.every)), next(0, None));
}
