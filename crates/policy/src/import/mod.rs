//! Configurations of other limiters, written as policy files.

mod envoy;
mod quote;
mod rate_limit;

pub use envoy::envoy;
pub(crate) use envoy::{Served, served};
pub(crate) use rate_limit::{ServedSection, served as served_section};
pub use rate_limit::{is_rate_limit, rate_limit};

use crate::problem::Problem;

/// A policy file made of another limiter's configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The text of the policy file.
    pub text: String,
    /// What is not as it was, each with its place in the other configuration.
    pub remarks: Vec<Problem>,
}
