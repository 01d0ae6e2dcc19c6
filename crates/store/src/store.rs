//! The trait every store implements, and what it promises.

use std::fmt;
use std::sync::Arc;

use tidegate_algorithms::{State, Timestamp};

use crate::check::{Check, Decided, KeyDigest, LimitId, Refund};
use crate::measures::Measures;
use crate::notes::Notes;
use crate::reply::Reply;

/// A place for limiter state that decides batches of checks.
///
/// - **All or nothing.** When an enforced check of a batch refuses, nothing is charged anywhere; states dated after
///   now are re-dated and nothing else is written. Every check is evaluated all the same, so that the longest wait is
///   known. Its outcomes then tell each check's own answer beside the numbers of its untouched state.
/// - **Shadow checks** never block. One is charged as if it were enforced: when it alone refuses, the others are
///   charged and it is not; when an enforced one refuses, neither is.
/// - A (limit, key) named twice in a batch sees its first charge.
/// - A check that asks for zero units is answered and takes nothing.
/// - State belongs to (limit, key), whatever quota comes with a check. Under another than it was last written with it is
///   carried over first ([`carry`]), and any decision, also one that refuses, writes it so; a peek does not. Where that
///   loses something, the state that is left is kept for when its quota comes back, and the stricter of the two is met
///   then. So a change never refills, and a key that goes to and fro between plans is admitted by each within its bound.
/// - It is forgotten no sooner than it cannot be told from a fresh one under the quota it was last written with.
/// - Time is the store's. `at` passes an instant instead, for tests and simulations; a batch sees one instant.
///
/// [`carry`]: tidegate_algorithms::carry
pub trait Store: Send + Sync + fmt::Debug {
    /// Returns the id of the limit of that name, the same for the life of the store.
    fn limit(&self, name: &str) -> LimitId;

    /// Tells the store which limits are in force from now on, as after a reload; it may give back what it keeps ready
    /// for others. What those remember stays until it means nothing, and a limit whose name is asked for again is in
    /// force again.
    fn retain(&self, limits: &[LimitId]) {
        let _ = limits;
    }

    /// Decides a batch and charges it if every enforced check admits.
    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided>;

    /// Tells what [`Store::decide`] would answer, with the numbers that are there without it, and writes nothing.
    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided>;

    /// Gives charges back, each as far as its algorithm can without ever leaving more than if the request had not
    /// been made; none while the state is written under another quota. That law holds for a key that stayed on its quota:
    /// for one that left it and came back in between, the other quota may have refilled what is given back. The caller
    /// uses a receipt once, and none of a key that was reset in between, by [`Give::All`] too: what came after the reset
    /// holds no such charge.
    ///
    /// [`Give::All`]: crate::Give::All
    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()>;

    /// Forgets what the limit remembers about the key.
    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()>;

    /// Returns what the limit remembers about the key.
    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>>;

    /// Answers when the store can be asked.
    fn ping(&self) -> Reply<'_, ()>;

    /// Returns the instant its clock tells, when it can be told without asking anybody.
    ///
    /// It is for what depends on a date. The instant of a batch is read while the batch is decided, and may be later.
    fn now(&self) -> Option<Timestamp> {
        None
    }

    /// Returns whether whoever asked may remember a refusal and refuse by it until its wait is over, rather than ask again.
    ///
    /// That pays only where asking is dear, and is right only where what refused stays until then: not where a batch is
    /// charged in parts, some of which may be given back.
    fn refusals_may_be_remembered(&self) -> bool {
        false
    }

    /// Returns the id of the limit of that name as [`Store::limit`] does, for a limit that others count as well: in a store
    /// of theirs its state is a plain counter whose name is the check's key, byte by byte, and which ends with the window.
    ///
    /// Such a counter is exempt from what is promised above: it counts what it refuses, and is decided after all else of its
    /// batch, by the store's clock alone: with an instant of the caller's it is an error. A store that nobody else can see
    /// keeps its state as any other.
    fn plain_counter(&self, name: &str) -> LimitId {
        self.limit(name)
    }

    /// Returns the name by which receipts know a key, for whoever gives back without a receipt; `None` where that cannot be.
    fn digest(&self, limit: LimitId, key: &[u8]) -> Option<KeyDigest> {
        let _ = (limit, key);
        None
    }

    /// Returns where notes of the operator are kept that every instance reads; `None` where none can be.
    fn notes(&self) -> Option<&dyn Notes> {
        None
    }

    /// Returns what the store has counted about its own work.
    fn measures(&self) -> Measures {
        Measures::default()
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn limit(&self, name: &str) -> LimitId {
        (**self).limit(name)
    }

    fn retain(&self, limits: &[LimitId]) {
        (**self).retain(limits);
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        (**self).decide(checks, at)
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        (**self).peek(checks, at)
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        (**self).refund(refunds, at)
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        (**self).reset(limit, key)
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        (**self).inspect(limit, key)
    }

    fn ping(&self) -> Reply<'_, ()> {
        (**self).ping()
    }

    fn now(&self) -> Option<Timestamp> {
        (**self).now()
    }

    fn refusals_may_be_remembered(&self) -> bool {
        (**self).refusals_may_be_remembered()
    }

    fn plain_counter(&self, name: &str) -> LimitId {
        (**self).plain_counter(name)
    }

    fn digest(&self, limit: LimitId, key: &[u8]) -> Option<KeyDigest> {
        (**self).digest(limit, key)
    }

    fn notes(&self) -> Option<&dyn Notes> {
        (**self).notes()
    }

    fn measures(&self) -> Measures {
        (**self).measures()
    }
}
