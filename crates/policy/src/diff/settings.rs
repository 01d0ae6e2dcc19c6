//! What changes outside of rules.

use std::fmt;

use super::Change;
use super::rules::mode;
use crate::policy::Policy;

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(Change::of("mode", mode(old.mode), mode(new.mode)));
    changes.extend(Change::of("instances", old.instances, new.instances));
    changes.extend(shown("gateway", &old.gateway, &new.gateway));
    changes.extend(shown("api", &old.api, &new.api));
    changes.extend(shown("health", &old.health, &new.health));
    changes.extend(shown("store", &old.store, &new.store));
    changes.extend(shown("trusted_proxies", &old.trusted, &new.trusted));
    changes.extend(shown("codes", &old.codes, &new.codes));
    changes.extend(shown("headers", &old.headers, &new.headers));
    changes.extend(shown("problem", &old.problem, &new.problem));
    changes.extend(shown("paths.encoded_slash", &old.encoded_slash, &new.encoded_slash));
    changes
}

/// Compares settings that have no form of their own for people. A policy holds the names of files with secrets, never
/// a secret.
fn shown(what: &str, old: &impl fmt::Debug, new: &impl fmt::Debug) -> Option<Change> {
    Change::of(what, format!("{old:?}"), format!("{new:?}"))
}
