//! What stands around a limit's numbers: its key, its cost, what counts, who chooses the terms.

use std::fmt::Display;

use super::bounds::direction;
use super::{Change, Effect, keys, rules};
use crate::cost::{Cost, CostTable};
use crate::count::{Count, OnSuccess};
use crate::limit::{Limit, Whose};
use crate::plan::{Override, Plans};
use crate::policy::Mode;

/// Compares what stands around the terms of a plan, a key or everybody.
pub(super) fn compare(before: &Limit, after: &Limit, whose: Whose<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(Change::of("key", keys::words(&before.key), keys::words(&after.key), Effect::Unclear));
    if changes.is_empty() && before.key != after.key {
        // Only what words do not tell: the keys a token is verified by, say.
        let name = after.key.to_string();
        changes.extend(Change::of("key", format!("{name} as it was"), name, Effect::Unclear));
    }
    changes.extend(costs(&before.cost, &after.cost));
    let fewer = Effect::of_more(&rank(&before.count), &rank(&after.count));
    let fewer = if fewer == Effect::None { Effect::Unclear } else { fewer };
    changes.extend(Change::of("counts", counting(&before.count), counting(&after.count), fewer));
    let shadow = |mode: Mode| u8::from(mode == Mode::Shadow);
    let freer = Effect::of_more(&shadow(before.mode), &shadow(after.mode));
    changes.extend(Change::of("mode", rules::mode(before.mode), rules::mode(after.mode), freer));
    let skips = |limit: &Limit| limit.on_missing_key.map_or("the rule's", rules::missing);
    changes.extend(Change::of("on_missing_key", skips(before), skips(after), Effect::Unclear));
    let sees = |limit: &Limit| limit.client_sees.map_or("the rule's", rules::sees);
    changes.extend(Change::of("client_sees", sees(before), sees(after), Effect::None));
    changes.extend(Change::of(
        "unit",
        or_none(before.unit.as_ref()),
        or_none(after.unit.as_ref()),
        Effect::None,
    ));
    let alert = |limit: &Limit| or_none(limit.alert_at.map(|percent| format!("{percent}%")));
    changes.extend(Change::of("alert_at", alert(before), alert(after), Effect::None));
    if changes.is_empty() && differ(before, after) {
        changes.extend(Change::of("limit", "as it was", "as it is now", Effect::Unclear));
    }
    match whose {
        Whose::Everybody => {}
        Whose::Plan(name) => changes.extend(plans(before.plans.as_ref(), after.plans.as_ref(), name)),
        Whose::Key(value) => changes.extend(over(before, after, value)),
    }
    changes
}

/// Returns whether two limits differ in more than their names and terms, which are compared elsewhere.
fn differ(before: &Limit, after: &Limit) -> bool {
    let like = Limit {
        name: after.name.clone(),
        was: after.was.clone(),
        terms: after.terms.clone(),
        plans: after.plans.clone(),
        overrides: after.overrides.clone(),
        overridden: after.overridden.clone(),
        overlays: after.overlays.clone(),
        ..before.clone()
    };
    like != *after
}

fn or_none(value: Option<impl Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// Compares costs: whatever becomes cheaper lets more through.
fn costs(before: &Cost, after: &Cost) -> Vec<Change> {
    if before == after {
        return Vec::new();
    }
    if let (Cost::Table(before), Cost::Table(after)) = (before, after) {
        return tables(before, after);
    }
    let cheaper = match (before, after) {
        (Cost::Units(before), Cost::Units(after)) => Effect::of_more(after, before),
        (Cost::Header(old), Cost::Header(new)) if old.default_units() != new.default_units() => {
            let (old, new) = (old.default_units(), new.default_units());
            return Change::of("cost unless said", old, new, Effect::of_more(&new, &old))
                .into_iter()
                .collect();
        }
        _ => Effect::Unclear,
    };
    Change::of("cost", before, after, cheaper).into_iter().collect()
}

fn tables(before: &CostTable, after: &CostTable) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(Change::of("cost", before.name(), after.name(), Effect::None));
    changes.extend(Change::of("cost by", before.by(), after.by(), Effect::Unclear));
    let (default, new_default) = (before.default_units(), after.default_units());
    let cheaper = Effect::of_more(&new_default, &default);
    changes.extend(Change::of("cost of what is not listed", default, new_default, cheaper));
    let units = |table: &CostTable, value: &str| {
        table.values().find(|(listed, _)| *listed == value).map_or(table.default_units(), |(_, units)| units)
    };
    let mut values: Vec<&str> = before.values().chain(after.values()).map(|(value, _)| value).collect();
    values.sort_unstable();
    values.dedup();
    for value in values {
        let (old, new) = (units(before, value), units(after, value));
        changes.extend(Change::of(format!("cost of {value}"), old, new, Effect::of_more(&new, &old)));
    }
    changes
}

/// The more it is, the less is counted in the end.
fn rank(count: &Count) -> u8 {
    match count {
        Count::Every => 0,
        Count::Failures { on_success: OnSuccess::Refund, .. } => 1,
        Count::Failures { on_success: OnSuccess::Reset, .. } => 2,
    }
}

fn counting(count: &Count) -> String {
    match count {
        Count::Every => "every request".to_owned(),
        Count::Failures { success, on_success } => {
            let then = match on_success {
                OnSuccess::Refund => "gives its charge back",
                OnSuccess::Reset => "forgets all failures",
            };
            format!("failures; a success ({success}) {then}")
        }
    }
}

/// Compares how a plan is chosen, beside the plan that is for whoever says nothing. Whose plan becomes another is let
/// through more or less, as that plan is.
fn plans(before: Option<&Plans>, after: Option<&Plans>, name: &str) -> Vec<Change> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    if after.list.get(after.default).is_none_or(|plan| plan.name != name) {
        return Vec::new();
    }
    let mut changes = Vec::new();
    changes.extend(Change::of("plan by", before.by(), after.by(), Effect::Unclear));
    if let (Some(old), Some(new)) = (before.list.get(before.default), after.list.get(after.default)) {
        let effect = direction(&old.terms, &new.terms);
        let effect = if effect == Effect::None { Effect::Unclear } else { effect };
        changes.extend(Change::of("plan unless said", &old.name, &new.name, effect));
    }
    if changes.is_empty() && !before.chooses_alike(after) {
        changes.extend(Change::of("plan", "as it was chosen", "chosen otherwise", Effect::Unclear));
    }
    changes
}

/// Compares what an override says beside its terms.
fn over(before: &Limit, after: &Limit, value: &str) -> Vec<Change> {
    let find = |limit: &'_ Limit| limit.overrides.iter().find(|one| one.value == value).cloned();
    let (Some(before), Some(after)) = (find(before), find(after)) else { return Vec::new() };
    let until = |one: &Override| or_none(one.last_day());
    let mut changes = Vec::new();
    changes.extend(Change::of("until", until(&before), until(&after), Effect::Unclear));
    changes.extend(Change::of("because", &before.because, &after.because, Effect::None));
    changes
}
