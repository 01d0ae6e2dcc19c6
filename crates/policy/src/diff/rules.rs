//! What changes of rules, their limits apart.

use std::fmt;

use super::{Change, RuleChange, RuleDiff};
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
    alternatives(&rule.matches)
}

fn exceptions(rule: &Rule) -> String {
    if rule.except.is_empty() { "nothing".to_owned() } else { alternatives(&rule.except) }
}

fn refusal(rule: &Rule) -> String {
    rule.refuse
        .as_ref()
        .map_or_else(|| "no".to_owned(), |refuse| format!("{} ({})", refuse.status.as_u16(), refuse.because))
}

/// Writes alternatives that hold commas themselves.
fn alternatives<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; or ")
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
