//! The review of a policy: what its limits admit, how long a blind guess takes, and what is unwise.
//!
//! Everything here is computed from a [`Policy`](tidegate_policy::Policy) alone; nothing opens a file or asks a clock.
//! Counts and bounds are exact integers of the algorithms; chances and times to a guess are floating-point numbers, which
//! are only shown.

mod finding;

pub use finding::{Finding, Severity};
