//! Nothing admits more than its closed form: thousands of random limits against every adversary.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tidegate::Quota;
use tidegate_algorithms::{Anchor, Calendar, Rate, Span};
use tidegate_attack::adversary::{Adversary, Play, adversaries};
use tidegate_attack::measure::{Measure, Wanted};

use crate::played::{Chosen, Limits, MONDAY, Passed, events, first, peak, play};

/// How many pairs of limits and adversaries are played.
const PAIRS: usize = 5_000;

/// Adversaries that fit a limit on one key; others fit as they may.
const ON_ONE_KEY: [&str; 7] = [
    "greedy",
    "boundary-straddler",
    "anchored-straddler",
    "weighted-straddler",
    "paced",
    "burst-and-wait",
    "refill",
];

/// A length of time from a millisecond to ten minutes, at times a round one.
fn span(chance: &mut Pcg64Mcg) -> Span {
    let micros = 1_000_u64 << chance.random_range(0..20);
    let micros = chance.random_range(micros..micros * 2).min(600_000_000);
    match chance.random_range(0..4) {
        0 if micros > 1_000_000 => Span::from_secs(micros / 1_000_000),
        1 => Span::from_millis(micros / 1_000),
        _ => Span::from_micros(micros),
    }
}

fn rate(chance: &mut Pcg64Mcg) -> Rate {
    Rate::new(chance.random_range(1..=7), span(chance)).unwrap()
}

fn quota(chance: &mut Pcg64Mcg) -> Quota {
    let units = u64::from(chance.random_range(0..=20_u32));
    let some = units.max(1);
    let window = span(chance);
    match chance.random_range(0..8) {
        0 => Quota::fixed_window(units, window, Anchor::Clock),
        1 => Quota::fixed_window(units, window, Anchor::FirstHit),
        2 => {
            let calendars = [Calendar::Day, Calendar::Week, Calendar::Month];
            Quota::calendar_window(units, calendars[chance.random_range(0..3)])
        }
        3 => Quota::sliding_log(units, window),
        4 => Quota::sliding_counter(units, window),
        5 => Quota::token_bucket(some, rate(chance)),
        6 => Quota::leaky_bucket(rate(chance), units),
        _ => Quota::lockout(some, window, span(chance)),
    }
    .unwrap()
}

/// One limit, at times two or three, at times with costs.
fn limits(chance: &mut Pcg64Mcg) -> Limits {
    let count = [1, 1, 1, 2, 3][chance.random_range(0..5)];
    let mut limits = Vec::new();
    for _ in 0..count {
        // Two queues on one request are nothing that anybody can have.
        let is_queue = |quota: &Quota| matches!(quota, Quota::LeakyBucket(_));
        let quota = quota(chance);
        if is_queue(&quota) && limits.iter().any(|(quota, _)| is_queue(quota)) {
            continue;
        }
        let cost = if chance.random_range(0..4) == 0 { chance.random_range(2..=3) } else { 1 };
        limits.push((quota, cost));
    }
    Limits(limits)
}

/// Every second time one that fits a limit on one key.
fn chosen(chance: &mut Pcg64Mcg) -> usize {
    let any = chance.random_range(0..adversaries().len());
    let name = ON_ONE_KEY[chance.random_range(0..ON_ONE_KEY.len())];
    let on_one_key = adversaries().iter().position(|adversary| adversary.name() == name);
    if chance.random_range(0..2) == 0 { any } else { on_one_key.unwrap_or(any) }
}

/// A few windows at any phase, with jitter at times.
fn when(quota: &Quota, chance: &mut Pcg64Mcg) -> Play {
    let window = quota.window().as_micros().max(1_000);
    let start = MONDAY + chance.random_range(0..window.max(86_400_000_000));
    let length = chance.random_range(window / 2..window * 6);
    let jitter = [0, 0, 1_000, window / 20, window / 3][chance.random_range(0..5)];
    Play { jitter: Span::from_micros(jitter), ..play(start, length) }
}

/// Guards against an algorithm, a store or a world that admits more than its bound says, and against bounds that are too low.
/// What is counted here by hand, on every key, is held beside what the measure says.
#[test]
fn nothing_exceeds_its_bound_against_any_adversary() {
    let mut chance = Pcg64Mcg::seed_from_u64(0x7d1e);
    let mut played = vec![0_usize; adversaries().len()];
    let (mut pairs, mut passed, mut at_the_bound) = (0, 0, 0_usize);
    while pairs < PAIRS {
        let limits = limits(&mut chance);
        let focus = chance.random_range(0..limits.0.len());
        let play = when(&limits.0[focus].0, &mut chance);
        let index = chosen(&mut chance);
        let adversary = adversaries()[index];
        if !adversary.fits(&limits.aim(focus)) {
            continue;
        }
        let held = hold((adversary, &limits, focus), &play, chance.random_range(0..u64::MAX));
        pairs += 1;
        played[index] += 1;
        passed += held.passed;
        at_the_bound += usize::from(held.is_at_the_bound);
    }
    for name in ON_ONE_KEY {
        let index = adversaries().iter().position(|adversary| adversary.name() == name);
        assert!(index.is_some_and(|index| played[index] > 60), "{name} was hardly played: {played:?}");
    }
    assert!(passed > 20 * PAIRS, "only {passed} requests passed: nothing was put to the test");
    assert!(at_the_bound > PAIRS / 10, "only {at_the_bound} pairs came up to a bound");
}

struct Held {
    passed: usize,
    is_at_the_bound: bool,
}

/// Plays a pair and holds what passed against the bounds.
fn hold(pair: (&dyn Adversary, &Limits, usize), play: &Play, seed: u64) -> Held {
    let (adversary, limits, focus) = pair;
    let windows = limits.0.iter().map(|(quota, _)| quota.window().as_micros());
    let spans: Vec<u64> =
        windows.flat_map(|window| [1, 2, window / 3, window, window + 1, window * 5 / 2]).collect();
    let mut measure = Measure::new(Wanted {
        start: play.start,
        length: play.length,
        spans: spans.iter().copied().map(Span::from_micros).collect(),
        first: spans.iter().copied().map(Span::from_micros).collect(),
        rate: limits.0[focus].0.long_run(),
        window: limits.0[focus].0.window(),
        is_first: true,
        guesses: Vec::new(),
        guess: None,
    });
    let mut passed = Passed::default();
    let chosen = Chosen { seed, most_requests: 300 };
    let world = events(pair, play, &chosen, &mut |event| {
        passed.event(event);
        measure.event(event);
    });
    let who = || format!("{} against {limits:?} in {play:?} with {seed}", adversary.name());
    assert!(!measure.finish(&world, world.exposure()).is_exceeded(), "the measure: {}", who());
    let mut is_at_the_bound = false;
    for instants in passed.0.values() {
        for &micros in &spans {
            let span = Span::from_micros(micros);
            let (found, most) = (peak(instants, micros), limits.most(|quota| quota.most_in_half_open(span)));
            assert!(found <= most, "{found} of {most} in {span}: {}", who());
            is_at_the_bound |= found == most;
            let (found, most) = (first(instants, micros), limits.most(|quota| quota.most_from_idle(span)));
            assert!(found <= most, "{found} of {most} in the first {span}: {}", who());
        }
    }
    Held { passed: passed.0.values().map(Vec::len).sum(), is_at_the_bound }
}
