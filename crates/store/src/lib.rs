//! Where limiter state lives: the store trait, its conformance kit and the memory store.
//!
//! A [`Store`] decides a *batch* of [`Check`]s in one step: all of its enforced checks are charged, or none. It never
//! sees a rule, a request or a policy: a limit is a [`LimitId`], a key is bytes, and the numbers come with each check.
//! [`MemoryStore`] keeps everything in this process, bounded, and forgets what means nothing any more.
//!
//! ```
//! use tidegate_store::algorithms::{Ask, Quota, Span};
//! use tidegate_store::{Check, MemoryStore, Store};
//!
//! let store = MemoryStore::new(Default::default())?;
//! let quota = Quota::sliding_log(1, Span::from_secs(60))?;
//! let check = Check { limit: store.limit("login"), key: b"ada", quota: &quota, ask: Ask::ONE, shadow: false };
//! let checks = [check];
//! let first = store.decide(&checks, None).now().ok_or("memory answers at once")??;
//! let second = store.decide(&checks, None).now().ok_or("memory answers at once")??;
//! assert!(first.admitted && !second.admitted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
#[cfg(feature = "testing")]
pub mod clocked;
#[cfg(feature = "testing")]
#[allow(clippy::missing_panics_doc, clippy::indexing_slicing, reason = "a behaviour fails by panicking")]
pub mod conformance;
mod error;
#[cfg(feature = "testing")]
pub mod faulty;
mod measures;
mod memory;
mod notes;
mod pause;
pub mod plans;
mod reply;
mod store;

pub use check::{ChargeReceipt, Check, CheckOutcome, Decided, Give, KeyDigest, LimitId, Outcomes, Refund};
pub use error::StoreError;
pub use measures::{BUCKETS, Durations, DurationsSeen, Measures};
pub use memory::{MemoryOptions, MemoryStore, Restored, Snapshot, SnapshotError, Usage};
pub use notes::{Note, Noted, Notes};
pub use pause::jittered;
pub use reply::Reply;
pub use store::Store;
pub use tidegate_algorithms as algorithms;
