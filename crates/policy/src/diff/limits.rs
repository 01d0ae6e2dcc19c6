//! What changes of limits: compared by what they admit.

use super::bounds::{bounds, written};
use super::{Change, Effect, Fate, LimitDiff, Strictness, around};
use crate::limit::{Limit, Terms, Whose};
use crate::policy::Policy;

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<LimitDiff> {
    let mut found: Vec<&str> = Vec::new();
    let mut diffs = Vec::new();
    for limit in limits(new) {
        let before = limits(old).find(|before| is_former(before, limit));
        if let Some(before) = before {
            found.push(&before.name);
            changed(before, limit, &mut diffs);
        } else {
            let hint = perhaps_renamed(old, new, limit);
            diffs.extend(limit.variants().map(|(whose, terms)| LimitDiff {
                hint: hint.clone(),
                ..one_sided(limit, whose, terms, true)
            }));
        }
    }
    let gone = limits(old).filter(|limit| !found.contains(&limit.name.as_str()));
    diffs.extend(gone.flat_map(|limit| {
        limit.variants().map(|(whose, terms)| one_sided(limit, whose, terms, false)).collect::<Vec<_>>()
    }));
    diffs
}

fn limits(policy: &Policy) -> impl Iterator<Item = &Limit> {
    policy.rules.iter().chain(&policy.fallback).flat_map(|rule| &rule.limits)
}

/// Returns whether a limit of the old policy is what one of the new policy was.
fn is_former(before: &Limit, after: &Limit) -> bool {
    before.name == after.name || after.was.contains(&before.name)
}

/// Returns what to do when a new limit is an old one under another name: of the same rule, on the same key, with
/// nothing that is its heir.
fn perhaps_renamed(old: &Policy, new: &Policy, limit: &Limit) -> String {
    let rule = |limit: &Limit| limit.name.rsplit_once('/').map(|(rule, _)| rule.to_owned());
    let is_gone = |before: &&Limit| !limits(new).any(|after| is_former(before, after));
    let mut gone = limits(old).filter(is_gone);
    let former = gone.find(|before| before.key == limit.key && rule(before) == rule(limit));
    former.map_or_else(String::new, |former| {
        let name = former.name.rsplit('/').next().unwrap_or_default();
        format!("if it is {} under another name, write `was: {name}` to keep its counts", former.name)
    })
}

/// Tells of a limit, or of one of its terms, that is in one policy only.
fn one_sided(limit: &Limit, whose: Whose<'_>, terms: &Terms, added: bool) -> LimitDiff {
    let change = if added {
        Change::added("limit", written(terms), Effect::None)
    } else {
        Change::removed("limit", written(terms), Effect::None)
    };
    LimitDiff {
        name: limit.name.clone(),
        whose: name_of(whose),
        renamed_from: None,
        strictness: if added { Strictness::Added } else { Strictness::Removed },
        fate: if added { Fate::Fresh } else { Fate::Dropped },
        changes: vec![change],
        hint: String::new(),
    }
}

fn name_of(whose: Whose<'_>) -> Option<String> {
    whose.shown().map(std::borrow::Cow::into_owned)
}

/// Compares a limit with what it was, each of its terms with those of the same plan or key.
fn changed(before: &Limit, after: &Limit, diffs: &mut Vec<LimitDiff>) {
    for (whose, terms) in after.variants() {
        match before.variants().find(|(other, _)| *other == whose) {
            Some((_, former)) => diffs.extend(terms_changed((before, former), (after, terms), whose)),
            None => diffs.push(LimitDiff {
                // A key of the limit has its count already, under the terms it had.
                fate: fate((before, &before.terms), (after, terms)),
                ..one_sided(after, whose, terms, true)
            }),
        }
    }
    for (whose, terms) in before.variants() {
        if !after.variants().any(|(other, _)| other == whose) {
            let fate = fate((before, terms), (after, &after.terms));
            let name = after.name.clone();
            diffs.push(LimitDiff { name, fate, ..one_sided(before, whose, terms, false) });
        }
    }
}

/// Compares the terms of one plan, key or everybody; what stands around them belongs to all, and is told of each.
fn terms_changed(
    (before, former): (&Limit, &Terms),
    (after, terms): (&Limit, &Terms),
    whose: Whose<'_>,
) -> Option<LimitDiff> {
    let mut changes = bounds(former, terms);
    changes.extend(around::compare(before, after, whose));
    changes.extend(Change::of("says", &former.says, &terms.says, Effect::None));
    let fate = fate((before, former), (after, terms));
    let renamed_from = (before.name != after.name).then(|| before.name.clone());
    let nothing = changes.is_empty() && renamed_from.is_none() && fate == Fate::Kept;
    (!nothing).then(|| LimitDiff {
        name: after.name.clone(),
        whose: name_of(whose),
        renamed_from,
        strictness: Strictness::of(&changes),
        fate,
        changes,
        hint: hint(before, after),
    })
}

/// Tells what becomes of the counts of a limit's keys.
fn fate((before, former): (&Limit, &Terms), (after, terms): (&Limit, &Terms)) -> Fate {
    if before.key != after.key || before.storage_name() != after.storage_name() {
        return Fate::Fresh;
    }
    let (old, new) = (&former.quota, &terms.quota);
    if old.algorithm() != new.algorithm() {
        return Fate::Carried;
    }
    if new.nominal() < old.nominal() || new.window() < old.window() { Fate::Clamped } else { Fate::Kept }
}

fn hint(before: &Limit, after: &Limit) -> String {
    if before.storage_name() == after.storage_name() {
        return String::new();
    }
    let mut names: Vec<&str> = after.was.iter().map(String::as_str).collect();
    names.push(before.storage_name());
    names.dedup();
    format!(
        "its counts are kept under {}; to keep them, write `was: [{}]`",
        before.storage_name(),
        names.join(", ")
    )
}
