//! What limits need of their rule's match: a parameter in every path, an entry in every descriptor.
//!
//! Else some requests, or all, would go without their limit.

use super::descriptors;
use super::rules::{FALLBACK, LimitPlaces, PlacedRule};
use crate::cost::Cost;
use crate::descriptor::{DescriptorPattern, EntryPattern, REMOTE_ADDRESS};
use crate::file::Report;
use crate::key::{Origin, Part, Source, SourceKind};

/// Checks the limits of a rule.
pub(super) fn check(placed: &PlacedRule, report: &mut Report) {
    let patterns: Vec<&DescriptorPattern> =
        placed.rule.matches.iter().filter_map(|matcher| matcher.descriptor.as_ref()).collect();
    if patterns.is_empty() {
        check_paths(placed, report);
    } else {
        check_entries(placed, &patterns, report);
    }
}

/// A key from a path needs the parameter in every pattern.
fn check_paths(placed: &PlacedRule, report: &mut Report) {
    for (limit, LimitPlaces { key: place, .. }) in placed.rule.limits.iter().zip(&placed.limits) {
        for name in limit.key.parts.iter().filter_map(Part::path_parameter) {
            let matches = &placed.rule.matches;
            let everywhere = !matches.is_empty()
                && matches.iter().all(|matcher| {
                    let has = |pattern: &crate::matcher::Pattern| pattern.params().any(|param| param == name);
                    !matcher.paths.is_empty() && matcher.paths.iter().all(has)
                });
            if !everywhere {
                let (message, remedy) = if placed.rule.name == FALLBACK {
                    let message =
                        format!("the key reads {{{name}}} from the path, and the fallback has no `match`");
                    (message, "take another key, or write a rule with that path".to_owned())
                } else {
                    let message = format!(
                        "the key reads {{{name}}} from the path, which not every path of the rule has"
                    );
                    (message, format!("write {{{name}}} into each path of `match`"))
                };
                report.add(*place, message, remedy);
            }
        }
    }
}

/// What a descriptor's limits read has to be one of its entries.
fn check_entries(placed: &PlacedRule, patterns: &[&DescriptorPattern], report: &mut Report) {
    for (limit, places) in placed.rule.limits.iter().zip(&placed.limits) {
        for part in &limit.key.parts {
            if let Some((message, remedy)) = unreadable("key", part, patterns) {
                report.add(places.key, message, remedy);
            }
        }
        let cost = match &limit.cost {
            Cost::Units(_) => None,
            Cost::Table(table) => unreadable("cost", &table.by, patterns),
            Cost::Header(_) | Cost::Items(_) => {
                let message =
                    format!("the cost of {} is read from a request, and a descriptor has none", limit.name);
                Some((message, "leave it out: a call says how many hits it is".to_owned()))
            }
        };
        let plan = limit.plans.as_ref().and_then(|plans| unreadable("plan", plans.part(), patterns));
        for (message, remedy) in cost.into_iter().chain(plan) {
            report.add(places.limit, message, remedy);
        }
    }
}

/// Returns why a part is never there, or not in every descriptor, and what to do.
fn unreadable(what: &str, part: &Part, patterns: &[&DescriptorPattern]) -> Option<(String, String)> {
    match &part.from {
        Origin::Global => None,
        // One that is never there does no harm beside one that is.
        Origin::FirstOf(parts) => {
            let mut why: Vec<_> = parts.iter().map(|part| unreadable(what, part, patterns)).collect();
            if why.iter().any(Option::is_none) { None } else { why.swap_remove(0) }
        }
        Origin::Derived(derived) => unreadable(what, &derived.of, patterns),
        Origin::One(Source { kind: SourceKind::Descriptor(entry), .. }) => {
            patterns.iter().find_map(|pattern| lacks(what, &entry.name, pattern))
        }
        Origin::One(Source { kind: SourceKind::ClientIp { .. }, .. }) => {
            let without = patterns.iter().find(|pattern| !descriptors::tells_client(pattern))?;
            let message = format!("the {what} reads the client's address, and {without} does not tell it");
            Some((message, format!("add the entry {REMOTE_ADDRESS}, as Envoy's configuration has to")))
        }
        Origin::One(Source { kind, .. }) => {
            let message = format!("the {what} reads {kind}, and a descriptor has nothing but its entries");
            let remedy = match patterns.iter().find_map(|pattern| pattern.entries.as_ref()) {
                Some(entries) => format!("read one of {}, such as {}", names(entries), example(entries)),
                None => "read an entry, such as { descriptor: remote_address }".to_owned(),
            };
            Some((message, remedy))
        }
    }
}

/// Returns why an entry cannot be read by a name, and what to do.
fn lacks(what: &str, name: &str, pattern: &DescriptorPattern) -> Option<(String, String)> {
    let entries = pattern.entries.as_ref()?;
    let count = |of: fn(&EntryPattern) -> &str| entries.iter().filter(|entry| of(entry) == name).count();
    let (named, keyed) = (count(EntryPattern::name), count(|entry| &entry.key));
    match (named, keyed) {
        (1, _) | (0, 1) => None,
        (0, 0) => {
            let message = format!("the {what} reads the entry {name}, which {pattern} does not have");
            Some((message, format!("read one of {}", names(entries))))
        }
        _ => {
            let message = format!("the {what} reads the entry {name}, of which {pattern} has several");
            let remedy = format!("give them names, `{{ key: {name}, as: … }}`, and read one of these");
            Some((message, remedy))
        }
    }
}

fn names(entries: &[EntryPattern]) -> String {
    entries.iter().map(EntryPattern::name).collect::<Vec<_>>().join(", ")
}

fn example(entries: &[EntryPattern]) -> String {
    entries.last().map_or_else(String::new, |entry| format!("{{ descriptor: {} }}", entry.name()))
}
