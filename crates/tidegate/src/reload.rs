//! Replacing the policy while requests go on.
//!
//! A policy is swapped whole or not at all. Counts belong to the store and stay: a limit goes on where its name left
//! off, held against its new numbers at the next check. Requests that began before end under what they began with.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use tidegate_policy::Policy;
use tidegate_store::LimitId;

use crate::compile::compiled;
use crate::inner::{Inner, Registered};
use crate::limiter::Limiter;
use crate::observe::lock;
use crate::options::BuildError;
use crate::policy::memory_options;

/// What a reload changed, by the limits' names, in the order of the policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Limits that were not there before.
    pub added: Vec<String>,
    /// Limits whose numbers, words, terms or alerts differ, or that keep their counts under another name.
    pub changed: Vec<String>,
    /// Limits that are no longer there.
    pub dropped: Vec<String>,
    /// How many limits are as they were; what requests they apply to, and what they count on, is not compared.
    pub kept: usize,
}

/// Why a policy did not take the place of another; nothing was changed.
#[derive(Debug, Clone)]
pub enum ReloadError {
    /// The policy names another store, and counts cannot move.
    Store,
    /// The policy does not make a limiter.
    Build(BuildError),
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => f.write_str("store changed: that needs a restart; nothing was changed"),
            Self::Build(error) => write!(f, "{error}; nothing was changed"),
        }
    }
}

impl std::error::Error for ReloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store => None,
            Self::Build(error) => Some(error),
        }
    }
}

impl Limiter {
    /// Puts a policy in the place of the one in force, whole, with all counts kept.
    ///
    /// Clones of the limiter follow. A check that has begun ends under the policy it began with. A store that the limiter
    /// was given is told that these limits alone are in force ([`Store::retain`]): those of another limiter on the same
    /// store keep their counts, but no room is reserved for them.
    ///
    /// [`Store::retain`]: crate::Store::retain
    ///
    /// # Errors
    /// When the policy's store is another, or it makes no limiter; the one in force then stays.
    pub fn reload(&self, policy: Policy) -> Result<Reloaded, ReloadError> {
        let lasting = Arc::clone(&self.snapshot().inner.lasting);
        let _alone = lock(&lasting.reloading);
        let before = self.in_force.load_full();
        if !self.has_store_of(&policy) {
            return Err(ReloadError::Store);
        }
        self.look_back();
        let store = Arc::clone(&before.store);
        let after = compiled(policy, store, Arc::clone(&lasting)).map_err(|error| {
            // What the policy that failed has registered is not in force.
            before.store.retain(&before.ids());
            self.forget();
            ReloadError::Build(error)
        })?;
        let (reloaded, ids) = (Reloaded::between(&before.limits, &after.limits), after.ids());
        lasting.denials.clear();
        self.in_force.store(Arc::new(after));
        // And what was refused meanwhile.
        lasting.denials.clear();
        before.store.retain(&ids);
        self.forget();
        Ok(reloaded)
    }

    /// Returns whether the store in force is the one a policy asks for. A store that the limiter was given is: what a
    /// policy says of stores is then not looked at.
    pub fn has_store_of(&self, policy: &Policy) -> bool {
        let inner = self.snapshot().inner;
        inner.lasting.own_store.as_ref().is_none_or(|own| own.options == memory_options(&policy.store))
    }

    /// Warns of what only shows after a while: rules that have applied to nothing although ten thousand requests came, or
    /// an hour has passed. For whoever reloads, stops or looks at the counters; once a rule.
    pub fn look_back(&self) {
        if let Some(compiled) = &self.snapshot().inner.policy {
            compiled.look_back();
        }
    }

    /// Forgets the counters of what is no longer there.
    fn forget(&self) {
        let inner = self.snapshot().inner;
        let Some(policy) = inner.policy.as_ref().map(|compiled| &compiled.policy) else { return };
        let rules = policy.rules.iter().chain(&policy.fallback);
        let rules: HashSet<&str> = rules.map(|rule| rule.name.as_str()).collect();
        for registered in &inner.limits {
            registered.tally.keep(&registered.terms);
        }
        inner.lasting.observer.forget(
            |limit| inner.has(limit) || inner.lasting.own_limits.has(limit),
            |rule| rules.contains(rule),
        );
    }
}

impl Inner {
    fn ids(&self) -> Vec<LimitId> {
        let own = self.lasting.own_limits.ids();
        self.limits.iter().map(|registered| registered.id).chain(own).collect()
    }
}

impl Reloaded {
    fn between(before: &[Registered], after: &[Registered]) -> Self {
        let name = |one: &Registered| one.variants.first().map(|limit| limit.name().to_owned());
        let named = |all: &[Registered]| -> HashMap<String, usize> {
            all.iter().enumerate().filter_map(|(index, one)| Some((name(one)?, index))).collect()
        };
        let (were, are) = (named(before), named(after));
        let mut reloaded = Self::default();
        for (one, name) in after.iter().filter_map(|one| Some((one, name(one)?))) {
            match were.get(&name).and_then(|index| before.get(*index)) {
                None => reloaded.added.push(name),
                Some(was) if was.is_as(one) => {
                    reloaded.kept = reloaded.kept.saturating_add(1);
                }
                Some(_) => reloaded.changed.push(name),
            }
        }
        let dropped = before.iter().filter_map(name).filter(|name| !are.contains_key(name));
        reloaded.dropped = dropped.collect();
        reloaded
    }
}

impl Registered {
    /// Returns whether a limit is the same as another, and keeps the same counts.
    fn is_as(&self, other: &Self) -> bool {
        self.id == other.id && self.alert_at == other.alert_at && self.variants == other.variants
    }
}

impl fmt::Display for Reloaded {
    /// Writes `2 added (a/b, a/c), 1 changed (d/e), 4 limits as before`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, names) in [("added", &self.added), ("changed", &self.changed), ("dropped", &self.dropped)]
        {
            if !names.is_empty() {
                write!(f, "{} {what} ({}), ", names.len(), shortened(names))?;
            }
        }
        let limits = if self.kept == 1 { "limit" } else { "limits" };
        write!(f, "{} {limits} as before", self.kept)
    }
}

/// Lists names, not all where they are many.
fn shortened(names: &[String]) -> String {
    /// A line of a log has its length.
    const MOST: usize = 20;
    let mut list: Vec<_> = names.iter().take(MOST).map(String::as_str).collect();
    if names.len() > MOST {
        list.push("…");
    }
    list.join(", ")
}
