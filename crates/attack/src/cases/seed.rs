//! The two articles that Tidegate began with: what their policies admit, and which of their averages and years come out.

use super::figure::{Figure, Unit};
use super::played::{
    Fault, Once, Passed, SECOND, at_quota, bucket, clock, counter, digits, float, in_unit, log, play,
    seated_at, secs, times, wide,
};
use super::windows::mean_peak;
use super::{Case, Figures};
use crate::act::Seat;
use crate::adversary::Aim;
use tidegate_algorithms::{Quota, Span};

/// The article on the limits of one-time passwords.
const OTP: &str = "the first article that Tidegate began with; docs/seeds.md";

pub(super) const CASES: [Case; 8] = [
    Case {
        id: "seed-fixed",
        what: "Five per thirty seconds by windows of the clock, and somebody who knows when they begin.",
        source: OTP,
        published: "ten in about a second, across a boundary",
        unconfirmed: None,
        says: "The peak is twice the limit; in the long run it is the limit, and 23 days to a blind guess.",
        figures: fixed,
    },
    Case {
        id: "seed-counter",
        what: "Five per thirty seconds by a sliding counter, and somebody who leaves a window empty first.",
        source: OTP,
        published: "within a few percent of five",
        unconfirmed: None,
        says: "Its worst window is that of the fixed one, twice the limit; only traffic that does not know the boundary \
               stays within a few percent.",
        figures: sliding_counter,
    },
    Case {
        id: "seed-log",
        what: "Five per thirty seconds by a sliding log, and somebody who asks the moment a stamp leaves.",
        source: OTP,
        published: "exactly five in any thirty seconds",
        unconfirmed: None,
        says: "Five in any half-open thirty seconds; a closed span that meets both ends holds ten.",
        figures: sliding_log,
    },
    Case {
        id: "seed-bucket",
        what: "Four at once and one per ten seconds, and somebody who takes each as it comes.",
        source: OTP,
        published: "a way to say five per thirty seconds",
        unconfirmed: None,
        says: "Seven in a closed thirty seconds, six half-open: more than the five that it is named after.",
        figures: token_bucket,
    },
    Case {
        id: "seed-strict-counter",
        what: "Five per thirty seconds by a sliding counter that refuses what would reach the limit: estimate + 1 ≤ L.",
        source: OTP,
        published: "no figure; a variant of the counter that is in use",
        unconfirmed: None,
        says: "No algorithm of Tidegate's: a reference of a few lines stands in for it. Its peak is 2L − 1, for which it \
               sustains only L − 1.",
        figures: strict,
    },
    Case {
        id: "seed-averages",
        what: "The three limits over ten minutes, and over thirty seconds around a boundary.",
        source: OTP,
        published: "9.6, 5.1 and 3.2 attempts per thirty seconds, sustained",
        unconfirmed: None,
        says: "Three statistics under one name: a mean peak with jitter, an average over phases, and an average over a run \
               with its first burst. Sustained are 5, 5 and 3.",
        figures: averages,
    },
    Case {
        id: "seed-years",
        what: "A blind guess at six digits, three right at once, at 3.2 and 9.6 tries per thirty seconds.",
        source: OTP,
        published: "33 years by the bucket, 11 by the fixed window",
        unconfirmed: None,
        says: "Days, not years.",
        figures: years,
    },
    Case {
        id: "seed-incr-expire",
        what: "A hundred a minute counted by INCR, with the time to live set by the first hit, and a burst across the end.",
        source: "the second article that Tidegate began with; docs/seeds.md",
        published: "200 within two seconds, a hundred on either side of a minute's end",
        unconfirmed: None,
        says: "The window begins with the first hit, so one request opens it and 199 are the most.",
        figures: incr_expire,
    },
];

/// What was known of the limits: in closed thirty seconds, a minute, ten, an hour, a day.
type Known = [f64; 5];

/// Plays for a day, begun so that spans of up to a day are seen, and names what passed in closed spans.
fn spans(passed: &Passed, known: Known) -> Vec<Figure> {
    let names = [
        ("in closed thirty seconds", 30),
        ("in a closed minute", 60),
        ("in closed ten minutes", 600),
        ("in a closed hour", 3_600),
        ("in a closed day", 86_400),
    ];
    let of = |((name, span), known): ((&'static str, u64), f64)| {
        Figure::simulated(name, Unit::Count, passed.fullest_closed(secs(span))).known(known, 0)
    };
    names.into_iter().zip(known).map(of).collect()
}

/// What is known of a blind guess: the mean, half by, 95 of 100 by, in days, and the chance within a day in percent.
fn guess(quota: Quota, [mean, half, most, day]: [f64; 4]) -> Result<Vec<Figure>, Fault> {
    let seen = times(&digits(6, 3)?, &[quota]);
    let days = |seconds| in_unit(seconds, Unit::Days);
    Ok(vec![
        Figure::computed("a blind guess, mean", Unit::Days, days(seen.mean)).known(mean, 2),
        // The rate alone says up to a window more.
        Figure::computed("a blind guess, half by", Unit::Days, days(seen.p50)).known_about(half, 2, 0.006),
        Figure::computed("a blind guess, 95 of 100 by", Unit::Days, days(seen.p95))
            .known_about(most, 1, 0.06),
        Figure::computed("a blind guess, within a day", Unit::Percent, 100.0 * seen.chance_day).known(day, 1),
    ])
}

const FIVE: Known = [10.0, 15.0, 105.0, 605.0, 14_405.0];
const FIVE_GUESS: [f64; 4] = [23.15, 16.05, 69.4, 4.2];

/// Plays an adversary from nine seconds into a window for a day and a bit.
fn a_day(adversary: &str, quota: Quota) -> Result<Passed, Fault> {
    at_quota(adversary, &Aim::at(quota), &play(secs(9), secs(86_400 + 60)))
}

fn fixed() -> Figures {
    let quota = clock(5, 30)?;
    let straddled = at_quota("boundary-straddler", &Aim::at(quota), &play(secs(9), secs(120)))?;
    let peak = straddled.fullest_closed(SECOND);
    let mut figures =
        vec![Figure::simulated("in a second across a boundary", Unit::Count, peak).published(10.0, 0)];
    figures.extend(spans(&a_day("refill", quota)?, FIVE));
    figures.extend(guess(quota, FIVE_GUESS)?);
    Ok(figures)
}

fn sliding_counter() -> Figures {
    let quota = counter(5, 30)?;
    let passed = a_day("weighted-straddler", quota)?;
    let peak = passed.fullest(secs(30));
    let published = Figure::simulated("in half-open thirty seconds", Unit::Count, peak);
    let mut figures = vec![published.published_about(5.0, 0.25).wrongly().known(10.0, 0)];
    figures.extend(spans(&passed, FIVE));
    figures.extend(guess(quota, FIVE_GUESS)?);
    Ok(figures)
}

fn sliding_log() -> Figures {
    let quota = log(5, 30)?;
    let passed = a_day("refill", quota)?;
    let peak = passed.fullest(secs(30));
    let mut figures =
        vec![Figure::simulated("in half-open thirty seconds", Unit::Count, peak).published(5.0, 0)];
    figures.extend(spans(&passed, FIVE));
    figures.extend(guess(quota, FIVE_GUESS)?);
    Ok(figures)
}

fn token_bucket() -> Figures {
    let quota = bucket(4, 1, 10)?;
    let passed = a_day("refill", quota)?;
    let closed = passed.fullest_closed(secs(30));
    let mut figures = vec![
        Figure::simulated("in thirty seconds, both ends", Unit::Count, closed).published(5.0, 0).wrongly(),
        Figure::simulated("in half-open thirty seconds", Unit::Count, passed.fullest(secs(30))).known(6.0, 0),
    ];
    figures.extend(spans(&passed, [7.0, 10.0, 64.0, 364.0, 8_644.0]));
    figures.extend(guess(quota, [38.58, 26.74, 115.6, 2.6])?);
    let year = times(&digits(6, 3)?, &[quota]).chance_year;
    figures
        .push(Figure::computed("a blind guess, within a year", Unit::Percent, 100.0 * year).known(99.99, 2));
    let sustained = |quota: Quota| wide(quota.most_from_idle(Span::from_secs(1 << 31)));
    let slower = sustained(clock(5, 30)?) / sustained(quota);
    figures.push(
        Figure::computed("times slower than the others in the long run", Unit::Times, slower).known(1.67, 2),
    );
    Ok(figures)
}

/// A sliding counter that admits while previous · (1 − elapsed) + current + 1 ≤ L, in units of a step.
struct Strict {
    limit: u64,
    /// The window in steps.
    window: u64,
    number: u64,
    previous: u64,
    current: u64,
}

impl Strict {
    fn admits(&mut self, step: u64) -> bool {
        let number = step / self.window;
        if number > self.number {
            self.previous = if number == self.number.saturating_add(1) { self.current } else { 0 };
            (self.number, self.current) = (number, 0);
        }
        let left = self.window.saturating_sub(step % self.window);
        let would_be = self.previous * left + self.current.saturating_add(1) * self.window;
        let admits = would_be <= self.limit * self.window;
        self.current = self.current.saturating_add(u64::from(admits));
        admits
    }
}

/// Returns what a strict counter of five per thirty seconds admits in a closed span that begins with five at a window's last
/// step, when somebody asks at every step after it.
fn strict_in(span: u64) -> u64 {
    // A twentieth of a second: the estimate falls by one at whole steps.
    const STEPS: u64 = 20;
    let window = 30 * STEPS;
    let mut counter = Strict { limit: 5, window, number: 0, previous: 0, current: 0 };
    let last = window - 1;
    let burst: u64 = (0..5).map(|_| u64::from(counter.admits(last))).sum();
    // What comes at the step that ends the span is outside it, since the burst was a hair before the boundary.
    let after: u64 = (window..window + span * STEPS).map(|step| u64::from(counter.admits(step))).sum();
    burst.saturating_add(after)
}

fn strict() -> Figures {
    let known = [
        ("in closed thirty seconds", 30, 9.0),
        ("in a closed minute", 60, 13.0),
        ("in closed ten minutes", 600, 85.0),
        ("in a closed hour", 3_600, 485.0),
        ("in a closed day", 86_400, 11_525.0),
    ];
    let of =
        |(name, span, known)| Figure::simulated(name, Unit::Count, float(strict_in(span))).known(known, 0);
    let mut figures: Vec<Figure> = known.into_iter().map(of).collect();
    // In the long run four a window: as a log of four.
    let seen = times(&digits(6, 3)?, &[log(4, 30)?]);
    let days = |seconds| in_unit(seconds, Unit::Days);
    let within = digits(6, 3)?.chance_of(strict_in(86_400).into());
    figures.extend([
        Figure::computed("a blind guess, mean", Unit::Days, days(seen.mean)).known_about(28.94, 2, 0.01),
        Figure::computed("a blind guess, half by", Unit::Days, days(seen.p50)).known_about(20.06, 2, 0.006),
        Figure::computed("a blind guess, 95 of 100 by", Unit::Days, days(seen.p95))
            .known_about(86.7, 1, 0.06),
        Figure::simulated("a blind guess, within a day", Unit::Percent, 100.0 * within).known(3.4, 1),
    ]);
    Ok(figures)
}

/// Returns the mean over phases of a window, and the least and most, of what a greedy client gets in ten minutes, as tries in
/// thirty seconds.
fn over_phases(quota: Quota) -> Result<[f64; 3], Fault> {
    const PHASES: u32 = 24;
    let (mut sum, mut least, mut most) = (0.0, f64::MAX, 0.0_f64);
    for phase in 0..PHASES {
        let begun = Span::from_micros(u64::from(phase) * 1_250_000 + 7_000);
        let passed = at_quota("greedy", &Aim::at(quota), &play(begun, secs(601)))?;
        let average = passed.first(secs(600)) / 20.0;
        (sum, least, most) = (sum + average, least.min(average), most.max(average));
    }
    Ok([sum / f64::from(PHASES), least, most])
}

fn averages() -> Figures {
    let taken = at_quota("refill", &Aim::at(bucket(4, 1, 10)?), &play(secs(9), secs(601)))?;
    let [counter_mean, least, most] = over_phases(counter(5, 30)?)?;
    let [fixed_mean, _, fixed_most] = over_phases(clock(5, 30)?)?;
    let peak = mean_peak(150, 1_500)?;
    let each = Unit::PerThirtySeconds;
    let sustained = |quota: Quota| {
        let rate = quota.long_run();
        f64::from(rate.units) * 30e6 / float(rate.micros)
    };
    Ok(vec![
        Figure::simulated("bucket, ten minutes and the first burst", each, taken.first(secs(600)) / 20.0)
            .published(3.2, 1)
            .known(3.2, 9),
        Figure::simulated("counter, ten minutes, mean over phases", each, counter_mean)
            .published_about(5.1, 0.1)
            .known_about(5.15, 2, 0.03),
        Figure::simulated("counter, ten minutes, least", each, least).known_about(5.0, 2, 0.05),
        Figure::simulated("counter, ten minutes, most", each, most).known_about(5.25, 2, 0.05),
        Figure::simulated("fixed window, ten minutes, mean over phases", each, fixed_mean)
            .published(9.6, 1)
            .wrongly()
            .known_about(5.247, 3, 0.02),
        Figure::simulated("fixed window, ten minutes, most", each, fixed_most).known(5.25, 2),
        Figure::simulated("fixed window, mean peak with 0.15 s of jitter", each, peak)
            .published_about(9.6, 0.07)
            .known_about(9.62, 2, 0.067),
        Figure::computed("fixed window, sustained", each, sustained(clock(5, 30)?)).known(5.0, 9),
        Figure::computed("counter, sustained", each, sustained(counter(5, 30)?)).known(5.0, 9),
        Figure::computed("bucket, sustained", each, sustained(bucket(4, 1, 10)?)).known(3.0, 9),
    ])
}

fn years() -> Figures {
    let tries = digits(6, 3)?.mean_tries();
    let after = |per_thirty: f64| tries * 30.0 / per_thirty;
    let days = |per_thirty: f64| in_unit(Some(after(per_thirty)), Unit::Days);
    let years = |per_thirty: f64| in_unit(Some(after(per_thirty)), Unit::Years);
    // The reading that gives the years to the digit: ten digits, the averages as tries a second, years of 365.25 days.
    let ten =
        |per_second: f64| digits(10, 3).map(|guess| guess.mean_tries() / per_second / (365.25 * 86_400.0));
    Ok(vec![
        Figure::computed("3.2 tries in thirty seconds, as told", Unit::Years, years(3.2))
            .published(33.0, 0)
            .wrongly(),
        Figure::computed("9.6 tries in thirty seconds, as told", Unit::Years, years(9.6))
            .published(11.0, 0)
            .wrongly(),
        Figure::computed("3.2 tries in thirty seconds", Unit::Days, days(3.2)).known(36.17, 2),
        Figure::computed("9.6 tries in thirty seconds", Unit::Days, days(9.6)).known(12.06, 2),
        Figure::computed("3.2 tries a second at ten digits", Unit::Years, ten(3.2)?).known(33.01, 2),
        Figure::computed("9.6 tries a second at ten digits", Unit::Years, ten(9.6)?).known(11.0, 2),
    ])
}

fn incr_expire() -> Figures {
    let quota = super::played::first_hit(100, 60)?;
    let straddled = at_quota("anchored-straddler", &Aim::at(quota), &play(secs(59), secs(300)))?;
    let mut as_told = Vec::new();
    // The article's own example: a hundred from 59 seconds on, and a hundred from the minute on.
    let start = play(secs(59), secs(2));
    for millis in [0, 1_000] {
        let at = start.start.saturating_add(Span::from_millis(millis));
        as_told.extend((0..100).map(|_| Seat::adversary(Once(Some(at)))));
    }
    let example = seated_at(quota, &start, as_told)?;
    Ok(vec![
        Figure::simulated("in the two seconds of the example", Unit::Count, example.count())
            .published(200.0, 0)
            .wrongly()
            .known(100.0, 0),
        Figure::simulated(
            "in any minute, by who opens a window early",
            Unit::Count,
            straddled.fullest(secs(60)),
        )
        .known(199.0, 0),
    ])
}
