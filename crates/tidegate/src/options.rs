//! How a check is made, and why a limiter or a check cannot be.

use std::fmt;

use tidegate_algorithms::{Span, Timestamp};
use tidegate_store::StoreError;

/// How a check is made.
#[derive(Debug, Clone, Copy)]
pub struct CheckOptions {
    /// The instant of the check; `None` for the store's clock. Tests and simulations pass one. A counter that other programs
    /// share in Redis goes by Redis's clock alone, and is decided as if the store were gone when there is one.
    pub at: Option<Timestamp>,
    /// The longest delay the caller can hold a request for a leaky bucket.
    pub max_delay: Span,
    /// The units to charge instead of each limit's own cost.
    pub cost: Option<u32>,
    /// Whether to look without taking.
    pub peek: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { at: None, max_delay: Span::MAX, cost: None, peek: false }
    }
}

/// Why a limiter cannot be built.
#[derive(Debug, Clone)]
pub enum BuildError {
    /// Two limits have this name.
    Duplicate(String),
    /// The memory store could not be made: the system gives no randomness for its secret.
    Store(StoreError),
    /// The policy's store is in no memory of this process.
    Elsewhere,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(name) => write!(f, "two limits are named {name:?}; give each its own name"),
            Self::Store(error) => error.fmt(f),
            Self::Elsewhere => f.write_str(
                "the policy's store is a Redis: connect to it, and build the limiter with `from_policy_with`",
            ),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Duplicate(_) | Self::Elsewhere => None,
            // Its words are this error's words.
            Self::Store(error) => error.source(),
        }
    }
}

/// A check of a limit the limiter does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLimit {
    pub(crate) name: String,
    pub(crate) known: Vec<String>,
}

impl UnknownLimit {
    /// Returns the name that no limit has.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no limit is named {:?}; there are: {}", self.name, self.known.join(", "))
    }
}

impl std::error::Error for UnknownLimit {}
