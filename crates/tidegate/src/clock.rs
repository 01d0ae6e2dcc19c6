//! What tells the date, for what depends on one rather than on what was counted: a token's expiry, an override's end.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use tidegate_algorithms::Timestamp;
use tidegate_policy::Policy;
use tidegate_store::Store;

use crate::options::CheckOptions;

/// The clock a policy's dates are held against: the store's, since time is the store's.
pub(crate) struct Dates {
    /// Nothing for a policy without dates, whose requests then cost no look at a clock.
    store: Option<Arc<dyn Store>>,
}

impl Dates {
    pub(crate) fn of(policy: &Policy, store: &Arc<dyn Store>) -> Self {
        Self { store: policy.needs_date().then(|| Arc::clone(store)) }
    }

    /// Returns the instant of a check, if the policy asks for one: the caller's, else the store's, else this machine's
    /// for a store that would have to ask somebody.
    pub(crate) fn at(&self, options: CheckOptions) -> Option<Timestamp> {
        let store = self.store.as_ref()?;
        Some(options.at.or_else(|| store.now()).unwrap_or_else(wall))
    }
}

impl fmt::Debug for Dates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dates").field(&self.store).finish()
    }
}

/// Returns the time of this machine, the epoch for one before it.
fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX)).unwrap_or(Timestamp::MAX)
}
