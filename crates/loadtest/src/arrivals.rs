//! When requests come, in an open loop: by chance, as people do who know nothing of each other, or evenly.

use rand::SeedableRng;
use rand_distr::{Distribution as _, Exp1};
use rand_pcg::Pcg64Mcg;

use crate::plan::Schedule;

/// The instants at which requests of a stream are to be sent, in nanoseconds since the beginning.
#[derive(Debug)]
pub(crate) struct Arrivals {
    chance: Pcg64Mcg,
    schedule: Schedule,
    /// The mean distance of two, in nanoseconds.
    gap: f64,
    next: f64,
}

impl Arrivals {
    /// Makes the arrivals of `rate` requests a second. An even schedule begins at `offset` of its gap, so that several threads
    /// that share a rate do not all send at once.
    pub(crate) fn new(schedule: Schedule, rate: f64, seed: u64, offset: f64) -> Self {
        let gap = 1e9 / rate;
        let mut arrivals = Self { chance: Pcg64Mcg::seed_from_u64(seed), schedule, gap, next: gap * offset };
        if schedule == Schedule::Poisson {
            arrivals.next = 0.0;
            arrivals.advance();
        }
        arrivals
    }

    /// Returns when the next request is to be sent.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
    pub(crate) fn next(&self) -> u64 {
        self.next as u64
    }

    /// Goes on to the one after.
    #[inline]
    pub(crate) fn advance(&mut self) {
        let gap = match self.schedule {
            Schedule::Constant => self.gap,
            Schedule::Poisson => {
                let times: f64 = Exp1.sample(&mut self.chance);
                self.gap * times
            }
        };
        self.next += gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(schedule: Schedule, rate: f64, seed: u64) -> Vec<u64> {
        let mut arrivals = Arrivals::new(schedule, rate, seed, 0.5);
        let mut all = Vec::new();
        while arrivals.next() < 1_000_000_000 {
            all.push(arrivals.next());
            arrivals.advance();
        }
        all
    }

    #[test]
    fn an_even_schedule_has_as_many_arrivals_as_its_rate_says() {
        let all = all(Schedule::Constant, 1_000.0, 1);
        assert_eq!((all.len(), all[0], all[1] - all[0]), (1_000, 500_000, 1_000_000));
    }

    /// Guards against chance that is no chance: arrivals that nobody coordinates come in bunches, as many of them in all.
    #[test]
    fn arrivals_by_chance_have_the_rate_in_the_mean_and_differ_by_seed() {
        let one = all(Schedule::Poisson, 10_000.0, 1);
        // Four standard deviations of a Poisson count.
        assert!(one.len().abs_diff(10_000) < 400, "{}", one.len());
        let close = one.windows(2).filter(|pair| pair[1] - pair[0] < 10_000).count();
        assert!(close > 500, "a tenth of the gaps is shorter than a tenth of the mean: {close}");
        assert_eq!(one, all(Schedule::Poisson, 10_000.0, 1));
        assert_ne!(one, all(Schedule::Poisson, 10_000.0, 2));
    }
}
