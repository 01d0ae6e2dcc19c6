//! Names over all files: what rules and limits were called before, and that no two limits share counts.

use std::collections::BTreeMap;

use super::rules::{LimitPlaces, PlacedRule};
use crate::file::{Node, Report, is_name, one_or_more};
use crate::limit::Limit;
use crate::problem::Place;

/// The most former names of a rule: each of its limits has each of them.
const MAX_WAS: usize = 16;

/// A name that a rule had before, and where the file says so.
pub(super) struct Was {
    pub(super) name: String,
    /// The name as the file writes it.
    written: String,
    place: Place,
}

impl Was {
    /// Returns where the file says so.
    pub(super) fn place(&self) -> Place {
        self.place
    }
}

/// Reads `was` of a rule: names, the latest first. In a team's file a plain name is one of the team's, and one that
/// begins with a slash is one of the including file's.
pub(super) fn was(node: &Node, team: Option<&str>, report: &mut Report) -> Vec<Was> {
    let mut names = Vec::new();
    let items = one_or_more(node);
    if items.len() > MAX_WAS {
        let message = format!("was has more than {MAX_WAS} names");
        report.add(
            node.place,
            message,
            "leave out those between the latest and the oldest, which is the last",
        );
    }
    for item in items.iter().take(MAX_WAS) {
        let Some(text) = item.text("was", report) else { continue };
        let name = match (text.strip_prefix('/'), team) {
            (Some(outer), Some(_)) => outer.to_owned(),
            (None, Some(team)) if !text.contains('/') => format!("{team}/{text}"),
            _ => text.to_owned(),
        };
        let parts = name.split('/').count();
        if parts > 2 || !name.split('/').all(is_name) {
            let message = format!("was \"{text}\" is not the name of a rule");
            report.add(item.place, message, "write `was: old-name`, or `was: team/old-name`");
            continue;
        }
        names.push(Was { name, written: text.to_owned(), place: item.place });
    }
    names
}

/// Adds to a limit's former names those it had under its rule's former names. The last of them stays the oldest.
pub(super) fn inherit(limit: &mut Limit, rule: &str, was: &[Was]) {
    let own = |name: &str| name.strip_prefix(rule)?.strip_prefix('/').map(str::to_owned);
    let mut moved: Vec<String> = own(&limit.name).into_iter().collect();
    moved.extend(limit.was.iter().filter_map(|name| own(name)));
    let old = was.iter().flat_map(|was| moved.iter().map(move |name| format!("{}/{name}", was.name)));
    let old: Vec<String> = old.collect();
    // What a limit says of itself from another rule is older than what its rule says.
    let foreign = limit.was.iter().position(|name| own(name).is_none()).unwrap_or(limit.was.len());
    limit.was.splice(foreign..foreign, old);
}

/// Reports limits that would share counts, and former names that are still in use.
pub(super) fn check(rules: &[PlacedRule], fallback: Option<&PlacedRule>, report: &mut Report) {
    let all: Vec<&PlacedRule> = rules.iter().chain(fallback).collect();
    let rules = all.as_slice();
    let reported = check_rules(rules, report);
    let mut taken: BTreeMap<&str, (&str, Place)> = BTreeMap::new();
    for (limit, places) in limits(rules) {
        taken.entry(&limit.name).or_insert((&limit.name, places.limit));
    }
    for (limit, LimitPlaces { was: place, .. }) in limits(rules) {
        if reported.iter().any(|rule| limit.name.strip_prefix(rule).is_some_and(|rest| rest.starts_with('/')))
        {
            continue;
        }
        for was in &limit.was {
            match taken.get(was.as_str()) {
                None => {
                    taken.insert(was, (&limit.name, place));
                }
                Some((name, _)) if *name == limit.name && was == name => {
                    report.add(place, format!("the limit {name} says that it was itself"), "remove `was`");
                }
                Some((name, _)) if *name == limit.name => {}
                Some((name, at)) => report_shared(was, (&limit.name, place), (name, *at), report),
            }
        }
    }
}

/// Reports two limits that lay claim to the counts of one.
fn report_shared(was: &str, second: (&str, Place), first: (&str, Place), report: &mut Report) {
    let ((second, place), (first, at)) = (second, first);
    let at = report.cite(at, place);
    if first == was {
        let message = format!("the limit {second} says that it was {was}, which is still here, at {at}");
        report.add(place, message, "remove that `was`: the counts stay with the limit that has the name");
    } else {
        let message = format!("{second} and {first} (at {at}) both say that they were {was}");
        report.add(place, message, "keep `was` at the one that goes on with the counts");
    }
}

/// Reports former names of rules that rules still have; returns the rules that claim them.
fn check_rules<'a>(rules: &[&'a PlacedRule], report: &mut Report) -> Vec<&'a str> {
    let mut claiming = Vec::new();
    let present: BTreeMap<&str, Place> =
        rules.iter().map(|placed| (placed.rule.name.as_str(), placed.place)).collect();
    for placed in rules {
        for was in &placed.was {
            let name = &placed.rule.name;
            if was.name == *name {
                report.add(was.place, format!("the rule {name} says that it was itself"), "remove `was`");
                claiming.push(name.as_str());
            } else if let Some(other) = present.get(was.name.as_str()) {
                let at = report.cite(*other, was.place);
                let message =
                    format!("the rule {name} says that it was {}, which is still here, at {at}", was.name);
                let remedy = format!(
                    "remove `was`; a limit that moved from there says it itself: `was: {}/its-name`",
                    was.written
                );
                report.add(was.place, message, remedy);
                claiming.push(name.as_str());
            }
        }
    }
    claiming
}

fn limits<'a>(rules: &'a [&PlacedRule]) -> impl Iterator<Item = (&'a Limit, LimitPlaces)> {
    rules.iter().flat_map(|placed| placed.rule.limits.iter().zip(placed.limits.iter().copied()))
}
