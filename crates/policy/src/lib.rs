//! The policy file: reading, checking, matching requests and taking keys from them.
//!
//! Text goes in, a [`Policy`] or every one of its [`Problems`] comes out: nothing here opens a file, asks a clock
//! or reads the environment. A policy then answers, for each request, which rules apply and what their limits
//! count on:
//!
//! 1. [`Policy::needs_body`] says whether the body has to be read first;
//! 2. [`Policy::see`] reads what every rule needs, once: the normalised path, the client's address;
//! 3. [`Policy::matching`] gives every rule that applies, and [`Policy::fallback_for`] the one for the rest;
//! 4. [`Key::read`] appends the bytes a limit counts on, or says that the key is missing, or that the request can
//!    be read in two ways and has to be refused.

mod answer;
mod client;
mod file;
mod key;
mod matcher;
mod path;
mod policy;
mod problem;
mod request;
mod rule;
mod validate;

pub use answer::{HeaderStyle, ProblemTemplate, ResetUnit, Template, TemplateValues};
pub use client::{Client, TrustedProxies};
pub use key::{Key, Presence};
pub use matcher::{Except, HostPattern, Matcher, Pattern};
pub use policy::{Api, Code, EncodedSlash, Gateway, Health, Mode, Policy, StoreChoice, TlsFiles};
pub use problem::{Place, Problem, Problems};
pub use request::{Ambiguous, Facts, Matched, ReadyKeys, Request, Seen};
pub use rule::{Class, ClientSees, Limit, OnMissingKey, OnStoreFailure, Rule};

/// Reads a policy file; `file_name` only stands in its problems.
///
/// # Errors
/// With everything that is wrong, each with its place.
pub fn parse(file_name: &str, text: &str) -> Result<Policy, Problems> {
    let mut report = file::Report::default();
    let policy = file::load(text, &mut report).and_then(|root| validate::policy(&root, &mut report));
    match policy {
        Some(policy) if report.is_empty() => Ok(policy),
        _ => Err(Problems::new(file_name, report.into_list())),
    }
}
