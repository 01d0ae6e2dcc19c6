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
//!
//! ```
//! use tidegate_policy::{Presence, Request, parse};
//!
//! let policy = parse("policy.yaml", r#"
//! tidegate: 1
//! gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
//! rules:
//!   - name: tokens
//!     match: { path: "/tokens/{id}" }
//!     limits:
//!       - name: per-token
//!         says: Ten a minute, per token.
//!         key: { path: id }
//!         sliding_counter: { limit: 10, window: 1m }
//! "#)?;
//! let headers = http::HeaderMap::new();
//! let request = Request {
//!     method: "GET",
//!     host: None,
//!     path: "//tokens/./%41",
//!     query: None,
//!     headers: &headers,
//!     peer: None,
//!     body: None,
//! };
//! let seen = policy.see(&request)?;
//! let matched = policy.matching(&seen).next().ok_or("no rule")?;
//! assert_eq!(matched.facts.route(), "/tokens/{id}");
//! let mut key = Vec::new();
//! assert_eq!(matched.rule.limits[0].key.read(&matched.facts, &mut key)?, Presence::Present);
//!
//! let problems = parse("policy.yaml", "tidegate: 1\nrulse: []\n").unwrap_err();
//! assert!(problems.to_string().contains("policy.yaml:2:1: unknown key \"rulse\" in the policy; did you mean \"rules\"?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod client;
mod cost;
mod count;
mod date;
mod descriptor;
mod diff;
mod examined;
mod face;
mod file;
mod foreign;
pub mod import;
mod index;
mod key;
mod limit;
mod matcher;
pub mod overlay;
mod path;
mod plan;
mod policy;
mod problem;
mod questions;
mod request;
mod rewrite;
mod rule;
mod rules;
pub mod scenario;
mod schema;
mod secret;
mod shared_counter;
mod store;
pub mod suite;
mod surroundings;
mod trace;
mod unheeded;
mod validate;
mod values;
pub mod words;
mod written;

pub use answer::{HeaderStyle, ProblemTemplate, ResetUnit, Template, TemplateValues};
pub use client::{BadNetwork, Client, TrustedProxies};
pub use cost::{Cost, CostHeader, CostItems, CostTable};
pub use count::{Count, OnSuccess, Success};
pub use descriptor::{Descriptor, DescriptorPattern, EntryPattern, ValuePattern};
pub use diff::{Change, Diff, Effect, Fate, LimitDiff, RuleDiff, Strictness};
pub use examined::{Accepted, Budget, Code, Price, Topology};
pub use face::{Admin, Api, Counting, Envoy, ForwardAuth, Gateway, Health, OnDeny, Resp, TlsFiles};
pub use foreign::Foreign;
pub use key::{Chooser, Chosen, Key, KeyPart, KeySource, Presence, Reads, example_phone, is_underscore_twin};
pub use limit::{Limit, Terms, Whose};
pub use matcher::{Condition, Except, HostPattern, Matcher, Pattern};
pub use plan::{Choice, Override, Plan, Plans};
pub use policy::{EncodedSlash, Mode, Policy};
pub use problem::{At, Place, Problem, Problems};
pub use request::{Ambiguous, Facts, Matched, ReadyKeys, Request, Seen};
pub use rewrite::{Left, RewriteError, Rewritten, Written, rewrite};
pub use rule::{Class, ClientSees, EnvoyTerms, OnMissingKey, OnStoreFailure, Refuse, Rule};
pub use rules::Rules;
pub use schema::schema;
pub use secret::Identities;
pub use shared_counter::SharedCounter;
pub use store::{
    AlertsChoice, MemoryChoice, RedisChoice, RedisPassword, RedisServers, RedisTls, SnapshotChoice,
    StoreChoice,
};
pub use surroundings::{Nowhere, Surroundings};
pub use trace::{Fit, Mismatch, Near, RuleTrace};
pub use written::{parse_quota, parse_span};

/// Reads a policy file for a process of its own; `file_name` only stands in its problems.
///
/// It has to have a face (`gateway`, `api` or `health`), since nobody could ask it otherwise. A library that asks its
/// own limiter reads with [`parse_embedded`]. Neither knows any other file or variable; [`Reading`] does.
///
/// # Errors
/// With everything that is wrong, each with its place.
pub fn parse(file_name: &str, text: &str) -> Result<Policy, Problems> {
    Reading::of(&Nowhere).parse(file_name, text)
}

/// Reads a policy file for a program that holds the limiter itself, so that the file may have no face; all else is as
/// in [`parse`].
///
/// Faces that are there are read and checked, and it is for the caller to serve them or not.
///
/// # Errors
/// With everything that is wrong, each with its place.
pub fn parse_embedded(file_name: &str, text: &str) -> Result<Policy, Problems> {
    Reading::of(&Nowhere).embedded().parse(file_name, text)
}

/// How a policy file is read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    surroundings: &'a dyn Surroundings,
    needs_face: bool,
}

impl<'a> Reading<'a> {
    /// Reads files that may refer to what is around them.
    pub fn of(surroundings: &'a dyn Surroundings) -> Self {
        Self { surroundings, needs_face: true }
    }

    /// Reads files that may have no face.
    #[must_use]
    pub fn embedded(self) -> Self {
        Self { needs_face: false, ..self }
    }

    /// Reads a policy file; `file_name` only stands in its problems.
    ///
    /// # Errors
    /// With everything that is wrong, each with its place.
    pub fn parse(self, file_name: &str, text: &str) -> Result<Policy, Problems> {
        let mut report = file::Report::default();
        let number = report.open_file(file_name);
        let root = file::load(text, number, &mut report);
        let policy = root.and_then(|root| match import::served_section(root, &mut report) {
            // Such a file names no face of ours until somebody serves it, who then says what to add.
            Ok(import::ServedSection { root, store_elsewhere }) => {
                let policy = validate::policy(root, self.embedded(), &mut report)?;
                Some(Policy { store_elsewhere, ..policy })
            }
            Err(root) => validate::policy(root, self, &mut report),
        });
        match policy {
            Some(policy) if report.is_empty() => Ok(policy),
            _ => Err(report.into_problems()),
        }
    }
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("needs_face", &self.needs_face).finish_non_exhaustive()
    }
}
