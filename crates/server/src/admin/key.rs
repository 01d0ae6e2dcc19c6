//! A key as an operator gives it: values by their names, the one value there is, or the name it has outside the process.

use std::collections::BTreeMap;

use http::StatusCode;
use serde::Deserialize;
use tidegate::ResetError;
use tidegate::Snapshot;
use tidegate::policy_file::Rule;
use tidegate::policy_file::overlay::is_identity;

use super::reset::problem;
use crate::api::Members;
use crate::problem::{KeyPart, Problem};

/// The name by which a route is given.
const ROUTE: &str = "route";

/// A limit and one of its keys, as a call names them; everybody where it names no key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyCall {
    /// The limit, `rule/limit`.
    pub(super) limit: String,
    /// The values of the limit's key, by their names in the policy.
    #[serde(default)]
    pub(super) keys: Members<String>,
    /// The value of a limit that reads one, or the name of a key as logs and answers have it.
    #[serde(default)]
    pub(super) key: Option<String>,
}

impl KeyCall {
    /// Returns the values by their names.
    ///
    /// # Errors
    /// When one value is not enough, or both members are there.
    pub(super) fn values(&self, in_force: &Snapshot) -> Result<BTreeMap<String, String>, Problem> {
        let Some(value) = &self.key else { return Ok(self.keys.0.clone()) };
        if !self.keys.0.is_empty() {
            return Err(Problem::of_member("key", "stands beside `keys`; give one of the two"));
        }
        let limit = self.limit.as_str();
        let policy = in_force.policy();
        let found = policy.and_then(|policy| policy.limits().find(|one| one.name == limit));
        let Some(found) = found else {
            let error = in_force.stored_key(limit, &BTreeMap::new()).err();
            return Err(error.map_or_else(|| Problem::new(StatusCode::NOT_FOUND, "no such limit"), problem));
        };
        match found.key.sources().as_slice() {
            [name] => Ok(BTreeMap::from([((*name).to_owned(), value.clone())])),
            [] => Err(problem(ResetError::UnknownKey {
                limit: limit.to_owned(),
                name: "key".to_owned(),
                wanted: Vec::new(),
            })),
            names => {
                let why = format!("{limit} reads several values; give them in `keys`: {}", names.join(", "));
                Err(Problem::of_member("key", why).with_parts(parts(in_force, limit)))
            }
        }
    }

    /// Returns what is wrong with the key, and which parts it has.
    pub(super) fn problem(&self, in_force: &Snapshot, error: ResetError) -> Problem {
        let is_key = matches!(error, ResetError::UnknownKey { .. } | ResetError::MissingKey { .. });
        let found = problem(error);
        if is_key { found.with_parts(parts(in_force, &self.limit)) } else { found }
    }

    /// Returns the name of the key outside the process; `None` for everybody.
    ///
    /// # Errors
    /// When it is no key of the limit's.
    pub(super) fn identity(&self, in_force: &Snapshot) -> Result<Option<String>, Problem> {
        if let Some(name) = self.key.as_ref().filter(|key| is_identity(key) && self.keys.0.is_empty()) {
            return Ok(Some(name.clone()));
        }
        let values = self.values(in_force)?;
        if values.is_empty() {
            return Ok(None);
        }
        let stored = in_force.stored_key(&self.limit, &values);
        let stored = stored.map_err(|error| self.problem(in_force, error))?;
        let none = || {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the system gives no randomness for names of keys")
        };
        stored.identity.map(Some).ok_or_else(none)
    }
}

/// Returns the parts of a limit's key, and of a route the patterns there are: those of its rule.
fn parts(in_force: &Snapshot, limit: &str) -> Vec<KeyPart> {
    let rules = in_force.policy().into_iter().flat_map(|policy| policy.rules.iter().chain(&policy.fallback));
    let mut limits = rules.flat_map(|rule| rule.limits.iter().map(move |limit| (rule, limit)));
    let Some((rule, limit)) = limits.find(|(_, one)| one.name == limit) else { return Vec::new() };
    let part = |name: &str| {
        let values = if name == ROUTE { routes(rule) } else { Vec::new() };
        KeyPart { name: name.to_owned(), values }
    };
    limit.key.sources().into_iter().map(part).collect()
}

/// Returns the routes that a rule's requests can have.
fn routes(rule: &Rule) -> Vec<String> {
    let mut routes: Vec<String> = Vec::new();
    let any = || "*".to_owned();
    if rule.matches.is_empty() {
        routes.push(any());
    }
    for matcher in &rule.matches {
        routes.extend(matcher.paths.iter().map(|pattern| pattern.text().to_owned()));
        routes.extend(matcher.paths.is_empty().then(any));
    }
    routes.dedup();
    routes
}
