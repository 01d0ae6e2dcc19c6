//! What blind guesses come to, beside what limits give them by closed forms.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tidegate::{Quota, Rate};
use tidegate_algorithms::Timestamp;
use tidegate_review::{Allowance, GuessTimes};

use super::*;
use crate::act::{Act, Actor, Answer, Chance, Outcome, Role, Seat, Who};
use crate::adversary::{Adversary, Aim, Means, Need, Play, at_victim, named};
use crate::simulate::Event;
use crate::stage::Stage;
use crate::target::Bare;

const START: Timestamp = Timestamp::saturating_from_micros(1_800_000_000_000_000);

fn log(limit: u64, seconds: u64) -> Quota {
    Quota::sliding_log(limit, Span::from_secs(seconds)).unwrap()
}

fn bucket() -> Quota {
    Quota::token_bucket(4, Rate::new(1, Span::from_secs(10)).unwrap()).unwrap()
}

fn digits(digits: u32, valid: u32) -> Guess {
    Guess::new(10, digits, valid).unwrap()
}

fn play(seconds: u64) -> Play {
    Play { start: START, length: Span::from_secs(seconds), jitter: Span::ZERO, means: Means::default() }
}

fn measured(quota: Quota, guess: Guess, adversary: &dyn Adversary, play: &Play) -> Measured {
    let stage = Stage::new(Arc::new(Bare::of(quota)), 1, Some(guess));
    stage.play(adversary, &Aim::at(quota), play).unwrap()
}

fn greedy(quota: Quota, guess: Guess, seconds: u64) -> GuessSeen {
    let play = play(seconds);
    GuessSeen::of(&guess, &measured(quota, guess, named("greedy").unwrap(), &play), play.length)
}

/// Asks for so many guesses at once, again and again.
struct Batches {
    guesses: u32,
    every: Span,
}

struct Batch(Timestamp, u32, Span);

impl Adversary for Batches {
    fn name(&self) -> &'static str {
        "batches"
    }

    fn what(&self) -> &'static str {
        "Puts several guesses into each request."
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn fits(&self, _aim: &Aim) -> bool {
        true
    }

    fn seats(&self, _aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![Seat::adversary(Batch(play.start, self.guesses, self.every))]
    }
}

impl Actor for Batch {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let act = Act { guesses: self.1, ..Act::one(self.0, at_victim()) };
        self.0 = self.0.saturating_add(self.2);
        Some(act)
    }
}

#[track_caller]
fn near(figure: Option<f64>, expected: Option<f64>, share: f64) {
    let (figure, expected) = (figure.unwrap(), expected.unwrap());
    assert!((figure / expected - 1.0).abs() <= share, "{figure} is not {expected}");
}

/// Guards against a short run that is divided by its length: its first burst would make days fewer.
#[test]
fn an_hour_of_a_bucket_is_extended_to_the_days_that_a_guess_takes() {
    let guess = digits(6, 3);
    let (seen, times) = (greedy(bucket(), guess, 3_600), GuessTimes::of(&guess, Allowance::of(&[bucket()])));
    near(seen.mean, times.mean, 1e-4);
    near(seen.p50, times.p50, 1e-4);
    near(seen.p95, times.p95, 1e-4);
    let days = |seconds: Option<f64>| (seconds.unwrap() / 864.0).round() / 100.0;
    assert_eq!((days(seen.mean), days(seen.p50), days(seen.p95).round()), (38.58, 26.74, 116.0));
    assert!((seen.chance_day - times.chance_day).abs() < 1e-5, "{seen:?}");
    assert!((seen.chance_year - times.chance_year).abs() < 1e-7, "{seen:?}");
    assert!(seen.is_extended);
}

/// Guards the instants of guesses that were made: of ten codes the seventh guess is the even one, and comes with the third
/// refill.
#[test]
fn guesses_that_were_made_succeed_at_the_instants_at_which_they_were_made() {
    let guess = digits(1, 1);
    let (seen, times) = (greedy(bucket(), guess, 7_200), GuessTimes::of(&guess, Allowance::of(&[bucket()])));
    assert_eq!(seen.p50, Some(30.0));
    near(seen.p95, times.p95, 1e-12);
    // The greedy client is a fifth of a second late with each of the first four.
    near(seen.mean, times.mean, 0.01);
    assert!(seen.mean > times.mean);
    assert!(seen.is_extended, "a year lies beyond the play");
}

#[test]
fn where_every_code_is_right_the_first_guess_hits() {
    let seen = greedy(bucket(), Guess::new(10, 1, 10).unwrap(), 60);
    assert_eq!((seen.mean, seen.p50, seen.p95), (Some(0.0), Some(0.0), Some(0.0)));
    assert_eq!((seen.chance_day, seen.chance_year), (1.0, 1.0));
}

#[test]
fn a_limit_of_zero_is_never_guessed_through() {
    let seen = greedy(log(0, 30), digits(6, 3), 600);
    let never =
        GuessSeen { mean: None, p50: None, p95: None, chance_day: 0.0, chance_year: 0.0, is_extended: true };
    assert_eq!(seen, never);
}

/// Guards against "never" for a limit whose whole window was spent before the half of the play began.
#[test]
fn a_play_that_is_shorter_than_a_window_goes_on_at_the_rate_that_the_limit_has() {
    let (guess, quota) = (digits(4, 1), log(9, 86_400));
    let play = play(43_200);
    let all = measured(quota, guess, named("greedy").unwrap(), &play);
    assert_eq!((all.sustained.0, all.is_short), (0, true));
    let (seen, times) =
        (GuessSeen::of(&guess, &all, play.length), GuessTimes::of(&guess, Allowance::of(&[quota])));
    near(seen.p50, times.p50, 0.002);
    near(seen.p95, times.p95, 0.002);
    near(seen.mean, times.mean, 0.002);
}

#[test]
fn ten_guesses_a_request_are_ten_times_as_fast() {
    let every = Span::from_secs(1);
    let guess = digits(6, 3);
    let single = measured(bucket(), guess, &Batches { guesses: 1, every }, &play(3_600));
    let batch = measured(bucket(), guess, &Batches { guesses: 10, every }, &play(3_600));
    assert_eq!((batch.admitted, batch.guesses), (single.admitted, single.guesses * 10));
    assert_eq!(batch.peaks, single.peaks);
    let [one, ten] = [single, batch].map(|all| GuessSeen::of(&guess, &all, Span::from_secs(3_600)));
    near(ten.mean, one.mean.map(|mean| mean / 10.0), 1e-3);
    near(ten.p50, one.p50.map(|p50| p50 / 10.0), 1e-3);
}

/// Guards the chance within a day of a play that lasts for one: it is by what was made, and not by a rate.
#[test]
fn the_chance_within_a_day_is_by_the_guesses_of_a_day_that_was_played() {
    let guess = digits(6, 3);
    let every = Span::from_secs(10);
    let all = measured(bucket(), guess, &Batches { guesses: 1, every }, &play(2 * 86_400));
    assert_eq!(all.guessing.as_ref().map(|guessing| guessing.within), Some([8_641, 17_280]));
    let seen = GuessSeen::of(&guess, &all, Span::from_secs(2 * 86_400));
    assert!((seen.chance_day - guess.chance_of(8_641)).abs() < 1e-12);
    // The rest of the year goes on at one per ten seconds.
    assert!((seen.chance_year - guess.chance_of(3_153_600)).abs() < 1e-9);
}

/// Guards against the instants of one code that are told for another.
#[test]
fn of_a_code_that_was_not_guessed_at_only_the_rate_is_known() {
    let play = play(3_600);
    let all = measured(bucket(), digits(6, 3), named("greedy").unwrap(), &play);
    let seen = GuessSeen::of(&digits(1, 1), &all, play.length);
    assert!(seen.is_extended);
    near(seen.p50, Some(70.0), 0.01);
    near(seen.mean, Some(100.0), 0.01);
}

/// Guards the closed form of the rest: cut off after any guess, the mean of guesses that come at one rate stays the same.
#[test]
fn the_mean_does_not_depend_on_where_a_play_ends() {
    let guess = digits(2, 1);
    for made in [1_u64, 2, 50, 99, 100, 400, 2_000] {
        let mut guesser = Guesser::new(guess);
        for index in 0..made {
            guesser.made(1, Span::from_secs(index + 1));
        }
        let length = Span::from_secs(made);
        let all = Measured {
            admitted: made,
            guesses: made,
            sustained_guesses: 7,
            sustained: (7, 7_000_000),
            guessing: Some(guesser.finish()),
            ..Measured::default()
        };
        near(GuessSeen::of(&guess, &all, length).mean, Some(100.0), 1e-9);
    }
}

/// Guards against guesses that are counted for people, and for requests that did not pass.
#[test]
fn guesses_are_those_of_the_adversary_that_pass() {
    let who = Who::new(0, IpAddr::V4(Ipv4Addr::LOCALHOST));
    let event = |role, admitted| Event {
        at: START,
        seat: 0,
        role,
        who,
        guesses: 1,
        outcome: Outcome::Failure,
        admitted,
        degraded: false,
        delay: Span::ZERO,
    };
    let wanted = crate::measure::Wanted {
        start: START,
        length: Span::from_secs(1),
        spans: Vec::new(),
        first: Vec::new(),
        rate: log(1, 30).long_run(),
        window: Span::ZERO,
        is_first: true,
        guesses: vec![1, 2],
        guess: Some(digits(1, 1)),
    };
    let mut measure = crate::measure::Measure::new(wanted);
    for (role, admitted) in [(Role::Person, true), (Role::Adversary, false), (Role::Adversary, true)] {
        measure.event(&event(role, admitted));
    }
    let all = measure.closed(&crate::world::Exposure::default());
    assert_eq!((all.guesses, all.times), (1, vec![Some(0), None]));
}
