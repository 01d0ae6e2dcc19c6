//! How long a blind guess takes by what was seen.
//!
//! Every guess hits with the same chance p, so the n-th is the one that does with p·qⁿ⁻¹, q = 1 − p. While an attack goes
//! on, the sum of that times the instant of the n-th guess is the part of the mean that was seen. The rest goes on at the
//! rate that was sustained, and is closed: after G guesses by the time T the next 1/p come one every 1/r, which adds
//! q^G·(T + 1/(p·r)).

use tidegate_algorithms::Span;
use tidegate_review::{DAY, Guess, YEAR, float};

use super::Measured;
use crate::report::GuessSeen;

/// What is reckoned from a rate must make up so much of a mean to be told.
const REST: f64 = 1e-6;

/// Returns the numbers of the guesses by which half, and 95 of 100, blind guesses have succeeded; [`u64::MAX`] for what
/// does not fit.
pub fn guess_numbers(guess: &Guess) -> [u64; 2] {
    [0.5, 0.95].map(|chance| u64::try_from(guess.tries_for(chance)).unwrap_or(u64::MAX))
}

/// What was seen of a blind guess at a code. Times are in microseconds after the adversary's first request.
#[derive(Debug, Clone, PartialEq)]
pub struct Guessing {
    /// The code.
    pub guess: Guess,
    /// The times at which the guesses of [`guess_numbers`] were made, as far as they were.
    pub times: [Option<u64>; 2],
    /// The sum of p·qⁿ⁻¹ times the time of the n-th guess, over the guesses that were made.
    pub mean_seen: f64,
    /// How many guesses were made within a day and within a year of 365 days (closed).
    pub within: [u64; 2],
}

/// Counts what guesses come to while they are made.
#[derive(Debug)]
pub(super) struct Guesser {
    guessing: Guessing,
    numbers: [u64; 2],
    ln_miss: f64,
    made: u64,
}

impl Guesser {
    pub(super) fn new(guess: Guess) -> Self {
        let guessing = Guessing { guess, times: [None; 2], mean_seen: 0.0, within: [0; 2] };
        Self { guessing, numbers: guess_numbers(&guess), ln_miss: ln_miss(&guess), made: 0 }
    }

    /// Takes in that guesses were made, a time after the adversary's first request.
    pub(super) fn made(&mut self, guesses: u64, after: Span) {
        // q^made − q^(made + guesses), without the difference of two numbers that are nearly the same.
        let hits = missed(self.ln_miss, float(self.made)) * -(float(guesses) * self.ln_miss).exp_m1();
        self.guessing.mean_seen += hits * float(after.as_micros());
        self.made = self.made.saturating_add(guesses);
        for (time, number) in self.guessing.times.iter_mut().zip(self.numbers) {
            if time.is_none() && self.made >= number {
                *time = Some(after.as_micros());
            }
        }
        for (within, span) in self.guessing.within.iter_mut().zip([DAY, YEAR]) {
            if after <= span {
                *within = self.made;
            }
        }
    }

    pub(super) fn finish(self) -> Guessing {
        self.guessing
    }
}

/// Where what was seen ends, and how it goes on.
struct Beyond {
    /// How many guesses were made.
    made: f64,
    /// The time in microseconds from the first request to the end.
    until: f64,
    /// How many guesses a microsecond brings from then on.
    rate: f64,
}

impl GuessSeen {
    /// Reckons how long a guess takes in an attack that was to go on for `length`.
    ///
    /// The times of guesses that were made are those at which they were made; of others, the end of the attack and from
    /// there on [`Measured::guesses_per_day`]. The chance within a day goes by the guesses of the first day as they were made if the
    /// attack went on for a day, within a year if for a year; otherwise by all that were made and the rate for the rest.
    /// Of a code that the attack was not measured for, no instants are known, and everything goes by the rate.
    pub fn of(guess: &Guess, measured: &Measured, length: Span) -> Self {
        let seen = measured.guessing.as_ref().filter(|guessing| guessing.guess == *guess);
        let rate = measured.guesses_per_day(length) / float(DAY.as_micros());
        let beyond = match seen {
            Some(_) => Beyond {
                made: float(measured.guesses),
                until: float(measured.went_on(length).as_micros().saturating_sub(measured.begun)),
                rate,
            },
            None => Beyond { made: 0.0, until: 0.0, rate },
        };
        let numbers = [0.5, 0.95].map(|chance| guess.tries_for(chance));
        let times = seen.map_or([None; 2], |seen| seen.times);
        let [p50, p95] = [(numbers[0], times[0]), (numbers[1], times[1])].map(|(number, time)| match time {
            Some(micros) => Some(float(micros)),
            None => beyond.time_of(float(number)),
        });
        let within = seen.map_or([0; 2], |seen| seen.within);
        let [chance_day, chance_year] = [(DAY, within[0]), (YEAR, within[1])].map(|(span, made)| {
            let tries = if beyond.ends_before(span) { beyond.made_by(span) } else { float(made) };
            if tries > 0.0 { -(tries * ln_miss(guess)).exp_m1() } else { 0.0 }
        });
        let (mean, is_rest_told) = beyond.mean(guess, seen.map_or(0.0, |seen| seen.mean_seen));
        let seconds = |micros: Option<f64>| micros.map(|micros| micros / 1e6);
        Self {
            mean: seconds(mean),
            p50: seconds(p50),
            p95: seconds(p95),
            chance_day,
            chance_year,
            is_extended: is_rest_told || times.contains(&None) || beyond.ends_before(YEAR),
        }
    }
}

impl Beyond {
    fn ends_before(&self, span: Span) -> bool {
        self.until < float(span.as_micros())
    }

    /// Returns the time of a guess that is still to come; `None` for never.
    fn time_of(&self, number: f64) -> Option<f64> {
        (self.rate > 0.0).then(|| self.until + (number - self.made).max(0.0) / self.rate)
    }

    /// Returns how many guesses were made by a time after the end.
    fn made_by(&self, span: Span) -> f64 {
        self.made + (float(span.as_micros()) - self.until) * self.rate
    }

    /// Returns the mean, `None` for never, and whether what lies beyond the end has a part in it.
    fn mean(&self, guess: &Guess, seen: f64) -> (Option<f64>, bool) {
        let missed = missed(ln_miss(guess), self.made);
        if missed == 0.0 {
            return (Some(seen), false);
        }
        if self.rate <= 0.0 {
            return (None, true);
        }
        let rest = missed * (self.until + (guess.chance_of_one() * self.rate).recip());
        (Some(seen + rest), rest > REST * (seen + rest))
    }
}

/// Returns the natural logarithm of the chance that a guess misses; minus infinity when every code is right.
fn ln_miss(guess: &Guess) -> f64 {
    (-guess.chance_of_one()).ln_1p()
}

/// Returns the chance that so many guesses all miss.
fn missed(ln_miss: f64, guesses: f64) -> f64 {
    if guesses == 0.0 { 1.0 } else { (guesses * ln_miss).exp() }
}

#[cfg(test)]
mod tests;
