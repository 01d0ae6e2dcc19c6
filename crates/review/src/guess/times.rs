//! When a blind guess succeeds.

use tidegate_algorithms::Span;

use super::{Allowance, Guess, mean};

/// A day.
pub const DAY: Span = Span::from_secs(86_400);
/// A year of 365 days.
pub const YEAR: Span = Span::from_secs(365 * 86_400);

/// When a blind guess succeeds that begins on fresh states, knows the limits and asks as soon as they let it; nothing that
/// is slower succeeds sooner. Times are in seconds, `None` for never.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuessTimes {
    /// The mean time.
    pub mean: Option<f64>,
    /// The time by which half of all such attacks have succeeded.
    pub p50: Option<f64>,
    /// The time by which 95 of 100 have.
    pub p95: Option<f64>,
    /// The chance to succeed within a day.
    pub chance_day: f64,
    /// The chance to succeed within 365 days.
    pub chance_year: f64,
}

impl GuessTimes {
    /// Computes them for the limits that all count the tries at one victim. Without any, everything is tried at once.
    pub fn of(guess: &Guess, allowance: Allowance<'_>) -> Self {
        let mean = match allowance.long_run() {
            None => Some(0.0),
            Some(_) => mean::mean(allowance, guess.ln_miss()),
        };
        let by = |chance| allowance.seconds_to(guess.tries_for(chance));
        let within = |span| guess.chance_of(allowance.from_idle(span));
        Self { mean, p50: by(0.5), p95: by(0.95), chance_day: within(DAY), chance_year: within(YEAR) }
    }
}
