//! What changes of rules, their limits apart.

use std::fmt;

use super::{Change, Effect, RuleDiff, Strictness};
use crate::matcher::joined;
use crate::policy::{Mode, Policy};
use crate::rule::{ClientSees, EnvoyTerms, OnMissingKey, OnStoreFailure, Rule};

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<RuleDiff> {
    let (old, new) = (rules(old), rules(new));
    let mut former: Vec<&str> = Vec::new();
    let mut diffs = Vec::new();
    for rule in &new {
        let Some(before) = old.iter().find(|before| is_former(before, rule, &new)) else {
            diffs.push(RuleDiff {
                hint: perhaps_renamed(&old, rule, &new),
                ..one_sided(rule, Strictness::Added)
            });
            continue;
        };
        former.push(&before.name);
        let changes = changes(before, rule);
        let renamed_from = (before.name != rule.name).then(|| before.name.clone());
        if !changes.is_empty() || renamed_from.is_some() {
            let strictness = Strictness::of(&changes);
            diffs.push(RuleDiff {
                name: rule.name.clone(),
                renamed_from,
                strictness,
                changes,
                hint: String::new(),
            });
        }
    }
    let gone = old.iter().filter(|before| !former.contains(&before.name.as_str()));
    diffs.extend(gone.map(|rule| one_sided(rule, Strictness::Removed)));
    diffs
}

fn rules(policy: &Policy) -> Vec<&Rule> {
    policy.rules.iter().chain(&policy.fallback).collect()
}

/// Returns whether a rule of the old policy is what one of the new policy was: by its name, or by those of its limits.
fn is_former(before: &Rule, after: &Rule, new: &[&Rule]) -> bool {
    let named = before.name == after.name;
    let gone = || !new.iter().any(|rule| rule.name == before.name);
    let was = |name: &str| after.limits.iter().any(|limit| limit.was.iter().any(|was| was == name));
    named || (gone() && before.limits.iter().any(|limit| was(&limit.name)))
}

/// Returns what to do when a new rule is an old one under another name: it applies to the same, and nothing is its heir.
fn perhaps_renamed(old: &[&Rule], rule: &Rule, new: &[&Rule]) -> String {
    let mut gone = old.iter().filter(|before| !new.iter().any(|after| is_former(before, after, new)));
    let former = gone.find(|before| before.matches == rule.matches && !before.limits.is_empty());
    former.map_or_else(String::new, |former| {
        format!(
            "if it is {} under another name, write `was: {}` to keep its counts",
            former.name, former.name
        )
    })
}

fn one_sided(rule: &Rule, strictness: Strictness) -> RuleDiff {
    let change = if strictness == Strictness::Added {
        Change::added("applies to", applies(rule), Effect::Tighter)
    } else {
        Change::removed("applies to", applies(rule), Effect::Looser)
    };
    RuleDiff {
        name: rule.name.clone(),
        renamed_from: None,
        strictness,
        changes: vec![change],
        hint: String::new(),
    }
}

fn changes(before: &Rule, after: &Rule) -> Vec<Change> {
    let mut changes = Vec::new();
    let unclear = Effect::Unclear;
    changes.extend(Change::of("applies to", applies(before), applies(after), unclear));
    changes.extend(Change::of("except", exceptions(before), exceptions(after), unclear));
    changes.extend(Change::of("class", before.class.name(), after.class.name(), Effect::None));
    changes.extend(Change::of("refuse", refusal(before), refusal(after), refusing(before, after)));
    let (skips, skips_now) = (before.on_missing_key, after.on_missing_key);
    let effect = Effect::of_more(&laxness(skips), &laxness(skips_now));
    changes.extend(Change::of("on_missing_key", missing(skips), missing(skips_now), effect));
    let (fails, fails_now) = (before.on_store_failure, after.on_store_failure);
    let effect = Effect::of_more(&openness(fails), &openness(fails_now));
    changes.extend(Change::of("on_store_failure", failure(fails), failure(fails_now), effect));
    changes.extend(Change::of(
        "client_sees",
        sees(before.client_sees),
        sees(after.client_sees),
        Effect::None,
    ));
    let shadow = |mode: Mode| u8::from(mode == Mode::Shadow);
    let effect = Effect::of_more(&shadow(before.mode), &shadow(after.mode));
    changes.extend(Change::of("mode", mode(before.mode), mode(after.mode), effect));
    let guesses = |rule: &Rule| rule.guesses.clone().unwrap_or_else(|| "none".to_owned());
    changes.extend(Change::of("guesses", guesses(before), guesses(after), Effect::None));
    let price = |rule: &Rule| match &rule.price {
        Some(price) => format!("{} {}", price.each, price.unit),
        None => "not said".to_owned(),
    };
    changes.extend(Change::of("price", price(before), price(after), Effect::None));
    let accepts = |rule: &Rule| {
        let ids: Vec<&str> = rule.accept.iter().map(|one| one.id.as_str()).collect();
        if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
    };
    changes.extend(Change::of("accept", accepts(before), accepts(after), Effect::None));
    changes.extend(envoy(&before.envoy, &after.envoy));
    let bare = |rule: &Rule| Rule { name: String::new(), limits: Vec::new(), ..rule.clone() };
    if changes.is_empty() && bare(before) != bare(after) {
        changes.extend(Change::of("rule", "as it was", "as it is now", unclear));
    }
    changes
}

/// Compares what rules say to Envoy besides their limits.
fn envoy(before: &EnvoyTerms, after: &EnvoyTerms) -> Vec<Change> {
    let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { joined(names) };
    // What is replaced does not count.
    let within = |few: &[String], many: &[String]| few.iter().all(|name| many.contains(name));
    let (was, is) = (&before.replaces, &after.replaces);
    let replacing = match (within(was, is), within(is, was)) {
        (true, true) => Effect::None,
        (true, false) => Effect::Looser,
        (false, true) => Effect::Tighter,
        (false, false) => Effect::Unclear,
    };
    let lax = |of: fn(&EnvoyTerms) -> bool| Effect::of_more(&u8::from(of(before)), &u8::from(of(after)));
    let label = |terms: &EnvoyTerms| terms.label.clone().unwrap_or_else(|| "none".to_owned());
    let metadata = |terms: &EnvoyTerms| serde_json::Value::Object(terms.metadata.clone()).to_string();
    let (unlimited, quota) = (lax(|terms| terms.unlimited), lax(|terms| terms.quota));
    let members = [
        Change::of("envoy.label", label(before), label(after), Effect::None),
        Change::of("envoy.replaces", names(was), names(is), replacing),
        Change::of("envoy.unlimited", before.unlimited, after.unlimited, unlimited),
        Change::of("envoy.quota", before.quota, after.quota, quota),
        Change::of("envoy.metric", names(&before.metric), names(&after.metric), Effect::None),
        Change::of("envoy.metadata", metadata(before), metadata(after), Effect::None),
    ];
    members.into_iter().flatten().collect()
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

fn refusing(before: &Rule, after: &Rule) -> Effect {
    Effect::of_more(&u8::from(before.refuse.is_none()), &u8::from(after.refuse.is_none()))
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

pub(super) fn missing(choice: OnMissingKey) -> &'static str {
    match choice {
        OnMissingKey::Refuse => "refuse",
        OnMissingKey::Skip => "skip",
        OnMissingKey::Shared => "shared",
    }
}

/// The more it is, the more requests without a key get through.
fn laxness(choice: OnMissingKey) -> u8 {
    match choice {
        OnMissingKey::Refuse => 0,
        OnMissingKey::Shared => 1,
        OnMissingKey::Skip => 2,
    }
}

fn failure(choice: OnStoreFailure) -> &'static str {
    match choice {
        OnStoreFailure::Deny => "deny",
        OnStoreFailure::Allow => "allow",
        OnStoreFailure::Local => "local",
    }
}

/// The more it is, the more requests get through without a store.
fn openness(choice: OnStoreFailure) -> u8 {
    match choice {
        OnStoreFailure::Deny => 0,
        OnStoreFailure::Local => 1,
        OnStoreFailure::Allow => 2,
    }
}

pub(super) fn sees(choice: ClientSees) -> &'static str {
    match choice {
        ClientSees::All => "all",
        ClientSees::RetryAfter => "retry_after",
        ClientSees::Nothing => "nothing",
    }
}
