//! Quotas with nothing around them, all on the key of whom a request is about.

use std::sync::Arc;

use tidegate::{BuildError, Limit, Limiter, Prepared, Quota, Snapshot, Store};

use super::Target;
use crate::act::Who;

/// Limits that every request has to pass, each counted on its subject.
#[derive(Debug, Clone)]
pub struct Bare {
    limits: Vec<Limit>,
}

impl Bare {
    /// Takes one quota, as a limit named `limit`.
    pub fn of(quota: Quota) -> Self {
        Self::limits([Limit::new("limit", quota)])
    }

    /// Takes limits that are asked together.
    pub fn limits(limits: impl IntoIterator<Item = Limit>) -> Self {
        Self { limits: limits.into_iter().collect() }
    }
}

impl Target for Bare {
    fn limiter(&self, store: Arc<dyn Store>) -> Result<Limiter, BuildError> {
        Limiter::new(store, self.limits.iter().cloned())
    }

    fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Option<Prepared> {
        let key = who.subject.to_be_bytes();
        let names = self.limits.iter().map(|limit| (limit.name(), key));
        // The limits are those that the snapshot was made of.
        snapshot.prepare_keys(names, None).ok()
    }
}
