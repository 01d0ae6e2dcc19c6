//! How attacks go on after they were played.

use std::sync::Arc;

use tidegate::{Anchor, Quota, Rate};

use super::*;
use crate::adversary::{Aim, Means, Play, adversaries, named};
use crate::stage::Stage;
use crate::target::Bare;

const MONDAY: u64 = 1_800_000_000_000_000;

fn played(quota: Quota, adversary: &str, length: Span) -> Measured {
    let stage = Stage { most_requests: 50_000, ..Stage::new(Arc::new(Bare::of(quota)), 1, None) };
    let play = Play { start: at(MONDAY), length, jitter: Span::ZERO, means: Means::default() };
    stage.play(named(adversary).unwrap(), &Aim::at(quota), &play).unwrap()
}

/// Guards against a half of a day that holds thirteen windows, told as twenty-six a day: whoever does what at one key, no more
/// goes on than its limit lets through.
#[test]
fn nobody_goes_on_faster_than_the_closed_form_of_what_he_touched() {
    let hour = Span::from_secs(3_600);
    let length = Span::from_micros(DAY.as_micros() + 1);
    let mut lowered = 0;
    for quota in [
        Quota::sliding_log(9, hour).unwrap(),
        Quota::fixed_window(9, hour, Anchor::Clock).unwrap(),
        Quota::fixed_window(9, hour, Anchor::FirstHit).unwrap(),
        Quota::sliding_counter(9, hour).unwrap(),
        Quota::sliding_log(2, Span::from_secs(86_400)).unwrap(),
        Quota::token_bucket(9, Rate::new(1, Span::from_secs(600)).unwrap()).unwrap(),
    ] {
        for adversary in adversaries().iter().filter(|adversary| adversary.fits(&Aim::at(quota))) {
            let all = played(quota, adversary.name(), length);
            let (then, most) = (all.requests_per_day(length), all.most_per_day.unwrap());
            let is_new = all.settled_per_day.is_none();
            assert!(
                is_new || then <= most * (1.0 + 1e-9),
                "{} at {quota:?}: {then} of {most}",
                adversary.name()
            );
            lowered += u32::from(all.per_day() > most * 1.01 && !is_new);
        }
    }
    assert!(lowered > 0, "no half held a window too many");
}

/// Guards against a race or an outage that seems to be followed by nothing, or by another one every day.
#[test]
fn what_is_done_once_has_no_rate() {
    let quota = Quota::sliding_log(9, Span::from_secs(3_600)).unwrap();
    for (name, is_over) in [("race", true), ("outage", true), ("greedy", false)] {
        let all = played(quota, name, DAY);
        assert_eq!((all.is_over, all.requests_per_day(DAY) > 0.0), (is_over, !is_over), "{name}");
    }
}
