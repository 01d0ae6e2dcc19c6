//! The figures of published policies, each with the sum behind it, and the laws of the arithmetic.

mod laws;
mod published;

use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

use super::*;

const HOUR: Span = Span::from_secs(3_600);

fn digits(digits: u32, valid: u32) -> Guess {
    Guess::new(10, digits, valid).unwrap()
}

fn log(limit: u64, seconds: u64) -> Quota {
    Quota::sliding_log(limit, Span::from_secs(seconds)).unwrap()
}

fn bucket(capacity: u64, units: u64, seconds: u64) -> Quota {
    Quota::token_bucket(capacity, Rate::new(units, Span::from_secs(seconds)).unwrap()).unwrap()
}

/// The times of a guess under some limits.
fn times(guess: Guess, quotas: &[Quota]) -> GuessTimes {
    GuessTimes::of(&guess, Allowance::of(quotas))
}

/// Returns seconds in days.
fn days(seconds: Option<f64>) -> f64 {
    seconds.unwrap() / 86_400.0
}

/// Holds a figure to as many digits as are given.
#[track_caller]
fn near(figure: f64, expected: f64, within: f64) {
    assert!((figure - expected).abs() <= within, "{figure} is not {expected}");
}
