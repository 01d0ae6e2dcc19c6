//! A limiter on a memory store that was made elsewhere, as from a snapshot, and is its own all the same.

use std::sync::Arc;

use tidegate_policy::Policy;
use tidegate_store::{LimitId, MemoryOptions, MemoryStore, Store as _};

use crate::compile::compiled;
use crate::inner::{Lasting, OwnStore};
use crate::limiter::Limiter;
use crate::options::BuildError;
use crate::policy::memory_options;

impl Limiter {
    /// Returns the room that a policy gives the memory store: what to build or to restore one with for
    /// [`Limiter::from_policy_on`].
    pub fn memory_options(policy: &Policy) -> MemoryOptions {
        memory_options(&policy.store)
    }

    /// Builds a limiter by a policy on a memory store that was built with [`Limiter::memory_options`], say from a snapshot.
    ///
    /// It counts as the limiter's own: its use is told, and a reload that asks for another is refused. Of the limits that
    /// the store knows already, those of the policy alone are in force.
    ///
    /// # Errors
    /// When two limits have one name, which a policy that `tidegate_policy::parse` returned never has.
    pub fn from_policy_on(policy: Policy, store: &Arc<MemoryStore>) -> Result<Self, BuildError> {
        let own = OwnStore { store: Arc::clone(store), options: memory_options(&policy.store) };
        let lasting = Lasting { own_store: Some(own), ..Lasting::default() };
        let inner = compiled(policy, Arc::clone(store) as _, Arc::new(lasting))?;
        let in_force: Vec<LimitId> = inner.limits.iter().map(|registered| registered.id).collect();
        store.retain(&in_force);
        Ok(Self::of(inner))
    }
}
