//! What is attacked: limits, and the requests that somebody's coordinates become before them.

mod bare;
mod keyed;
mod requests;

use std::sync::Arc;

use tidegate::{BuildError, Limiter, Prepared, Snapshot, Store};

use crate::act::Who;

pub use bare::Bare;
pub use keyed::{CountedOn, KeyedLimits, Reading};
pub use requests::{Requests, Unreachable, Wire};

/// Limits that are attacked, and how a request comes about.
pub trait Target: Send + Sync {
    /// Builds the limits over a store.
    ///
    /// # Errors
    /// When two of them have one name.
    fn limiter(&self, store: Arc<dyn Store>) -> Result<Limiter, BuildError>;

    /// Makes the request of somebody and plans it; `None` when it is refused whatever the store says.
    fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Option<Prepared>;

    /// Returns whether the limits learn what became of a request that passed.
    fn tells_outcomes(&self) -> bool {
        true
    }
}
