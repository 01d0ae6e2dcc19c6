//! What is counted of descriptors' hits, by domain and descriptor.
//!
//! A series is named by the rule's pattern: keys, and the values that the rule names. Values that clients send become part
//! of it only where the rule says so (`envoy.metric`), and series are bounded: what is beyond is counted as `other`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use parking_lot::RwLock;
use tidegate::policy_file::{self, Policy, Rule, ValuePattern};
use tidegate::{DescriptorAnswer, DescriptorStatus, DescriptorsVerdict, LimitDecision, Snapshot};

use super::question::{Descriptor, Question};

/// The most series.
const MAX_SERIES: usize = 10_000;
/// The longest name of one, in bytes: nobody reads longer ones, and they would be held for ever.
const MAX_NAME: usize = 256;
/// What is counted together for want of room, or for its name's length.
const OTHER: &str = "other";

/// What became of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Within,
    /// Admitted, with less than a fifth of the limit left.
    Near,
    Over,
    /// Admitted, although over the limit of a rule that refuses nothing.
    ShadowOver,
    Unlimited,
}

const FATES: [(Fate, &str); 5] = [
    (Fate::Within, "within_limit"),
    (Fate::Near, "near_limit"),
    (Fate::Over, "over_limit"),
    (Fate::ShadowOver, "shadow_over_limit"),
    (Fate::Unlimited, "unlimited"),
];

type Counts = [AtomicU64; FATES.len()];

/// The counters. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hits {
    all: Arc<RwLock<HashMap<Name, Arc<Counts>>>>,
    in_force: Arc<ArcSwapOption<Known>>,
}

/// The series of a policy's rules that have one and the same for all descriptors, found once.
#[derive(Debug)]
struct Known {
    /// It is kept along: another could otherwise come to lie where it was.
    policy: Arc<Policy>,
    rules: Box<[OnceLock<Arc<Counts>>]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Name {
    domain: String,
    descriptor: String,
}

impl Name {
    fn of(rule: &Rule, domain: &str, descriptor: &Descriptor) -> Self {
        Self { domain: domain.to_owned(), descriptor: name(rule, domain, descriptor) }
    }

    /// Returns the name of what is counted together in its domain.
    fn other(&self) -> Self {
        Self { domain: self.domain.clone(), descriptor: OTHER.to_owned() }
    }
}

/// A series as it is told: its names, and its counts by result.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) domain: String,
    pub(crate) descriptor: String,
    pub(crate) counts: Vec<(&'static str, u64)>,
}

impl Hits {
    /// Counts what was decided.
    pub(super) fn count(&self, snapshot: &Snapshot, question: &Question, decided: &DescriptorsVerdict) {
        let Some(policy) = snapshot.policy() else { return };
        let known = self.known(snapshot);
        let place = |index: usize| known.as_ref().and_then(|known| known.rules.get(index));
        for (descriptor, answer) in question.descriptors.iter().zip(&decided.answers) {
            let units = u64::from(descriptor.hits.unwrap_or(1));
            if descriptor.gives_back || units == 0 {
                continue;
            }
            for (index, rule) in
                answer.rules.iter().filter_map(|index| Some((*index, policy.rules.get(*index)?)))
            {
                let find = || self.series(Name::of(rule, question.domain.as_str(), descriptor));
                let fate = fate(rule, answer, decided);
                match place(index).filter(|_| has_one_series(rule)) {
                    Some(place) => add(place.get_or_init(find), fate, units),
                    None => add(&find(), fate, units),
                }
            }
        }
    }

    /// Returns where the series of a snapshot's policy are kept.
    fn known(&self, snapshot: &Snapshot) -> Option<Arc<Known>> {
        let policy = snapshot.policy()?;
        if let Some(known) = &*self.in_force.load()
            && std::ptr::eq(policy, &raw const *known.policy)
        {
            return Some(Arc::clone(known));
        }
        let rules = policy.rules.iter().map(|_| OnceLock::new()).collect();
        let known = Arc::new(Known { policy: snapshot.shared_policy()?, rules });
        self.in_force.store(Some(Arc::clone(&known)));
        Some(known)
    }

    fn series(&self, name: Name) -> Arc<Counts> {
        let name = if name.descriptor.len() > MAX_NAME { name.other() } else { name };
        {
            let all = self.all.read();
            // What finds no room takes no lock for writing either, or clients who send ever new values would queue for it.
            let full = || all.get(&name.other()).filter(|_| all.len() >= MAX_SERIES);
            if let Some(known) = all.get(&name).or_else(full) {
                return Arc::clone(known);
            }
        }
        let mut all = self.all.write();
        let fits = all.len() < MAX_SERIES || all.contains_key(&name);
        Arc::clone(all.entry(if fits { name } else { name.other() }).or_default())
    }

    /// Returns every series, in the order of their names.
    pub(crate) fn seen(&self) -> Vec<Series> {
        let mut all: Vec<_> =
            self.all.read().iter().map(|(name, counts)| (name.clone(), Arc::clone(counts))).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let series = all.into_iter().map(|(Name { domain, descriptor }, counts)| {
            let counts = FATES.iter().zip(counts.iter());
            let counts =
                counts.map(|((_, result), count)| (*result, count.load(Ordering::Relaxed))).collect();
            Series { domain, descriptor, counts }
        });
        series.collect()
    }
}

fn add(counts: &Counts, fate: Fate, units: u64) {
    let place = FATES.iter().position(|(known, _)| *known == fate);
    if let Some(count) = place.and_then(|place| counts.get(place)) {
        count.fetch_add(units, Ordering::Relaxed);
    }
}

/// Returns whether all descriptors that a rule applies to are counted under one name: it is about one pattern, and no value
/// becomes part of the name.
fn has_one_series(rule: &Rule) -> bool {
    let patterns = rule.matches.iter().filter(|it| it.descriptor.is_some());
    rule.envoy.metric.is_empty() && patterns.count() == 1
}

/// Returns a series' name: `key` or `key_value` for each entry, with points between them, as envoyproxy/ratelimit names its
/// counters.
fn name(rule: &Rule, domain: &str, descriptor: &Descriptor) -> String {
    let entries: Vec<_> = descriptor.entries().collect();
    let asked = policy_file::Descriptor { domain, entries: &entries };
    let patterns = rule.matches.iter().filter_map(|it| it.descriptor.as_ref());
    let pattern = patterns.into_iter().find(|pattern| pattern.matches(&asked));
    let Some(patterns) = pattern.and_then(|pattern| pattern.entries.as_ref()) else { return "*".to_owned() };
    let parts = patterns.iter().zip(&entries).map(|(pattern, (key, value))| {
        if rule.envoy.metric.iter().any(|name| name == pattern.name()) {
            return format!("{key}_{value}");
        }
        match &pattern.value {
            ValuePattern::Any => (*key).to_owned(),
            named => format!("{key}_{named}"),
        }
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Returns what became of a descriptor's hits under a rule.
fn fate(rule: &Rule, answer: &DescriptorAnswer, decided: &DescriptorsVerdict) -> Fate {
    let decisions = decided.verdict.decisions();
    let is_own = |one: &&LimitDecision| rule.limits.iter().any(|limit| limit.name == one.limit.name());
    let (by, over) = match answer.status {
        DescriptorStatus::Unlimited => return Fate::Unlimited,
        DescriptorStatus::Unmatched => (None, false),
        DescriptorStatus::Decided { by, over } => (decisions.get(by), over),
    };
    // Where another rule's limit was the tightest, what the rule's own said.
    let own = by.filter(is_own).or_else(|| decisions.iter().find(is_own));
    match own {
        _ if over => Fate::Over,
        None if decided.verdict.is_allowed() => Fate::Within,
        None => Fate::Over,
        Some(one) if !one.decision.is_admitted() => Fate::ShadowOver,
        Some(one) if is_near(one) => Fate::Near,
        Some(_) => Fate::Within,
    }
}

fn is_near(one: &LimitDecision) -> bool {
    let (limit, remaining) = (u64::from(one.decision.limit), u64::from(one.decision.remaining));
    remaining.saturating_mul(5) < limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(descriptor: &str) -> Name {
        Name { domain: "d".to_owned(), descriptor: descriptor.to_owned() }
    }

    /// Guards the process's memory against clients who send ever new values.
    #[test]
    fn what_is_beyond_the_series_is_counted_together() {
        let hits = Hits::default();
        let count = |name: &str, fate, units| add(&hits.series(of(name)), fate, units);
        for number in 0..=MAX_SERIES {
            count(&format!("user_{number}"), Fate::Within, 1);
        }
        count("user_0", Fate::Over, 2);
        count(&"x".repeat(MAX_NAME + 1), Fate::Within, 5);
        let seen = hits.seen();
        assert_eq!(seen.len(), MAX_SERIES + 1);
        let counts = |name: &str| {
            let found = seen.iter().find(|series| series.descriptor == name);
            found.map(|series| series.counts.iter().map(|(_, count)| *count).collect::<Vec<_>>())
        };
        assert_eq!(counts("user_0"), Some(vec![1, 0, 2, 0, 0]));
        assert_eq!(counts(OTHER), Some(vec![6, 0, 0, 0, 0]));
    }
}
