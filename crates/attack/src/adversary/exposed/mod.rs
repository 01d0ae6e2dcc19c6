//! What an attack has shown of a policy: the mistake, and the sentence that tells it with the figures that were seen.

mod doubled;
mod figures;

use tidegate_algorithms::Span;
use tidegate_review::{DAY, YEAR, whole};

use super::Play;
use crate::measure::Measured;

pub(super) use doubled::doubled;
pub(super) use figures::{counted, each_hour, lasting, often, share};

/// A mistake of the policy that an attack has shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Exposed {
    /// The id of the review's finding that is of the same mistake, if there is one.
    pub finding: Option<&'static str>,
    /// What was seen, with its figures, as a sentence.
    pub says: String,
}

/// What adversaries measured against each other: the best that one address with one account did, and this attack.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// What one greedy client with one address reaches against one account in the time that this attack went on; nothing where
    /// no attack is held against him ([`Adversary::is_held_against_one`](super::Adversary::is_held_against_one)).
    pub alone: &'a Measured,
    /// What this attack reached.
    pub attack: &'a Measured,
    /// How it was played.
    pub play: &'a Play,
}

impl Beside<'_> {
    /// Returns how long the attack went on, to the nearest second; a second at least.
    pub(super) fn time(&self) -> Span {
        let micros = self.attack.went_on(self.play.length).as_micros();
        Span::from_secs((micros.saturating_add(500_000) / 1_000_000).max(1))
    }

    /// Returns how long the attack went on, as sentences tell it.
    pub(super) fn went_on(&self) -> String {
        lasting(self.time())
    }

    /// Returns how many guesses are made in a year: those that were seen, and then as many a day as go on.
    pub(super) fn guesses_in_a_year(&self) -> u128 {
        let went_on = self.attack.went_on(self.play.length).as_duration();
        let left = YEAR.as_duration().saturating_sub(went_on).as_secs_f64() / DAY.as_duration().as_secs_f64();
        let later = whole(self.attack.guesses_per_day(self.play.length) * left);
        u128::from(self.attack.guesses).saturating_add(later)
    }
}
