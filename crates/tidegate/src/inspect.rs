//! Looking at what is counted on one key, at an operator's word.

use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Decision, Timestamp};
use tidegate_policy::ReadyKeys;
use tidegate_store::{Check, Store as _};

use crate::limit::Limit;
use crate::limiter::Snapshot;
use crate::reset::ResetError;

/// What is counted on one key.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// The name of the key outside the process, as a [`Reset`](crate::Reset) has it.
    pub identity: Option<String>,
    /// The store's instant when it was asked.
    pub at: Timestamp,
    /// Whether anything is counted.
    pub counted: bool,
    /// What that comes to under each of the limit's terms, nothing asked: the terms, and their numbers.
    pub terms: Vec<(Limit, Decision)>,
}

impl Snapshot {
    /// Tells what a limit of the policy remembers of one key, and changes nothing. The key is given as for
    /// [`Limiter::reset`](crate::Limiter::reset).
    ///
    /// # Errors
    /// When no limit of the policy has this name, a value is missing, of no use or for another limit, or the store does not
    /// answer.
    pub async fn inspect(&self, limit: &str, ready: &ReadyKeys) -> Result<Inspected, ResetError> {
        let (registered, stored) = self.find_key(limit, ready)?;
        let store = &self.inner.store;
        let checks: SmallVec<[Check<'_>; 4]> = registered
            .variants
            .iter()
            .map(|limit| Check {
                limit: registered.id,
                key: &stored.key,
                quota: limit.quota(),
                ask: Ask::units(0),
                shadow: limit.is_shadow(),
            })
            .collect();
        let state = store.inspect(registered.id, &stored.key).await.map_err(ResetError::Store)?;
        let seen = store.peek(&checks, None).await.map_err(ResetError::Store)?;
        let decisions = seen.outcomes.iter().map(|outcome| outcome.decision);
        let terms = registered.variants.iter().cloned().zip(decisions).collect();
        Ok(Inspected { identity: stored.identity, at: seen.at, counted: state.is_some(), terms })
    }
}
