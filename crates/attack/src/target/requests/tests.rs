//! Requests made for policies: those of the examples, and some with one thing each.

mod calls;
mod examples;
mod fronts;
mod places;
mod unreachable;

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate::MemoryStore;
use tidegate_policy::parse_embedded;

use super::*;
use crate::adversary::at_victim;

/// The keys of a request by the names of their limits.
type Keys = BTreeMap<String, Vec<u8>>;

/// Reads a policy whose head says what it is about.
fn policy(text: &str) -> Arc<Policy> {
    let text = format!("tidegate: 1\n{text}");
    Arc::new(parse_embedded("policy.yaml", &text).unwrap_or_else(|problems| panic!("{problems}")))
}

/// Makes requests for the first rule of a policy.
fn first(text: &str) -> Requests {
    Requests::new(policy(text), 0).unwrap_or_else(|unreachable| panic!("{unreachable}"))
}

/// Returns the keys that somebody's request asks for; `None` when it is refused.
fn keys(requests: &Requests, who: &Who) -> Option<Keys> {
    let limiter = requests.limiter(Arc::new(MemoryStore::with_secret(MemoryOptions::default(), [0; 16])));
    let prepared = requests.prepare(&limiter.unwrap().snapshot(), who)?;
    Some(prepared.asked().map(|asked| (asked.limit.name().to_owned(), asked.key.to_vec())).collect())
}

/// Returns the limits whose keys differ between the victim's request and a changed one.
fn changed(requests: &Requests, change: impl FnOnce(&mut Who)) -> Vec<String> {
    let mut who = at_victim();
    change(&mut who);
    let before = keys(requests, &at_victim()).unwrap();
    let after = keys(requests, &who).unwrap();
    assert!(before.keys().eq(after.keys()), "other limits are asked: {before:?}, {after:?}");
    before.into_iter().filter(|(name, key)| after[name] != *key).map(|(name, _)| name).collect()
}
