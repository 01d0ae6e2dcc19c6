//! What an operator notes down beside the counts, as far as the limiter has to do with it: where, and under which names.

use std::sync::Arc;

use tidegate_policy::{Identities, Policy};
use tidegate_store::Store;

use crate::limiter::Limiter;

impl Limiter {
    /// Returns the store that counts, for what an operator keeps there beside the counts ([`Store::notes`]).
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.snapshot().inner.store)
    }

    /// Returns what would name keys outside the process were a policy in force: its secret, or else that of the limiter's
    /// own. `None` when the system gives no randomness for that.
    pub fn identities_under(&self, policy: &Policy) -> Option<Identities> {
        let own = || self.snapshot().inner.lasting.own_identities.get().cloned();
        policy.identities.clone().or_else(own)
    }
}
