//! One seed is one course of events.

use std::sync::Arc;

use tidegate::Quota;
use tidegate_algorithms::{Anchor, Span};
use tidegate_attack::act::{Act, Actor, Answer, Chance, Seat, Who};
use tidegate_attack::adversary::{Aim, Play, adversaries, home, named};
use tidegate_attack::simulate::{Course, Event, simulate};
use tidegate_attack::target::Bare;
use tidegate_attack::world::World;

use crate::played::{Chosen, Limits, MONDAY, events, play};

fn jittery() -> Play {
    Play { jitter: Span::from_millis(700), ..play(MONDAY + 7, 300_000_000) }
}

fn quotas() -> [Quota; 3] {
    let span = Span::from_secs(30);
    [
        Quota::fixed_window(5, span, Anchor::Clock).unwrap(),
        Quota::fixed_window(5, span, Anchor::FirstHit).unwrap(),
        Quota::sliding_counter(5, span).unwrap(),
    ]
}

/// Guards against chance that comes from anywhere but the seed, such as the order in which a table is walked.
#[test]
fn the_same_seed_gives_the_same_events_and_another_one_others() {
    let (mut compared, mut differ) = (0, 0);
    for quota in quotas() {
        let limits = Limits(vec![(quota, 1)]);
        for adversary in adversaries().iter().filter(|adversary| adversary.fits(&limits.aim(0))) {
            let course = |seed| {
                let (mut course, chosen) = (Vec::new(), Chosen { seed, most_requests: 2_000 });
                events((*adversary, &limits, 0), &jittery(), &chosen, &mut |event| course.push(*event));
                course
            };
            let one = course(1);
            assert_eq!(one, course(1), "{} against {quota:?}", adversary.name());
            compared += 1;
            differ += usize::from(one != course(2));
        }
    }
    assert!(compared > 10, "only {compared} adversaries were compared");
    assert!(
        differ * 2 > compared,
        "only {differ} of {compared} depend on the seed, though their requests have jitter"
    );
}

/// Somebody beside the adversary, who asks about himself.
struct Beside(u64);

impl Actor for Beside {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        self.0 += 3_333_333;
        let at = tidegate_algorithms::Timestamp::from_micros(self.0)?;
        Some(Act::one(at, Who::new(77, home(77))))
    }
}

/// Guards against a common stream of chance, by which one more person would change what everybody else does.
#[test]
fn one_seat_more_changes_nothing_for_the_others() {
    let quota = Quota::fixed_window(5, Span::from_secs(30), Anchor::Clock).unwrap();
    let play = jittery();
    let course = |beside: Vec<Seat>| {
        let mut world = World::new(Arc::new(Bare::of(quota)), Aim::at(quota).setting).unwrap();
        let mut seats = named("boundary-straddler").unwrap().seats(&Aim::at(quota), &play);
        let own = seats.len();
        seats.extend(beside);
        let course = Course { until: play.end(), most_requests: 10_000, seed: 5 };
        let (mut events, mut others) = (Vec::<Event>::new(), 0);
        simulate(&mut world, seats, Vec::new(), course, &mut |event| {
            if event.seat < own {
                events.push(*event);
            } else {
                others += 1;
            }
        });
        (events, others)
    };
    let (alone, none) = course(Vec::new());
    let (beside, others) = course(vec![Seat::person(Beside(MONDAY)).with_jitter(Span::from_secs(1))]);
    assert_eq!((none, others > 50), (0, true));
    assert!(alone.len() > 40, "only {} requests", alone.len());
    assert_eq!(alone, beside);
}
