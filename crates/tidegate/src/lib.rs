//! A rate limiter whose limits mean what they say.
//!
//! A [`Limiter`] holds named limits and the store that counts for them. A check asks one or several limits at once,
//! all or nothing, and returns a [`Verdict`]: a ruling, every decision behind it, and an explanation in words.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidegate::{Limit, Limiter, Quota, Rate, Span};
//!
//! let per_account = Quota::token_bucket(4, Rate::new(1, Span::from_secs(10))?)?;
//! let limiter = Limiter::in_memory([Limit::new("verify/per-account", per_account)])?;
//! let verdict = limiter.check_key("verify/per-account", "odalys@example.com").await?;
//! assert!(verdict.is_allowed());
//! # Ok(()) }
//! ```
//!
//! A service on axum, tonic or plain tower takes the layer of the crate `tidegate-tower`, and is limited in five lines:
//!
//! ```ignore
//! let ten_a_minute = Limit::new("per-client", Quota::sliding_counter(10, Span::from_secs(60))?);
//! let limiter = Limiter::in_memory([ten_a_minute])?;
//! let limits = LimitLayer::keyed(limiter, "per-client", Key::client())?;
//! let app = Router::new().route("/", routing::get(hello)).layer(limits);
//! axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
//! ```
//!
//! A client that keeps to a limit waits for it: [`Limiter::until_ready`].
//!
//! With the feature `policy` (on by default) a limiter is built from a policy file and checks whole requests:
//! [`Limiter::from_policy`], [`Limiter::check`].
//!
//! What a request was charged can be given back: [`Verdict::take_receipt`] and [`Limiter::refund`]. A limit that counts
//! failures only ([`Counts`]) is charged before the request goes on, and settled once it is known how it went:
//! [`Verdict::take_pending`] and [`Limiter::settle`].
//!
//! A limit may come with the call, its numbers and all ([`Snapshot::check_own`]); several of Envoy's descriptors are decided at
//! once ([`Snapshot::check_descriptors`]).
//!
//! A policy is replaced while requests go on ([`Limiter::reload`]); whoever asks several things of one request asks them of
//! one [`Snapshot`]. [`Limiter::observe`] tells what has been counted, [`Snapshot::why`] what is behind a verdict.
//!
//! One check goes through three steps, each a file: `plan` (pure: which limits, on which keys, at which cost), one
//! store call, `combine` (pure: from decisions to a verdict). `settle` is a fourth, where failures are counted.

mod alert;
mod ask;
#[cfg(feature = "policy")]
mod clock;
mod combine;
#[cfg(feature = "policy")]
mod compile;
mod decisions;
mod denial;
#[cfg(feature = "policy")]
mod descriptors;
mod each;
mod explain;
#[cfg(feature = "policy")]
pub mod files;
mod give_back;
#[cfg(feature = "policy")]
mod identity;
mod inner;
#[cfg(feature = "policy")]
mod inspect;
mod limit;
mod limiter;
#[cfg(feature = "policy")]
mod notes;
#[cfg_attr(not(feature = "policy"), allow(dead_code, reason = "rules and missing keys are a policy's"))]
mod observe;
mod options;
mod outage;
mod own;
mod plan;
#[cfg(feature = "policy")]
mod policy;
mod prepared;
mod ready;
#[cfg(feature = "policy")]
mod reload;
#[cfg(feature = "policy")]
mod reset;
#[cfg(feature = "policy")]
mod restored;
mod settle;
mod verdict;
mod waits;
#[cfg(feature = "policy")]
mod warnings;
#[cfg(feature = "policy")]
pub mod why;

pub use alert::Nearing;
#[cfg(feature = "policy")]
pub use descriptors::{DescriptorAnswer, DescriptorAsk, DescriptorStatus, DescriptorsVerdict};
pub use each::KeyCheck;
pub use explain::readable;
#[cfg(feature = "policy")]
pub use inspect::Inspected;
pub use limit::{Counts, Disclosure, Limit, OnStoreFailure, OnSuccess};
pub use limiter::{Limiter, Snapshot};
pub use observe::{LimitObserved, Observed, TermsObserved};
pub use options::{BuildError, CheckOptions, UnknownLimit};
pub use outage::{Degraded, StoreHealth};
pub use own::OwnCheck;
pub use prepared::{AskedLimit, Prepared};
#[cfg(feature = "policy")]
pub use reload::{ReloadError, Reloaded};
#[cfg(feature = "policy")]
pub use reset::{Reset, ResetError, StoredKey};
pub use settle::{Pending, Settled, Settlement};
pub use tidegate_algorithms::{
    Anchor, Answer, Calendar, Decision, Quota, QuotaError, Rate, Retry, Span, Timestamp,
};
#[cfg(feature = "policy")]
pub use tidegate_policy as policy_file;
pub use tidegate_store::{BUCKETS as DURATION_BUCKETS, Durations, DurationsSeen, Measures};
pub use tidegate_store::{
    MemoryOptions, MemoryStore, Restored, Snapshot as StoreSnapshot, SnapshotError, Store, StoreError, Usage,
};
pub use tidegate_store::{Note, Noted, Notes};
pub use verdict::{BadKey, Denial, LimitDecision, Receipt, Ruling, Verdict};
pub use waits::WaitsSeen;
