//! The other way round: what keeps a chance a year.

use tidegate::Quota;
use tidegate_review::{Allowance, Guess, YEAR, lowered, stretched};

/// What keeps the chance of a blind guess within a year at most at a target.
pub(super) struct Target {
    /// The target, from 0 to 1.
    pub(super) chance: f64,
    /// The tries in a year that keep it, not rounded.
    pub(super) tries: f64,
    /// The tries in a year that the limit lets through.
    pub(super) let_through: u128,
    /// Whether the limit keeps it.
    pub(super) is_kept: bool,
    /// The limit with more time that keeps it, if this one does not.
    pub(super) slower: Option<Quota>,
    /// The limit with fewer units that keeps it, if this one does not.
    pub(super) fewer: Option<Quota>,
    /// The digits with which this limit keeps it.
    pub(super) digits: Option<u32>,
}

impl Target {
    pub(super) fn of(quota: &Quota, guess: &Guess, chance: f64) -> Self {
        let most = guess.most_tries(chance);
        let let_through = Allowance::of(std::slice::from_ref(quota)).from_idle(YEAR);
        let is_kept = let_through <= most;
        Self {
            chance,
            tries: guess.tries_at(chance),
            let_through,
            is_kept,
            slower: if is_kept { None } else { stretched(quota, YEAR, most) },
            fewer: if is_kept { None } else { lowered(quota, YEAR, most) },
            digits: guess.length_for(let_through, chance),
        }
    }

    /// Returns the tries a day that keep it, on the average of a year.
    pub(super) fn tries_a_day(&self) -> f64 {
        self.tries / 365.0
    }

    /// Returns the limits of the same algorithm that keep it, the slower one first.
    pub(super) fn limits(&self) -> impl Iterator<Item = &Quota> {
        self.slower.iter().chain(&self.fewer)
    }
}
