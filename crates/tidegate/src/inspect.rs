//! Looking at what is counted on one key, at an operator's word.

use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Decision, Timestamp};
use tidegate_policy::overlay::Overlay;
use tidegate_policy::{Policy, ReadyKeys};
use tidegate_store::{Check, Store as _};

use crate::limit::Limit;
use crate::limiter::Snapshot;
use crate::policy::bad;
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
    /// What that comes to under the terms that hold for the key, nothing asked: the terms, and their numbers. One, or one for
    /// each plan, which requests choose; none where the limit does not look at the key.
    pub terms: Vec<(Limit, Decision)>,
    /// The exception of an operator's that these are by, if one is.
    pub exception: Option<Overlay>,
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
        let said = self.policy().into_iter().flat_map(Policy::limits).find(|one| one.name == limit);
        let standing = said.map(|said| said.standing(ready, Some(seen.at))).transpose();
        let standing = standing.map_err(|it| ResetError::BadKey(bad(&it)))?;
        let (variants, exception) = standing.map_or((0..0, None), |it| (it.variants, it.exception.cloned()));
        let (first, count) = (variants.start, variants.len());
        let terms = registered.variants.iter().cloned().zip(decisions).skip(first).take(count).collect();
        Ok(Inspected { identity: stored.identity, at: seen.at, counted: state.is_some(), terms, exception })
    }
}
