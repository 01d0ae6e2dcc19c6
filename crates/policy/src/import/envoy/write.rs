//! The text of a policy that is made of descriptors.

use super::config::Allowance;
use super::keys::Keys;
use super::rules::{Entry, Rule};
use crate::import::quote::{flow, quote, quoted_list};

/// The most requests that a limit of a policy may have.
pub(super) const MOST: u32 = 1 << 30;

/// What stands above the rules of a policy for which nobody has said more.
const HEAD: &str = "\
# Made by `tidegate import envoy` of a configuration of envoyproxy/ratelimit.
tidegate: 1

# Where Envoy asks. The descriptors of one call are counted all or none; with `counting: each`, each by itself, and what is
# refused uses up what is left, as envoyproxy/ratelimit counts.
envoy: { listen: 127.0.0.1:8082 }
";

/// Why rules let pass what they cannot count.
const ON_STORE_FAILURE: &str = "\
# `on_store_failure: allow`: when counts cannot be kept, requests pass. That is what Envoy does by itself when it gets no
# answer; `deny` is the choice for what must not be left open.
";

/// Writes a whole policy.
pub(super) fn policy(rules: &[Rule<'_>], keys: &Keys) -> String {
    let mut text = HEAD.to_owned();
    let declared = declared(keys);
    if !declared.is_empty() {
        text.push_str("\nkeys:\n");
        text.push_str(&declared);
    }
    text.push('\n');
    text.push_str(ON_STORE_FAILURE);
    if rules.is_empty() {
        text.push_str("rules: []\n");
        return text;
    }
    text.push_str("rules:\n");
    for one in rules {
        text.push_str(&rule(one, keys));
    }
    text
}

/// Writes the members of `keys`.
pub(super) fn declared(keys: &Keys) -> String {
    let member =
        |(entry, name): (&str, &str)| format!("  {}: {{ descriptor: {} }}\n", quote(name), quote(entry));
    keys.declared().map(member).collect()
}

/// Writes a rule, as an item of a list.
pub(super) fn rule(rule: &Rule<'_>, keys: &Keys) -> String {
    let mut lines = vec![format!("  - name: {}", quote(&rule.name)), "    match:".to_owned()];
    lines.push(format!("      domain: {}", quote(rule.domain)));
    lines.push("      descriptor:".to_owned());
    lines.extend(rule.entries.iter().map(|entry| format!("        - {}", self::entry(entry))));
    if rule.leaf().is_some_and(|leaf| leaf.flags.shadow) && rule.limit.allowance != Allowance::Unlimited {
        lines.push("    mode: shadow".to_owned());
    }
    lines.push(format!("    envoy: {{ {} }}", terms(rule).join(", ")));
    if let Allowance::Per { requests, unit } = rule.limit.allowance {
        let counted = rule.counted();
        let requests = requests.min(MOST);
        lines.push("    on_store_failure: allow".to_owned());
        // An empty value is a value there, and has to be counted.
        if !counted.is_empty() {
            lines.push("    on_missing_key: shared".to_owned());
        }
        lines.push("    limits:".to_owned());
        lines.push("      - name: limit".to_owned());
        lines.push(format!("        says: {}", quote(&keys.says(&counted, (requests, unit)))));
        lines.push(format!("        key: {}", key(&counted, keys)));
        lines.push(format!("        fixed_window: {{ limit: {requests}, window: {} }}", unit.written()));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn key(counted: &[&str], keys: &Keys) -> String {
    let names = || counted.iter().map(|entry| keys.name(entry));
    match counted {
        [] => "global".to_owned(),
        [one] => quote(keys.name(one)),
        _ => quoted_list(names()),
    }
}

fn entry(entry: &Entry<'_>) -> String {
    let mut members = vec![format!("key: {}", quote(&entry.level.key))];
    members.extend(entry.level.value.as_ref().map(|value| format!("value: {}", quote(value))));
    if !entry.except.is_empty() {
        members.push(format!("except: {}", quoted_list(entry.except.iter().copied())));
    }
    members.extend(entry.called.as_ref().map(|name| format!("as: {}", quote(name))));
    format!("{{ {} }}", members.join(", "))
}

/// Returns the members of a rule's `envoy`.
fn terms(rule: &Rule<'_>) -> Vec<String> {
    let mut members = vec![format!("label: {}", quote(&label(&rule.limit.name)))];
    if !rule.replaces.is_empty() {
        members.push(format!("replaces: {}", quoted_list(rule.replaces.iter().map(String::as_str))));
    }
    let unlimited = rule.limit.allowance == Allowance::Unlimited;
    if unlimited {
        members.push("unlimited: true".to_owned());
    }
    let Some(leaf) = rule.leaf() else { return members };
    if leaf.flags.quota && !unlimited {
        members.push("quota: true".to_owned());
    }
    let metric = |entry: &&Entry<'_>| leaf.flags.detailed_metric || entry.level.flags.value_to_metric;
    let metric: Vec<&str> = rule.entries.iter().filter(metric).map(Entry::name).collect();
    if !metric.is_empty() {
        members.push(format!("metric: {}", quoted_list(metric)));
    }
    members.extend(leaf.metadata.as_ref().map(|node| format!("metadata: {}", flow(node))));
    members
}

/// Returns the name that Envoy is told; it writes that into headers as it is.
pub(super) fn label(name: &str) -> String {
    name.replace(|letter: char| matches!(letter, '"' | '\\') || letter.is_control(), "_")
}
