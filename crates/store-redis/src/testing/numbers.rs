//! Random numbers, and quotas over the whole domain of them.

use tidegate_algorithms::{Anchor, Calendar, Quota, QuotaError, Rate, Span};
use tidegate_store::conformance;

/// A seeded sequence, of which quotas can be asked as well.
#[derive(Debug, Clone)]
pub(super) struct Numbers(conformance::Numbers);

impl Numbers {
    /// Begins the sequence of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(conformance::Numbers::new(seed))
    }

    /// Returns a number below `bound`, 0 where there is none.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Returns a place below `bound`.
    pub(super) fn index(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    /// Returns whether one of `of` came up.
    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// Returns a number up to `most`, which is below 2^63: a short one as likely as a long one.
    pub(super) fn any_size(&mut self, most: u64) -> u64 {
        let bits = self.below(65 - u64::from(most.leading_zeros()));
        self.below(1 << bits).min(most)
    }

    /// Returns a span from a millisecond to 400 days, round, or long, or of any size.
    pub(super) fn span(&mut self) -> Span {
        const ROUND: [u64; 8] = [1, 10, 250, 1_000, 10_000, 60_000, 3_600_000, 86_400_000];
        const LONGEST: u64 = tidegate_algorithms::MAX_SPAN.as_micros();
        let micros = match self.below(5) {
            0 | 1 => ROUND.get(self.index(ROUND.len())).copied().unwrap_or(1) * 1_000,
            2 => self.below(LONGEST),
            _ => self.any_size(LONGEST),
        };
        Span::from_micros(micros).clamp(tidegate_algorithms::MIN_SPAN, tidegate_algorithms::MAX_SPAN)
    }

    /// Returns units: a few, or of any size, or many.
    fn units(&mut self, least: u64, most: u64) -> u64 {
        let units = match self.below(5) {
            0 | 1 => self.any_size(10.min(most)),
            2 => self.below(most + 1),
            _ => self.any_size(most),
        };
        units.max(least)
    }

    /// Returns a rate and the units of a bucket; one in three such that products are far too long for a double.
    fn bucket(&mut self, least: u64) -> Result<(u64, Rate), QuotaError> {
        const MOST: u64 = 1 << 30;
        if self.one_in(3) {
            let period = Span::from_secs(1 + self.below(20 * 86_400));
            return Ok((MOST - self.below(MOST / 2), Rate::new(1 + self.below(MOST), period)?));
        }
        Ok((self.units(least, MOST), self.rate()?))
    }

    fn rate(&mut self) -> Result<Rate, QuotaError> {
        let units = if self.one_in(3) { 1 } else { self.units(1, 1 << 30) };
        Rate::new(units, self.span())
    }

    /// Returns a bucket that gets a unit in so long.
    ///
    /// # Errors
    /// Never: the numbers are of the domain.
    pub(super) fn unit_bucket(&mut self) -> Result<Quota, QuotaError> {
        Quota::token_bucket(self.units(1, 1 << 30), Rate::new(1, self.span())?)
    }

    /// Returns a quota of one of [`KINDS`] algorithms.
    ///
    /// # Errors
    /// Never: the numbers are of the domain.
    pub(super) fn quota(&mut self, kind: usize) -> Result<Quota, QuotaError> {
        let (most, span) = (1 << 30, self.span());
        match kind {
            0 => match self.below(6) {
                0 | 1 => Quota::fixed_window(self.units(0, most), span, Anchor::Clock),
                2 => Quota::calendar_window(self.units(0, most), Calendar::Day),
                3 => Quota::calendar_window(self.units(0, most), Calendar::Month),
                4 => Quota::calendar_window(self.units(0, most), Calendar::Week),
                _ => Quota::fixed_window(self.units(0, most), span, Anchor::FirstHit),
            },
            1 => Quota::sliding_log(self.units(0, 100_000), span),
            2 => Quota::sliding_counter(self.units(0, most), span),
            3 => self.bucket(1).and_then(|(units, rate)| Quota::token_bucket(units, rate)),
            4 => self.bucket(0).and_then(|(units, rate)| Quota::leaky_bucket(rate, units)),
            5 => Quota::fixed_window(self.units(0, most), span, Anchor::FirstHit),
            _ => Quota::lockout(self.units(1, most), span, self.span()),
        }
    }
}

/// How many kinds of quotas there are: of fixed windows those that the first hit begins are another one.
pub(super) const KINDS: usize = 7;

/// Returns the kind of a quota.
pub(super) fn kind(quota: &Quota) -> usize {
    match quota {
        Quota::FixedWindow(window) if window.anchor() == Anchor::FirstHit => 5,
        Quota::FixedWindow(_) => 0,
        Quota::SlidingLog(_) => 1,
        Quota::SlidingCounter(_) => 2,
        Quota::TokenBucket(_) => 3,
        Quota::LeakyBucket(_) => 4,
        Quota::Lockout(_) => 6,
    }
}
