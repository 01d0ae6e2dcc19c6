//! From the tree to domains and descriptors, with everything that is wrong at its place.

use std::collections::BTreeMap;

use super::config::{Allowance, Descriptor, Domain, Flags, RateLimit, Unit};
use super::members::Notes;
use crate::file::{Entry, Node, Value, nearest};
use crate::problem::Place;

const DESCRIPTOR: [&str; 10] = [
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "metadata",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
];
const RATE_LIMIT: [&str; 5] = ["unit", "requests_per_unit", "unlimited", "name", "replaces"];

/// Reads a file; `None` when it has no domain.
pub(super) fn domain(root: &Node, notes: &mut Notes<'_>) -> Option<Domain> {
    let members = notes.members(root, "the file", &["domain", "descriptors"])?;
    let name = required(members, (root.place, "domain", "the file"), "shop", notes);
    let descriptors = descriptors(member(members, "descriptors"), notes);
    let (name, place) = name?;
    Some(Domain { name, place, descriptors })
}

fn member<'n>(members: &'n [Entry], key: &str) -> Option<&'n Node> {
    members.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

/// Reads a text that has to be there.
fn required(
    members: &[Entry],
    (place, key, what): (Place, &str, &str),
    example: &str,
    notes: &mut Notes<'_>,
) -> Option<(String, Place)> {
    let node = member(members, key);
    let text = notes.text(node, key);
    if !text.trim().is_empty() {
        return Some((text, node.map_or(place, |node| node.place)));
    }
    // What is no text at all has been told.
    if node.is_none_or(|node| matches!(node.value, Value::Scalar { .. })) {
        let (place, message) = match node {
            Some(node) => (node.place, format!("`{key}` is empty")),
            None => (place, format!("{what} has no `{key}`")),
        };
        notes.wrong(place, message, format!("write `{key}: {example}`"));
    }
    None
}

/// Reads descriptors that stand beside each other; each entry's key and value only once.
fn descriptors(node: Option<&Node>, notes: &mut Notes<'_>) -> Vec<Descriptor> {
    let items = notes.items(node, "`descriptors`", "key: remote_address");
    let read: Vec<Descriptor> = items.iter().filter_map(|item| descriptor(item, notes)).collect();
    let mut seen: BTreeMap<(&str, Option<&str>), Place> = BTreeMap::new();
    for one in &read {
        if let Some(first) = seen.insert((&one.key, one.value.as_deref()), one.place) {
            let value = one.value.as_ref().map(|value| format!(" with the value \"{value}\""));
            let message = format!(
                "the key \"{}\"{} is here twice, first at {first}",
                one.key,
                value.unwrap_or_default()
            );
            notes.wrong(one.place, message, "make them one, or give them other values");
        }
    }
    read
}

/// Reads a descriptor; its depth is that of the tree, which is bounded.
fn descriptor(node: &Node, notes: &mut Notes<'_>) -> Option<Descriptor> {
    let members = notes.members(node, "a descriptor", &DESCRIPTOR)?;
    let key = required(members, (node.place, "key", "a descriptor"), "remote_address", notes);
    let value_node = member(members, "value");
    let value = Some(notes.text(value_node, "value")).filter(|value| !value.is_empty());
    if let Some(blank) = value.as_ref().filter(|value| value.trim().is_empty()) {
        let place = value_node.map_or(node.place, |node| node.place);
        notes.wrong(
            place,
            format!("the value {blank:?} is nothing but blanks"),
            "write a word, or leave it out",
        );
    }
    let mut flag = |key: &str| notes.flag(member(members, key), key);
    let flags = Flags {
        shadow: flag("shadow_mode"),
        quota: flag("quota_mode"),
        detailed_metric: flag("detailed_metric"),
        value_to_metric: flag("value_to_metric"),
        share_threshold: flag("share_threshold"),
    };
    let limit = member(members, "rate_limit").and_then(|node| rate_limit(node, notes));
    let metadata = member(members, "metadata").filter(|node| node.kind() != "nothing");
    if let Some(node) = metadata.filter(|node| node.kind() != "a mapping") {
        let message = format!("metadata has to be a mapping, and this is {}", node.kind());
        notes.wrong(node.place, message, "write `metadata: { name: value }`");
    }
    let children = descriptors(member(members, "descriptors"), notes);
    let (key, place) = key?;
    let of_a_limit = of_a_limit(members, flags, metadata);
    let metadata = metadata.cloned();
    let read = Descriptor { place, key, value, limit, children, metadata, flags, of_a_limit };
    if flags.share_threshold && !read.is_wildcard() {
        let place = member(members, "share_threshold").map_or(node.place, |node| node.place);
        let message = "share_threshold is about the values that a star stands for, and the value has none";
        notes.wrong(place, message, "write a value with `*`, or remove share_threshold");
    }
    Some(read)
}

/// Returns the words of a descriptor that say something of its limit, each where it stands; a no says nothing.
fn of_a_limit(members: &[Entry], flags: Flags, metadata: Option<&Node>) -> Vec<(&'static str, Place)> {
    let said = [
        ("shadow_mode", flags.shadow),
        ("quota_mode", flags.quota),
        ("detailed_metric", flags.detailed_metric),
        ("metadata", metadata.is_some()),
    ];
    let words = said.into_iter().filter(|(_, said)| *said).map(|(word, _)| word);
    words.filter_map(|word| Some((word, member_place(members, word)?))).collect()
}

fn member_place(members: &[Entry], key: &str) -> Option<Place> {
    members.iter().find(|entry| entry.key == key).map(|entry| entry.place)
}

/// Reads what is allowed; nothing stands for no limit.
fn rate_limit(node: &Node, notes: &mut Notes<'_>) -> Option<RateLimit> {
    if node.kind() == "nothing" {
        return None;
    }
    let members = notes.members(node, "a rate_limit", &RATE_LIMIT)?;
    let name_node = member(members, "name");
    let name = notes.text(name_node, "name");
    let unlimited = notes.flag(member(members, "unlimited"), "unlimited");
    let allowance =
        if unlimited { unlimited_allowance(members, notes) } else { allowance(node, members, notes) };
    let replaces = replaces(member(members, "replaces"), &name, notes);
    Some(RateLimit { allowance: allowance?, name, replaces })
}

/// An unlimited limit has no unit; numbers beside it mean nothing.
fn unlimited_allowance(members: &[Entry], notes: &mut Notes<'_>) -> Option<Allowance> {
    let node = member(members, "unit");
    let unit = notes.text(node, "unit");
    if let (Some(node), Some(_)) = (node, Unit::of(&unit)) {
        notes.wrong(
            node.place,
            "a unit means nothing beside `unlimited: true`",
            "remove `unit`, or `unlimited`",
        );
        return None;
    }
    Some(Allowance::Unlimited)
}

fn allowance(node: &Node, members: &[Entry], notes: &mut Notes<'_>) -> Option<Allowance> {
    let requests = if let Some(number) = member(members, "requests_per_unit") {
        notes.number(number, "requests_per_unit")
    } else {
        let message = "a rate_limit without `requests_per_unit` is one of 0: nothing passes";
        notes.remark(node.place, message, "write it out, if that is not meant");
        Some(0)
    };
    let unit_node = member(members, "unit");
    let written = notes.text(unit_node, "unit");
    let unit = Unit::of(&written);
    // What is no text at all has been told.
    if unit.is_none() && unit_node.is_none_or(|node| matches!(node.value, Value::Scalar { .. })) {
        let place = unit_node.map_or(node.place, |node| node.place);
        let message = match written.as_str() {
            "" => "a rate_limit has no `unit`".to_owned(),
            unit => format!("the unit \"{unit}\" is not known"),
        };
        let near = nearest(&written, Unit::names()).map(|near| format!("did you mean {near}?"));
        let all = || format!("it is one of {}", Unit::names().collect::<Vec<_>>().join(", "));
        notes.wrong(place, message, near.unwrap_or_else(all));
    }
    Some(Allowance::Per { requests: requests?, unit: unit? })
}

fn replaces(node: Option<&Node>, own: &str, notes: &mut Notes<'_>) -> Vec<(String, Place)> {
    let mut names = Vec::new();
    for item in notes.items(node, "`replaces`", "name: other") {
        let Some(members) = notes.members(item, "a member of `replaces`", &["name"]) else { continue };
        let what = (item.place, "name", "a member of `replaces`");
        let Some((name, place)) = required(members, what, "other", notes) else { continue };
        if name == own {
            notes.wrong(place, format!("the limit {name} replaces itself"), "name another, or remove it");
        } else {
            names.push((name, place));
        }
    }
    names
}
