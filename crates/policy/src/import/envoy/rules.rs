//! From nested descriptors to rules, of which at most one applies to any descriptor.
//!
//! That service goes down level by level and never back: an entry's value is first looked for as it is, then among the
//! patterns in their order, then as the key without a value. So each rule is one path from the first level to a limit, and
//! at every level it leaves out what its siblings take first, also where they lead nowhere.

use super::config::{Descriptor, Domain, RateLimit};
use super::names::{Names, mark};
use crate::descriptor::ValuePattern;

/// A rule to be written.
pub(super) struct Rule<'c> {
    pub(super) name: String,
    pub(super) domain: &'c str,
    pub(super) entries: Vec<Entry<'c>>,
    pub(super) limit: &'c RateLimit,
    /// The rules that do not count when this one applies.
    pub(super) replaces: Vec<String>,
}

/// What an entry of a descriptor has to be.
pub(super) struct Entry<'c> {
    pub(super) level: &'c Descriptor,
    /// The values that siblings take first.
    pub(super) except: Vec<&'c str>,
    /// Its name, where its key is another entry's as well.
    pub(super) called: Option<String>,
}

impl Entry<'_> {
    /// Returns the name by which keys and metrics read its value.
    pub(super) fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(&self.level.key)
    }
}

impl<'c> Rule<'c> {
    /// Returns the descriptor that bears the limit.
    pub(super) fn leaf(&self) -> Option<&'c Descriptor> {
        self.entries.last().map(|entry| entry.level)
    }

    /// Returns the names of the entries that are counted on.
    pub(super) fn counted(&self) -> Vec<&str> {
        self.entries.iter().filter(|entry| entry.level.varies()).map(Entry::name).collect()
    }
}

/// Returns the rules of all domains, in the order of the files.
pub(super) fn rules(domains: &[Domain]) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    for domain in domains {
        walk(&domain.name, &domain.descriptors, &mut Vec::new(), &mut rules);
    }
    let mut names = Names::default();
    let parts: Vec<Vec<String>> = rules.iter().map(name_parts).collect();
    for parts in &parts {
        names.want(&as_strs(parts));
    }
    for (rule, parts) in rules.iter_mut().zip(&parts) {
        rule.name = names.give(&as_strs(parts));
    }
    replace(&mut rules);
    rules
}

fn as_strs(parts: &[String]) -> Vec<&str> {
    parts.iter().map(String::as_str).collect()
}

/// Returns what a rule is called after: its domain, and each entry's key with its value. What stands between the two is in
/// neither, so that `a_b` with `c` is not `a` with `b_c`.
fn name_parts(rule: &Rule<'_>) -> Vec<String> {
    let entry = |entry: &Entry<'_>| match &entry.level.value {
        Some(value) => format!("{}_\0{value}", entry.level.key),
        None => entry.level.key.clone(),
    };
    std::iter::once(rule.domain.to_owned()).chain(rule.entries.iter().map(entry)).collect()
}

/// A level on the way down, with what it leaves out.
type Step<'c> = (&'c Descriptor, Vec<&'c str>);

/// Goes down; the depth is that of the file, which is bounded.
fn walk<'c>(
    domain: &'c str,
    siblings: &'c [Descriptor],
    path: &mut Vec<Step<'c>>,
    rules: &mut Vec<Rule<'c>>,
) {
    for (index, level) in siblings.iter().enumerate() {
        path.push((level, taken_first(level, siblings, index)));
        if let Some(limit) = &level.limit {
            let entries = entries(path);
            rules.push(Rule { name: String::new(), domain, entries, limit, replaces: Vec::new() });
        }
        walk(domain, &level.children, path, rules);
        path.pop();
    }
}

/// Returns the values that siblings take before a level has its turn.
fn taken_first<'c>(level: &Descriptor, siblings: &'c [Descriptor], index: usize) -> Vec<&'c str> {
    let Some(own) = &level.value else {
        return of_key(level, siblings).map(|(_, value)| value).collect();
    };
    if !level.is_wildcard() {
        return Vec::new();
    }
    let pattern = ValuePattern::of(own);
    let first = of_key(level, siblings)
        .filter(|(at, value)| if value.contains('*') { *at < index } else { pattern.matches(value) });
    first.map(|(_, value)| value).collect()
}

/// Returns the values of the siblings that have a level's key, with their places among them.
fn of_key<'c>(level: &Descriptor, siblings: &'c [Descriptor]) -> impl Iterator<Item = (usize, &'c str)> {
    let all = siblings.iter().enumerate().filter(|(_, other)| other.key == level.key);
    all.filter_map(|(at, other)| Some((at, other.value.as_deref()?)))
}

/// Returns the entries of a path; those that have a key in common get names.
fn entries<'c>(path: &[Step<'c>]) -> Vec<Entry<'c>> {
    let keys: Vec<&str> = path.iter().map(|(level, _)| level.key.as_str()).collect();
    let mut entries: Vec<Entry<'c>> = Vec::new();
    for (index, (level, except)) in path.iter().enumerate() {
        let is_key = |key: &str| keys.contains(&key);
        let several = keys.iter().filter(|key| **key == level.key).count() > 1;
        let called = several.then(|| {
            let turn = keys.iter().take(index).filter(|key| **key == level.key).count().saturating_add(1);
            let word = super::names::word(&level.key);
            let word = if word.is_empty() || word.len() > 48 { mark(&[&level.key]) } else { word };
            let mut name = format!("{word}-{turn}");
            while is_key(&name) || entries.iter().any(|entry| entry.name() == name) {
                name.push('x');
            }
            name
        });
        entries.push(Entry { level, except: except.clone(), called });
    }
    entries
}

/// Finds the rules that others replace: all of the domain that bear the name.
fn replace(rules: &mut [Rule<'_>]) {
    let named: Vec<(&str, &str, String)> =
        rules.iter().map(|rule| (rule.domain, rule.limit.name.as_str(), rule.name.clone())).collect();
    for rule in rules.iter_mut().filter(|rule| !rule.limit.replaces.is_empty()) {
        let replaced = |name: &str| rule.limit.replaces.iter().any(|(replaced, _)| replaced == name);
        let found = named.iter().filter(|(domain, name, _)| *domain == rule.domain && replaced(name));
        rule.replaces = found.map(|(_, _, rule)| rule.clone()).collect();
    }
}
