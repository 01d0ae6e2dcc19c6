//! The envelope: the least σ for which no span s held more than σ + ρ·s.
//!
//! That is the highest level of a bucket into which every request that passes pours one unit, and which drains at ρ: after a
//! request the level is the largest, over all spans that end with it, of what they held above ρ·s. It is counted in
//! multiples of one part in ρ's microseconds, and exact.

use tidegate_algorithms::{LongRun, Span, Timestamp};

#[derive(Debug)]
pub(super) struct Envelope {
    rate: LongRun,
    /// The level after the last request and the highest so far, in parts of which a unit has `rate.micros`.
    level: u128,
    most: u128,
    last: Timestamp,
}

impl Envelope {
    pub(super) fn new(rate: LongRun) -> Self {
        let rate = LongRun { micros: rate.micros.max(1), ..rate };
        Self { rate, level: 0, most: 0, last: Timestamp::EPOCH }
    }

    /// Takes in that one request passed, at the instant of the last one or later.
    pub(super) fn passed(&mut self, at: Timestamp) {
        let since: Span = at.saturating_since(self.last);
        let drained = u128::from(since.as_micros()).saturating_mul(self.rate.units.into());
        self.level = self.level.saturating_sub(drained).saturating_add(self.rate.micros.into());
        self.most = self.most.max(self.level);
        self.last = at;
    }

    /// Returns σ in requests, rounded up.
    pub(super) fn sigma(&self) -> u64 {
        u64::try_from(self.most.div_ceil(self.rate.micros.into())).unwrap_or(u64::MAX)
    }
}
