//! What windows let through, and how far the estimate of a sliding counter is off.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};
use tidegate_algorithms::{Ask, Quota, Span, State, Timestamp, decide, peek};

use super::figure::{Figure, Unit};
use super::played::{Fault, Once, at_quota, bucket, clock, counter, log, play, seated, secs};
use super::{Case, Figures};
use crate::act::{Chance, Seat};
use crate::adversary::Aim;
use crate::target::Bare;
use std::sync::Arc;

pub(super) const CASES: [Case; 5] = [
    Case {
        id: "cloudflare-counter",
        what: "A sliding counter against sources that send at random and know of no boundary.",
        source: "blog.cloudflare.com/counting-things-a-lot-of-different-things",
        published: "an average difference of 6 % from the true count, over 270,000 sources",
        unconfirmed: None,
        says: "0.313 / √N for N requests a window: 6 % are sources of some 27. It says nothing of somebody who knows the \
               boundary, who gets twice the limit.",
        figures: cloudflare,
    },
    Case {
        id: "rack-attack-121",
        what: "Five an hour by windows of the clock, and somebody who comes at a boundary.",
        source: "github.com/rack/rack-attack issues 121 and 601",
        published: "twice the limit in one period; ten pass in two minutes and the eleventh fails",
        unconfirmed: None,
        says: "L · (⌈s / W⌉ + 1) in a span s: over k periods (k + 1) · L.",
        figures: rack_attack,
    },
    Case {
        id: "shopify-rest",
        what: "Forty at once and two a second.",
        source: "Shopify, documentation of the REST interface",
        published: "40 and two a second",
        unconfirmed: None,
        says: "160 in a closed minute and 7,240 in an hour.",
        figures: shopify,
    },
    Case {
        id: "greedy-retry",
        what: "Five in thirty seconds by four algorithms, and a client who asks again and again and heeds nothing.",
        source: "from simulations alone",
        published: "no figure",
        unconfirmed: None,
        says: "Limits that count nothing they refuse give it nearly all that anybody gets.",
        figures: greedy,
    },
    Case {
        id: "straddler-jitter",
        what: "Five in thirty seconds by windows of the clock, and ten requests aimed a quarter of a second to either side of \
               a boundary by a clock that is off.",
        source: "from simulations alone",
        published: "no figure",
        unconfirmed: None,
        says: "With a third of a second of jitter nine of the ten still pass.",
        figures: jitter,
    },
];

/// So many units stand for one request, so that whole numbers do not round the estimate.
const FINE: u32 = 1_000;

/// Returns the mean difference between a counter's estimate and the true count of the last window, as a share of the mean
/// count, for a Poisson source.
///
/// Of the window before, what came before and after the place in it that is now one window ago are counted apart: both are
/// independent, and so is what came since.
fn mean_error(mean: u32, samples: u32) -> Result<f64, Fault> {
    const LIMIT: u32 = 1 << 30;
    let window = secs(60);
    let quota = Quota::sliding_counter(LIMIT.into(), window)?;
    let mut chance = Chance::seed_from_u64(mean.into());
    let mut total = 0.0;
    for _ in 0..samples {
        let elapsed: f64 = chance.random_range(0.0..1.0);
        let mut count = |share: f64| -> Result<f64, Fault> {
            let mean = f64::from(mean) * share;
            Ok(if mean > 0.0 {
                Poisson::new(mean).map_err(|error| error.to_string())?.sample(&mut chance)
            } else {
                0.0
            })
        };
        let (left, kept, since) = (count(elapsed)?, count(1.0 - elapsed)?, count(elapsed)?);
        let at = |windows: f64| instant(window, windows);
        let mut state: Option<State> = None;
        for (requests, windows) in
            [(left, elapsed / 2.0), (kept, f64::midpoint(elapsed, 1.0)), (since, 1.0 + elapsed)]
        {
            let ask = Ask::units(units(requests));
            decide(&quota, state.as_ref(), ask, at(windows)).change.apply(&mut state);
        }
        let free = peek(&quota, state.as_ref(), Ask::units(0), at(1.0 + elapsed)).remaining;
        let estimate = f64::from(LIMIT - free) / f64::from(FINE);
        total += (estimate - kept - since).abs();
    }
    Ok(total / f64::from(samples) / f64::from(mean))
}

/// Returns the instant so many windows after a boundary.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "below two windows"
)]
fn instant(window: Span, windows: f64) -> Timestamp {
    let micros = (windows * window.as_micros() as f64) as u64;
    play(Span::from_micros(micros), window).start
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands at most")]
fn units(requests: f64) -> u32 {
    (requests * f64::from(FINE)) as u32
}

fn cloudflare() -> Figures {
    const SAMPLES: u32 = 10_000;
    let (few, more, many) =
        (mean_error(27, SAMPLES)?, mean_error(100, SAMPLES)?, mean_error(1_000, SAMPLES)?);
    // E|X| of a normal distribution, and the mean of the root of e · (1 − e) over a window.
    let law = (2.0 / std::f64::consts::PI).sqrt() * std::f64::consts::PI / 8.0;
    let percent = |name, error: f64| Figure::simulated(name, Unit::Percent, 100.0 * error);
    Ok(vec![
        percent("mean difference at 27 requests a window", few).published(6.0, 0).known_about(5.97, 2, 0.15),
        percent("mean difference at 100", more).known_about(3.06, 2, 0.1),
        percent("mean difference at 1,000", many).known_about(0.98, 2, 0.03),
        Figure::simulated("the same at 1,000, times √N", Unit::Count, many * 1_000.0_f64.sqrt())
            .known_about(0.313, 3, 0.01),
        Figure::computed("√(2/π) · π/8", Unit::Count, law).known(0.313, 3),
        Figure::computed("requests a window for 6 %", Unit::Count, (law / 0.06).powi(2)).known(27.0, 0),
    ])
}

fn rack_attack() -> Figures {
    let quota = clock(5, 3_600)?;
    let begun = play(secs(1_800), secs(4 * 3_600));
    let peak = at_quota("boundary-straddler", &Aim::at(quota), &begun)?;
    // The same for as long as it likes: each window's units as it begins.
    let taken = at_quota("refill", &Aim::at(quota), &begun)?;
    let periods = |count: u64| taken.fullest(secs(count * 3_600));
    Ok(vec![
        Figure::simulated("in two minutes", Unit::Count, peak.fullest(secs(120))).published(10.0, 0),
        Figure::simulated("in one period", Unit::Count, periods(1)).published(10.0, 0),
        Figure::simulated("in two periods", Unit::Count, periods(2)).known(15.0, 0),
        Figure::simulated("in three periods", Unit::Count, periods(3)).known(20.0, 0),
    ])
}

fn shopify() -> Figures {
    let quota = bucket(40, 2, 1)?;
    let taken = at_quota("refill", &Aim::at(quota), &play(secs(9), secs(3_601)))?;
    Ok(vec![
        Figure::simulated("at once", Unit::Count, taken.first(Span::ZERO)).published(40.0, 0),
        Figure::simulated("in a closed minute", Unit::Count, taken.fullest_closed(secs(60))).known(160.0, 0),
        Figure::simulated("in a closed hour", Unit::Count, taken.fullest_closed(secs(3_600)))
            .known(7_240.0, 0),
    ])
}

fn greedy() -> Figures {
    let hour = play(secs(9), secs(3_600));
    let of = |name, quota: Quota, known| -> Result<Figure, Fault> {
        let passed = at_quota("greedy", &Aim::at(quota), &hour)?;
        Ok(Figure::simulated(name, Unit::Count, passed.count()).known(known, 0))
    };
    Ok(vec![
        of("in an hour by a fixed window", clock(5, 30)?, 605.0)?,
        of("in an hour by a sliding log", log(5, 30)?, 600.0)?,
        of("in an hour by a sliding counter", counter(5, 30)?, 602.0)?,
        of("in an hour by a bucket of four and one per ten seconds", bucket(4, 1, 10)?, 363.0)?,
    ])
}

fn jitter() -> Figures {
    // The deviation of a peak is below 0.8, so that of the mean of a thousand below 0.026.
    let of = |name, millis, known| -> Result<Figure, Fault> {
        Ok(Figure::simulated(name, Unit::Count, mean_peak(millis, 1_000)?).known_about(known, 2, 0.08))
    };
    Ok(vec![
        of("mean peak at 0.05 s", 50, 10.0)?,
        of("mean peak at 0.1 s", 100, 9.94)?,
        of("mean peak at 0.15 s", 150, 9.62)?,
        of("mean peak at 0.2 s", 200, 9.32)?,
        of("mean peak at 0.3 s", 300, 9.04)?,
    ])
}

/// Returns the mean peak in thirty seconds of ten requests aimed a quarter of a second to either side of a boundary, by a
/// clock that is off by a standard deviation of so many milliseconds.
pub(super) fn mean_peak(millis: u64, plays: u32) -> Result<f64, Fault> {
    let quota = clock(5, 30)?;
    let play = play(secs(20), secs(15));
    let jitter = Span::from_millis(millis);
    let aimed = [29_750, 30_250].map(|millis| play.start.saturating_add(Span::from_millis(millis - 20_000)));
    let mut sum = 0.0;
    for seed in 0..plays {
        let seats = aimed.into_iter().flat_map(|at| [at; 5]);
        let seats = seats.map(|at| Seat::adversary(Once(Some(at))).with_jitter(jitter)).collect();
        let passed = seated(Arc::new(Bare::of(quota)), &Aim::at(quota), &play, seats, seed.into())?;
        sum += passed.fullest(secs(30));
    }
    Ok(sum / f64::from(plays))
}
