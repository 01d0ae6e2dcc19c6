//! Refill: asks at exactly every instant at which a unit is free.
//!
//! Whoever knows the numbers and what has passed knows the state of the key, and when the next unit is free to the
//! microsecond. Against buckets and logs nothing gets more: the whole of it at once and each unit as it comes is B + ⌊R·s⌋,
//! or L·(⌊s/W⌋ + 1). Against windows it is all that an attack from idle gets, begun just before a boundary where there is
//! one. A lockout is asked in rounds: as many attempts as lock, or one less in every window, whichever brings more by
//! the end, the last of all locking.

use tidegate_algorithms::Quota;

use super::schedule::instants::opening;
use super::schedule::taking::Taking;
use super::{Adversary, Aim, Need, Play};
use crate::act::Seat;

/// Asks at each instant at which something is free.
#[derive(Debug)]
pub(super) struct Refill;

impl Adversary for Refill {
    fn name(&self) -> &'static str {
        "refill"
    }

    fn what(&self) -> &'static str {
        "Takes all there is at once, then each unit at the very instant it is free."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Phase]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        // The weighted straddler is the same at a sliding counter.
        aim.burst() > 0 && aim.guard().is_some_and(|guard| !matches!(guard.quota, Quota::SlidingCounter(_)))
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let Some(guard) = aim.guard() else { return Vec::new() };
        let begin = opening(&guard.quota, play).unwrap_or(play.start);
        let taking = Taking::new(aim, play, begin);
        taking.map(|taking| Seat::adversary(taking).with_jitter(play.jitter)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Rate, Span};

    use super::super::testing::trial::{MIDNIGHT, bucket, fixed, log, play, trial};
    use super::*;

    /// The closed forms of an attack from idle, at the last instant that a play holds.
    fn attains_from_idle(quota: Quota, phase: Span, length: Span) {
        let play = play(phase, length);
        let trial = trial(&Refill, quota, &play);
        let closed = Span::from_micros(length.as_micros() - 1);
        assert_eq!(u128::try_from(trial.admitted.len()).unwrap(), quota.most_from_idle(closed), "{quota:?}");
        assert_eq!(trial.refused, 0, "{quota:?}: every instant is exact");
    }

    /// 364 in a closed hour, which no retry at intervals finds to the second.
    #[test]
    fn a_bucket_gives_all_that_its_form_says_from_idle() {
        attains_from_idle(bucket(), Span::from_micros(77), Span::from_micros(3_600_000_001));
        let thirds = Quota::token_bucket(2, Rate::new(3, Span::from_secs(1)).unwrap()).unwrap();
        attains_from_idle(thirds, Span::ZERO, Span::from_micros(100_000_001));
        let leaky = Quota::leaky_bucket(Rate::new(3, Span::from_secs(7)).unwrap(), 4).unwrap();
        attains_from_idle(leaky, Span::from_micros(3), Span::from_secs(700));
    }

    #[test]
    fn a_log_and_a_window_from_the_first_hit_give_theirs() {
        for quota in [log(), fixed(Anchor::FirstHit)] {
            attains_from_idle(quota, Span::from_micros(12_345), Span::from_micros(3_600_000_001));
        }
    }

    /// Locks that are longer than the window are worth taking only as far as windows do not fill the time.
    #[test]
    fn a_lockout_gives_what_the_best_mixture_of_rounds_does() {
        for (attempts, within, lock) in [(5, 30, 600), (5, 30, 20), (3, 10, 14), (1, 7, 9), (2, 10, 30)] {
            let quota = Quota::lockout(attempts, Span::from_secs(within), Span::from_secs(lock)).unwrap();
            for length in [1_u64, 9_000_001, 29_999_999, 30_000_001, 100_000_000, 601_000_000] {
                attains_from_idle(quota, Span::from_micros(5), Span::from_micros(length));
            }
        }
    }

    /// A window of the clock, begun at its start, would give one limit less than begun at its end.
    #[test]
    fn a_window_of_the_clock_gives_one_more_than_it_has_windows() {
        let start = Span::from_micros(30_000_000 - 1);
        attains_from_idle(fixed(Anchor::Clock), start, Span::from_micros(3_600_000_001));
        let trial = trial(&Refill, fixed(Anchor::Clock), &play(start, Span::from_micros(3_600_000_001)));
        assert_eq!(trial.admitted.len(), 605);
    }

    /// Guards against a window of which only the rest of the play is taken: he waits for its end.
    #[test]
    fn it_begins_just_before_a_boundary() {
        let trial = trial(&Refill, fixed(Anchor::Clock), &play(Span::from_secs(17), Span::from_secs(60)));
        assert_eq!(trial.admitted[0], MIDNIGHT + 30_000_000 - 1);
        assert_eq!(trial.admitted[5], MIDNIGHT + 30_000_000);
    }
}
