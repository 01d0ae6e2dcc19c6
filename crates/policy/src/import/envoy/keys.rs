//! The keys of rules that are made of descriptors, and the sentences that name them.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_algorithms::{Anchor, Quota};

use super::config::Unit;
use super::names::{mark, word};
use super::rules::Rule;
use crate::cost::Cost;
use crate::count::Count;
use crate::key::{Entry, Key, Origin, Part, Source, SourceKind};
use crate::words::{self, Meaning, Reading};

/// Names that a policy's keys cannot have.
const BUILT_IN: [&str; 4] = ["global", "client_ip", "method", "route"];
/// The longest name that is taken from an entry.
const MOST: usize = 48;

/// The keys that are declared: each entry that is counted on, by its name, with the name of its key.
#[derive(Debug, Default)]
pub(super) struct Keys(BTreeMap<String, String>);

impl Keys {
    /// Names a key for every entry that is counted on: after it, where a sentence can say that.
    pub(super) fn of(rules: &[Rule<'_>]) -> Self {
        let mut keys = Self::default();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for entry in rules.iter().flat_map(Rule::counted) {
            if keys.0.contains_key(entry) {
                continue;
            }
            let mut name = plain(entry);
            if taken.contains(&name) {
                name = odd(entry);
            }
            taken.insert(name.clone());
            keys.0.insert(entry.to_owned(), name);
        }
        for rule in rules {
            keys.check(&rule.counted());
        }
        keys
    }

    /// Two names that can be said each may be one sentence that cannot be read together.
    fn check(&mut self, counted: &[&str]) {
        if counted.len() < 2 || says_well(&self.key(counted)) {
            return;
        }
        for entry in counted {
            self.0.insert((*entry).to_owned(), odd(entry));
        }
    }

    /// Returns each entry's name with that of its key.
    pub(super) fn declared(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(entry, name)| (entry.as_str(), name.as_str()))
    }

    /// Returns the name of an entry's key.
    pub(super) fn name<'k>(&'k self, entry: &'k str) -> &'k str {
        self.0.get(entry).map_or(entry, String::as_str)
    }

    /// Returns the sentence of a limit on some entries.
    pub(super) fn says(&self, counted: &[&str], (requests, unit): (u32, Unit)) -> String {
        let key = self.key(counted);
        quota(requests, unit).map(|quota| words::canonical(&meaning(&quota, &key))).unwrap_or_default()
    }

    fn key(&self, counted: &[&str]) -> Key {
        if counted.is_empty() {
            return Key {
                parts: [Part::new("global".to_owned(), Vec::new(), Origin::Global)].into_iter().collect(),
            };
        }
        Key { parts: counted.iter().map(|entry| part(self.name(entry), entry)).collect() }
    }
}

fn part(name: &str, entry: &str) -> Part {
    let source = Source { kind: SourceKind::Descriptor(Entry::new(entry, false)), normalize: Vec::new() };
    Part::new(name.to_owned(), Vec::new(), Origin::One(source))
}

fn quota(requests: u32, unit: Unit) -> Option<Quota> {
    Quota::fixed_window(requests.into(), unit.window(), Anchor::Clock).ok()
}

fn meaning<'a>(quota: &'a Quota, key: &'a Key) -> Meaning<'a> {
    Meaning { quota, key, unit: None, cost: &Cost::Units(1), count: &Count::Every }
}

/// Returns whether the sentence of a limit on a key says what it is, to whoever reads it.
fn says_well(key: &Key) -> bool {
    let agrees = |unit| {
        let Some(quota) = quota(10, unit) else { return false };
        let meaning = meaning(&quota, key);
        matches!(words::read(&words::canonical(&meaning), &meaning), Reading::Agrees { .. })
    };
    agrees(Unit::Minute) && agrees(Unit::Month)
}

/// Returns a key's name after an entry.
fn plain(entry: &str) -> String {
    let name = word(entry);
    let fits = !name.is_empty() && name.len() <= MOST && !BUILT_IN.contains(&name.as_str());
    let said = || says_well(&Key { parts: [part(&name, entry)].into_iter().collect() });
    if fits && said() { name } else { odd(entry) }
}

/// Returns a name for a key whose entry has none that can be said.
fn odd(entry: &str) -> String {
    format!("entry-{}", mark(&[entry]))
}
