//! What changes of rules, their limits apart.

use std::fmt;

use super::{Change, RuleChange, RuleDiff};
use crate::matcher::{Except, HostPattern, Matcher, Pattern};
use crate::policy::{Mode, Policy};
use crate::rule::{ClientSees, OnMissingKey, OnStoreFailure, Rule};

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<RuleDiff> {
    let (old, new) = (rules(old), rules(new));
    let mut diffs = Vec::new();
    for rule in &new {
        let Some(before) = old.iter().find(|before| before.name == rule.name) else {
            diffs.push(one_sided(rule, RuleChange::Added));
            continue;
        };
        let changes = changes(before, rule);
        if !changes.is_empty() {
            diffs.push(RuleDiff { name: rule.name.clone(), kind: RuleChange::Changed, changes });
        }
    }
    let gone = old.iter().filter(|before| !new.iter().any(|rule| rule.name == before.name));
    diffs.extend(gone.map(|rule| one_sided(rule, RuleChange::Removed)));
    diffs
}

fn rules(policy: &Policy) -> Vec<&Rule> {
    policy.rules.iter().chain(&policy.fallback).collect()
}

fn one_sided(rule: &Rule, kind: RuleChange) -> RuleDiff {
    let applies = applies(rule);
    let (before, after) =
        if kind == RuleChange::Added { (String::new(), applies) } else { (applies, String::new()) };
    let changes = vec![Change { what: "applies to".to_owned(), before, after }];
    RuleDiff { name: rule.name.clone(), kind, changes }
}

fn changes(before: &Rule, after: &Rule) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(Change::of("applies to", applies(before), applies(after)));
    changes.extend(Change::of("except", exceptions(before), exceptions(after)));
    changes.extend(Change::of("class", before.class.name(), after.class.name()));
    changes.extend(Change::of("refuse", refusal(before), refusal(after)));
    changes.extend(Change::of(
        "on_missing_key",
        missing(before.on_missing_key),
        missing(after.on_missing_key),
    ));
    changes.extend(Change::of(
        "on_store_failure",
        failure(before.on_store_failure),
        failure(after.on_store_failure),
    ));
    changes.extend(Change::of("client_sees", sees(before.client_sees), sees(after.client_sees)));
    changes.extend(Change::of("mode", mode(before.mode), mode(after.mode)));
    let guesses = |rule: &Rule| rule.guesses.clone().unwrap_or_else(|| "none".to_owned());
    changes.extend(Change::of("guesses", guesses(before), guesses(after)));
    changes
}

fn applies(rule: &Rule) -> String {
    if rule.matches.is_empty() {
        return "what no enforced limit looked at".to_owned();
    }
    joined(&rule.matches, "; ")
}

fn exceptions(rule: &Rule) -> String {
    if rule.except.is_empty() { "nothing".to_owned() } else { joined(&rule.except, "; ") }
}

fn refusal(rule: &Rule) -> String {
    rule.refuse
        .as_ref()
        .map_or_else(|| "no".to_owned(), |refuse| format!("{} ({})", refuse.status.as_u16(), refuse.because))
}

fn joined<T: fmt::Display>(items: &[T], by: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
}

pub(super) fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "enforce",
        Mode::Shadow => "shadow",
    }
}

fn missing(choice: OnMissingKey) -> &'static str {
    match choice {
        OnMissingKey::Refuse => "refuse",
        OnMissingKey::Skip => "skip",
        OnMissingKey::Shared => "shared",
    }
}

fn failure(choice: OnStoreFailure) -> &'static str {
    match choice {
        OnStoreFailure::Deny => "deny",
        OnStoreFailure::Allow => "allow",
        OnStoreFailure::Local => "local",
    }
}

fn sees(choice: ClientSees) -> &'static str {
    match choice {
        ClientSees::All => "all",
        ClientSees::RetryAfter => "retry_after",
        ClientSees::Nothing => "nothing",
    }
}

impl fmt::Display for Matcher {
    /// Writes the conditions: `POST /otp/verify on api.example.com`; how a path is compared where it is not the rule's
    /// class that says it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = if self.methods.is_empty() { "any method".to_owned() } else { self.methods.join("|") };
        let paths = self.paths.iter().map(Pattern::text).collect::<Vec<_>>().join("|");
        write!(f, "{methods} {}", if paths.is_empty() { "any path" } else { &paths })?;
        if !self.hosts.is_empty() {
            write!(f, " on {}", joined(&self.hosts, "|"))?;
        }
        if self.strict_slash {
            f.write_str(" (trailing slash kept)")?;
        }
        f.write_str(if self.loose { " (case ignored)" } else { "" })
    }
}

impl fmt::Display for HostPattern {
    /// Writes the host, one below a domain with a star.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Below(suffix) => write!(f, "*{suffix}"),
        }
    }
}

impl fmt::Display for Except {
    /// Writes the conditions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.clients.is_empty() {
            write!(f, "clients {}: ", joined(&self.clients, ", "))?;
        }
        write!(f, "{}", self.matcher)
    }
}
