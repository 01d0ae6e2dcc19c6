//! What the tests of adversaries that go around keys share: limits on several keys, an attack on them, and what it came to.

use std::sync::Arc;

use tidegate::{Counts, Limit, OnSuccess};
use tidegate_algorithms::{Quota, Rate, Span};
use tidegate_policy::{Class, Code};

use super::super::{Adversary, Aim, Beside, Exposed, Keyed, Play, named};
use super::paged;
use super::trial::play;
use crate::measure::Measured;
use crate::stage::Stage;
use crate::target::KeyedLimits;

pub(crate) const HOUR: Span = Span::from_secs(3_600);
pub(crate) const DAY: Span = Span::from_secs(86_400);

pub(crate) const EVERYONE: Keyed = Keyed::EVERYONE;
pub(crate) const ACCOUNT: Keyed = Keyed { subject: true, ..EVERYONE };
pub(crate) const ADDRESS: Keyed = Keyed { address: Some((32, 64)), ..EVERYONE };
pub(crate) const SESSION: Keyed = Keyed { session: true, ..EVERYONE };
pub(crate) const RANGE: Keyed = Keyed { range: true, ..EVERYONE };

/// An attack on limits of an endpoint that verifies codes.
pub(crate) struct Testbed {
    target: KeyedLimits,
    pub(crate) aim: Aim,
    pub(crate) play: Play,
}

impl Testbed {
    /// Besieges quotas, each on keys of a kind, for a day from midnight.
    pub(crate) fn of(quotas: impl IntoIterator<Item = (Quota, Keyed)>) -> Self {
        let limit = |(index, (quota, keyed)): (usize, (Quota, Keyed))| {
            (Limit::new(format!("limit-{index}"), quota), keyed)
        };
        Self::limits(KeyedLimits::new(quotas.into_iter().enumerate().map(limit)))
    }

    /// Besieges limits.
    pub(crate) fn limits(target: KeyedLimits) -> Self {
        Self { aim: target.aim(Class::Verify), target, play: play(Span::ZERO, DAY) }
    }

    /// Goes on for so long.
    pub(crate) fn lasting(mut self, length: Span) -> Self {
        self.play.length = length;
        self
    }

    /// Guesses at a code.
    pub(crate) fn guessing(mut self, code: Code) -> Self {
        self.aim.code = Some(code);
        self
    }

    /// Plays an adversary, and sees to it that nothing exceeds its bound.
    pub(crate) fn met(&self, adversary: &dyn Adversary) -> Measured {
        self.played(adversary, u64::MAX)
    }

    fn played(&self, adversary: &dyn Adversary, most_requests: u64) -> Measured {
        self.during(adversary, &self.play, most_requests)
    }

    fn during(&self, adversary: &dyn Adversary, play: &Play, most_requests: u64) -> Measured {
        let stage = Stage { most_requests, ..Stage::new(Arc::new(self.target.clone()), 7, None) };
        let measured = stage.play(adversary, &self.aim, play).unwrap();
        assert!(!measured.is_exceeded(), "{} exceeds a bound: {:?}", adversary.name(), measured.peaks);
        measured
    }

    /// Plays an adversary and, where he is held against one, a single client, who need not go on to the end, and returns what
    /// the former exposes.
    pub(crate) fn exposed(&self, adversary: &dyn Adversary) -> Option<Exposed> {
        self.exposed_by(adversary, u64::MAX)
    }

    /// The same of an attack that ends with so many requests.
    pub(crate) fn exposed_by(&self, adversary: &dyn Adversary, most_requests: u64) -> Option<Exposed> {
        let attack = self.played(adversary, most_requests);
        let alone = if adversary.is_held_against_one() {
            let play = Play { length: attack.went_on(self.play.length), ..self.play };
            self.during(named("greedy").unwrap(), &play, 20_000)
        } else {
            Measured::default()
        };
        paged(adversary.exposes(&self.aim, &Beside { alone: &alone, attack: &attack, play: &self.play }))
    }
}

/// Six digits, of which so many are right at once, that live ten minutes.
pub(crate) fn digits(valid: u32) -> Code {
    Code {
        name: "otp".to_owned(),
        digits: 6,
        alphabet: 10,
        step: None,
        skew_steps: 0,
        life: Some(Span::from_secs(600)),
        valid: Some(valid),
        attempts: None,
        carry_over: false,
    }
}

/// At most so many in any window.
pub(crate) fn log(limit: u64, window: Span) -> Quota {
    Quota::sliding_log(limit, window).unwrap()
}

/// So many at once, then so many a time.
pub(crate) fn bucket(capacity: u64, units: u64, period: Span) -> Quota {
    Quota::token_bucket(capacity, Rate::new(units, period).unwrap()).unwrap()
}

/// The same limit, of failures only.
pub(crate) fn failures(quota: Quota, on_success: OnSuccess) -> Limit {
    Limit::new("failures", quota).with_counts(Counts::failures(on_success))
}
