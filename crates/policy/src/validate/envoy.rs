//! What a rule for Envoy's descriptors says besides its limits.

use std::collections::BTreeSet;

use super::descriptors::json;
use super::rules::PlacedRule;
use crate::descriptor::EntryPattern;
use crate::file::{Fields, Node, Report, Value, nearest, one_or_more};
use crate::problem::Place;
use crate::rule::{EnvoyTerms, Rule};

/// Members of a rule that say how it limits, which mean nothing where all is refused or nothing is limited.
pub(super) const OF_LIMITING: [&str; 6] =
    ["guesses", "on_missing_key", "on_store_failure", "store_failure_because", "client_sees", "was"];

/// What `envoy` says, and where.
pub(super) struct Placed {
    pub(super) terms: EnvoyTerms,
    place: Place,
    replaces: Vec<Place>,
    metric: Vec<Place>,
}

/// Reads `envoy`.
pub(super) fn read(node: &Node, report: &mut Report) -> Option<Placed> {
    let mut fields = Fields::open(node, "envoy", report)?;
    let label = fields.get("label").and_then(|node| label(node, report));
    let (replaces, replaces_at) = names(fields.get("replaces"), "replaces", report);
    let mut flag = |key| fields.get(key).and_then(|node| node.boolean(key, report)).unwrap_or(false);
    let (unlimited, quota) = (flag("unlimited"), flag("quota"));
    let (metric, metric_at) = names(fields.get("metric"), "metric", report);
    let metadata = fields.get("metadata").and_then(|node| metadata(node, report));
    let unlimited_place = fields.place_of("quota");
    fields.finish(&[], report);
    if unlimited && quota {
        let message = "quota says when limits refuse, and with `unlimited: true` there are none";
        report.add(unlimited_place, message, "remove one of them");
    }
    let metadata = metadata.unwrap_or_default();
    let terms = EnvoyTerms { label, replaces, unlimited, quota, metric, metadata };
    Some(Placed { terms, place: node.place, replaces: replaces_at, metric: metric_at })
}

/// Envoy writes the name into a header's value and into the names of metrics as it is.
fn label(node: &Node, report: &mut Report) -> Option<String> {
    // An empty text is for none.
    if matches!(&node.value, Value::Scalar { text, plain: false } if text.is_empty()) {
        return Some(String::new());
    }
    let text = node.text("label", report)?;
    if let Some(mark) = text.chars().find(|mark| matches!(mark, '"' | '\\') || mark.is_control()) {
        let message = format!("the label has {mark:?} in it, which Envoy writes into headers as it is");
        report.add(node.place, message, "use letters, digits, spaces, `-`, `_` and `.`");
        return None;
    }
    Some(text.to_owned())
}

fn names(node: Option<&Node>, what: &str, report: &mut Report) -> (Vec<String>, Vec<Place>) {
    let items = node.map(one_or_more).unwrap_or_default();
    let read = items.iter().filter_map(|item| Some((item.text(what, report)?.to_owned(), item.place)));
    read.unzip()
}

fn metadata(node: &Node, report: &mut Report) -> Option<serde_json::Map<String, serde_json::Value>> {
    if !matches!(node.value, Value::Map(_)) {
        let message = format!("metadata has to be a mapping, and this is {}", node.kind());
        report.add(node.place, message, "write members, `name: value`");
        return None;
    }
    if let serde_json::Value::Object(members) = json(node) { Some(members) } else { None }
}

/// Reports what has no place beside `unlimited: true`.
pub(super) fn check_unlimited(rule: &mut Fields<'_>, name: &str, report: &mut Report) {
    for (member, entry) in rule.among(&["limits", "refuse"]) {
        let message = format!("the rule {name} has both {member} and `unlimited: true`");
        report.add(entry.place, message, "keep one of them");
    }
    for (member, entry) in rule.among(&OF_LIMITING) {
        let message = format!("`{member}` has no meaning in a rule that limits nothing");
        report.add(entry.place, message, "remove it");
    }
}

impl Placed {
    /// Reports what the rest of the rule does not bear: terms for Envoy of a rule for requests, and metrics of entries
    /// that there are none of.
    pub(super) fn check(&self, placed: &PlacedRule, report: &mut Report) {
        let rule = &placed.rule;
        let patterns: Vec<_> =
            rule.matches.iter().filter_map(|matcher| matcher.descriptor.as_ref()).collect();
        if patterns.is_empty() {
            let message = format!("`envoy` is of rules for descriptors, and {} is for requests", rule.name);
            let remedy = "remove it, or write `match: { domain: …, descriptor: [ … ] }`";
            report.add(self.place, message, remedy);
            return;
        }
        if patterns.iter().any(|pattern| pattern.entries.is_none()) {
            return;
        }
        let known: BTreeSet<&str> = patterns
            .iter()
            .flat_map(|pattern| pattern.entries.iter().flatten())
            .map(EntryPattern::name)
            .collect();
        for (name, place) in self.terms.metric.iter().zip(&self.metric) {
            if !known.contains(name.as_str()) {
                let message = format!("no descriptor of the rule has an entry {name} for its metric");
                let names: Vec<&str> = known.iter().copied().collect();
                report.add(*place, message, format!("name one of {}", names.join(", ")));
            }
        }
    }

    /// Returns the rules that are replaced, each with its place.
    pub(super) fn replaced(self) -> Vec<(String, Place)> {
        self.terms.replaces.into_iter().zip(self.replaces).collect()
    }
}

/// Returns the domains whose descriptors a rule applies to.
fn domains(rule: &Rule) -> BTreeSet<String> {
    let patterns = rule.matches.iter().filter_map(|matcher| matcher.descriptor.as_ref());
    patterns.map(|pattern| pattern.domain.clone()).collect()
}

/// Finds the rules that others replace by the names they have over all files; a team's own come first.
pub(super) fn resolve(rules: &mut [PlacedRule], report: &mut Report) {
    let known: Vec<(String, BTreeSet<String>)> =
        rules.iter().map(|placed| (placed.rule.name.clone(), domains(&placed.rule))).collect();
    for placed in rules {
        let team = placed.rule.name.split_once('/').map(|(team, _)| team);
        let (mut replaces, own_domains) = (Vec::new(), domains(&placed.rule));
        for (name, place) in std::mem::take(&mut placed.replaces) {
            let own = team.map(|team| format!("{team}/{name}"));
            let find = |wanted: &str| known.iter().find(|(rule, _)| rule == wanted);
            let found = own.as_deref().and_then(find).or_else(|| find(&name));
            match found {
                None => {
                    let names = known.iter().map(|(rule, _)| rule.as_str());
                    let remedy = match nearest(&name, names) {
                        Some(near) => format!("did you mean \"{near}\"?"),
                        None => "name a rule for descriptors of this file".to_owned(),
                    };
                    report.add(place, format!("there is no rule {name} to replace"), remedy);
                }
                Some((rule, _)) if *rule == placed.rule.name => {
                    report.add(place, format!("the rule {rule} replaces itself"), "name another one");
                }
                Some((rule, others)) if others.is_empty() => {
                    let message =
                        format!("the rule {rule} is for requests, and is never met by a descriptor");
                    report.add(place, message, "name a rule for descriptors");
                }
                Some((rule, others)) if own_domains.is_disjoint(others) => {
                    let listed: Vec<&str> = others.iter().map(String::as_str).collect();
                    let message = format!(
                        "the rule {rule} is for domain {}, and a call has one domain: they never meet",
                        listed.join(", ")
                    );
                    report.add(place, message, "name a rule of the same domain");
                }
                Some((rule, _)) => replaces.push(rule.clone()),
            }
        }
        placed.rule.envoy.replaces = replaces;
    }
}
