//! Weighted straddler: a sliding counter's whole limit just before a boundary, and again as its weight falls.
//!
//! The counter weighs the last window by how much of it still overlaps. With the window before empty, L pass at its end; b
//! being the boundary, the k-th more passes as soon as the estimate is below L, at the first instant after b + (k − 1)·W/L.
//! The L-th does at just over (1 − 1/L)·W, so 2L pass in less than a window: the estimate is no better than a fixed
//! window there. Plain retry spends the window early and finds less.

use tidegate_algorithms::Quota;

use super::exposed::doubled;
use super::schedule::instants::opening;
use super::schedule::mirror::AsFree;
use super::{Adversary, Aim, Beside, Exposed, Need, Play};
use crate::act::Seat;

/// Takes a window's end and what the fading weight lets through after it.
#[derive(Debug)]
pub(super) struct Weighted;

impl Adversary for Weighted {
    fn name(&self) -> &'static str {
        "weighted-straddler"
    }

    fn what(&self) -> &'static str {
        "Spends a window just before it ends, then asks at each instant at which its weight has fallen by one."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Phase]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.burst() > 0 && aim.guard().is_some_and(|guard| matches!(guard.quota, Quota::SlidingCounter(_)))
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        // A key that nobody has asked about has been idle for a window.
        let begin = aim.guard().and_then(|guard| opening(&guard.quota, play));
        let hand = begin.and_then(|begin| AsFree::new(aim, begin, play));
        hand.map(|hand| Seat::adversary(hand).with_jitter(play.jitter)).into_iter().collect()
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        doubled(aim, beside, "sliding-counter-doubles", "what was spent before a boundary is only estimated")
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Span;

    use super::super::greedy::Greedy;
    use super::super::testing::trial::{MIDNIGHT, counter, play, trial};
    use super::*;

    /// The value known of it: 2L within (1 − 1/L)·W, the first microsecond after it included, where greedy retry that
    /// begins three tenths into a window finds seven of ten.
    #[test]
    fn it_takes_two_windows_in_less_than_one() {
        let from = play(Span::from_secs(9), Span::from_secs(3600));
        let trial_of = |adversary: &dyn Adversary| trial(adversary, counter(), &from);
        let weighted = trial_of(&Weighted);
        let within = Span::from_micros(24_000_000 + 3);
        assert_eq!(weighted.peak(within), 10);
        assert_eq!(weighted.peak(Span::from_micros(within.as_micros() - 1)), 9);
        assert_eq!(weighted.refused, 0, "every instant is exact");
        let b = MIDNIGHT + 30_000_000;
        let after = [0, 6, 12, 18, 24].map(|secs| b + secs * 1_000_000 + 1);
        assert_eq!(weighted.admitted[..5], [b - 1; 5]);
        assert_eq!(weighted.admitted[5..10], after);
        assert_eq!(trial_of(&Greedy).peak(Span::from_secs(30)), 7);
    }

    /// Instants that fall between two microseconds: one rounded down would be refused, and be asked again too late.
    #[test]
    fn a_weight_that_falls_between_two_microseconds_is_never_refused() {
        let quota = Quota::sliding_counter(7, Span::from_millis(1_234)).unwrap();
        let play = play(Span::from_micros(999_999), Span::from_secs(60));
        let trial = trial(&Weighted, quota, &play);
        assert_eq!(trial.peak(quota.window()), 14);
        assert_eq!(trial.refused, 0);
    }
}
