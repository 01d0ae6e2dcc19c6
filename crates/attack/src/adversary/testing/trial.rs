//! What the tests of adversaries on one key share: an attack on one quota, and what passed.

use std::sync::Arc;

use tidegate_algorithms::{Quota, Rate, Span, Timestamp};

use super::super::{Adversary, Aim, Means, Play, VICTIM};
use crate::act::Seat;
use crate::simulate::{Course, simulate};
use crate::target::Bare;
use crate::world::{Setting, World};

/// The first instant of a day that is a Monday: 30 November 2026.
pub(crate) const MIDNIGHT: u64 = 1_795_996_800_000_000;

/// What became of an attack's requests at the victim.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The instants at which something passed, ascending, in microseconds.
    pub(crate) admitted: Vec<u64>,
    /// How many requests did not.
    pub(crate) refused: usize,
}

impl Trial {
    /// Returns the most that passed in a half-open span.
    pub(crate) fn peak(&self, span: Span) -> usize {
        let mut from = 0;
        let ends = self.admitted.iter().enumerate().map(|(index, at)| {
            while self.admitted[from] + span.as_micros() <= *at {
                from += 1;
            }
            index + 1 - from
        });
        ends.max().unwrap_or(0)
    }

    /// Returns how many passed within so long after the first, that instant not among them.
    pub(crate) fn first(&self, span: Span) -> usize {
        let first = self.admitted.first().copied().unwrap_or(0);
        self.admitted.iter().filter(|at| **at - first < span.as_micros()).count()
    }
}

/// A play without jitter that begins so long into a day.
pub(crate) fn play(phase: Span, length: Span) -> Play {
    let start = Timestamp::from_micros(MIDNIGHT + phase.as_micros()).unwrap();
    Play { start, length, jitter: Span::ZERO, means: Means::default() }
}

/// Plays an adversary at one quota.
pub(crate) fn trial(adversary: &dyn Adversary, quota: Quota, play: &Play) -> Trial {
    seats(adversary.seats(&Aim::at(quota), play), quota, play, 1)
}

/// Plays seats at one quota.
pub(crate) fn seats(seats: Vec<Seat>, quota: Quota, play: &Play, seed: u64) -> Trial {
    against(Bare::of(quota), seats, play, seed)
}

/// Plays seats at limits.
pub(crate) fn against(target: Bare, seats: Vec<Seat>, play: &Play, seed: u64) -> Trial {
    let mut world = World::new(Arc::new(target), Setting::default()).unwrap();
    let course = Course { until: play.end(), most_requests: 5_000_000, seed };
    let mut trial = Trial { admitted: Vec::new(), refused: 0 };
    simulate(&mut world, seats, Vec::new(), course, &mut |event| {
        if event.who.subject != VICTIM {
        } else if event.admitted {
            trial.admitted.push(event.at.as_micros());
        } else {
            trial.refused += 1;
        }
    });
    trial
}

/// Five per thirty seconds by a sliding log.
pub(crate) fn log() -> Quota {
    Quota::sliding_log(5, Span::from_secs(30)).unwrap()
}

/// Five per thirty seconds by a sliding counter.
pub(crate) fn counter() -> Quota {
    Quota::sliding_counter(5, Span::from_secs(30)).unwrap()
}

/// Five per thirty seconds by a fixed window.
pub(crate) fn fixed(anchor: tidegate_algorithms::Anchor) -> Quota {
    Quota::fixed_window(5, Span::from_secs(30), anchor).unwrap()
}

/// Four at once, then one per ten seconds.
pub(crate) fn bucket() -> Quota {
    Quota::token_bucket(4, Rate::new(1, Span::from_secs(10)).unwrap()).unwrap()
}
