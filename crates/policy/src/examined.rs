//! What the review has to know and no decision needs: codes, prices, what stands around, and what is accepted.

use tidegate_algorithms::Span;

use crate::problem::At;

/// A code that somebody may guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Its name in the file.
    pub name: String,
    /// How many characters it has.
    pub digits: u32,
    /// How many different characters there are: 10 unless said.
    pub alphabet: u32,
    /// How long one code is shown, for time-based codes.
    pub step: Option<Span>,
    /// How many steps before and after the present one are accepted as well.
    pub skew_steps: u32,
    /// How long a code that was sent is accepted.
    pub life: Option<Span>,
    /// How many codes are accepted at once, where the file says so.
    pub valid: Option<u32>,
    /// How many wrong tries end a code, as whoever checks it enforces by himself.
    pub attempts: Option<u32>,
    /// Whether the tries go on being counted when a new code is sent.
    pub carry_over: bool,
}

impl Code {
    /// Returns how many codes are accepted at once: what the file says, or those of the skew, or one.
    pub fn valid_at_once(&self) -> u32 {
        let shown = if self.step.is_some() { self.skew_steps.saturating_mul(2).saturating_add(1) } else { 1 };
        self.valid.unwrap_or(shown)
    }
}

/// What stands around the process, as far as it matters to what limits admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// How many regions count each for itself; at least 1.
    pub regions: u32,
    /// How many proxies stand in front, if the file says so.
    pub proxies: Option<u32>,
}

impl Default for Topology {
    fn default() -> Self {
        Self { regions: 1, proxies: None }
    }
}

/// What is borne.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The chance that a blind guesser gets into an account within a year, from 0 to 1.
    pub guess_per_year: f64,
}

/// What a request costs its operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// How much each costs.
    pub each: u32,
    /// In what: `cents`.
    pub unit: String,
}

/// A finding of the review that is kept knowingly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Which.
    pub id: String,
    /// Why.
    pub because: String,
    /// Where it stands.
    pub at: At,
}
