//! The names of a policy's keys, by which calls may give ready-made values.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tidegate::Snapshot;
use tidegate::policy_file::Policy;

/// The names of the keys that limits look at: what they count on, and what tells a cost or a plan.
#[derive(Debug, Default)]
pub(super) struct KeyNames(BTreeSet<String>);

impl KeyNames {
    /// Returns the names that a policy's limits read.
    pub(super) fn of(policy: Option<&Policy>) -> Self {
        Self(policy.into_iter().flat_map(Policy::sources).map(str::to_owned).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// The names of the policy in force, worked out once a policy.
#[derive(Debug, Default)]
pub(super) struct NamesInForce(ArcSwapOption<(Arc<Policy>, Arc<KeyNames>)>);

impl NamesInForce {
    /// Returns the names of a snapshot's policy.
    pub(super) fn of(&self, in_force: &Snapshot) -> Arc<KeyNames> {
        let Some(policy) = in_force.policy() else { return Arc::default() };
        if let Some(known) = &*self.0.load()
            && std::ptr::eq(policy, &raw const *known.0)
        {
            return Arc::clone(&known.1);
        }
        let names = Arc::new(KeyNames::of(Some(policy)));
        // The policy is kept along: another could otherwise come to lie where it was.
        let known = in_force.shared_policy().map(|policy| Arc::new((policy, Arc::clone(&names))));
        self.0.store(known);
        names
    }
}
