//! What a request costs: how many units of a limit it takes.

use crate::request::{Ambiguous, Facts};

/// How many units a request takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Cost {
    /// So many; at least 1.
    Units(u32),
}

impl Cost {
    /// Reads the units a request takes.
    ///
    /// # Errors
    /// When they can be read in more than one way.
    pub fn read(&self, _facts: &Facts<'_>) -> Result<u32, Ambiguous> {
        match self {
            Self::Units(units) => Ok(*units),
        }
    }

    /// Returns whether the body has to be read for it.
    pub fn needs_body(&self) -> bool {
        match self {
            Self::Units(_) => false,
        }
    }

    /// Returns the units a request takes when nothing in it says otherwise.
    pub fn usual(&self) -> u32 {
        match self {
            Self::Units(units) => *units,
        }
    }
}
