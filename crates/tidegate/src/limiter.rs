//! The limiter: plan, one store call, combine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tidegate_algorithms::Timestamp;
use tidegate_store::{Give, MemoryOptions, Store, StoreError, Usage};
use tokio::sync::watch;

use crate::inner::{Inner, Lasting, OwnStore, plain};
use crate::limit::Limit;
use crate::options::{BuildError, CheckOptions, UnknownLimit};
use crate::outage::StoreHealth;
use crate::plan::{Plan, Terms};
use crate::verdict::{Receipt, Verdict};

/// A rate limiter: limits, and the store that counts for them.
///
/// Cheap to clone; clones share everything, a reload among it. A check is decided for all its limits at once or for
/// none: a request that one limit refuses has used up nothing of the others.
#[derive(Clone)]
pub struct Limiter {
    pub(crate) in_force: Arc<ArcSwap<Inner>>,
}

/// The limits a limiter has at one moment: what a request began under, whatever is loaded meanwhile.
///
/// Cheap to clone. Its counts are the limiter's.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) inner: Arc<Inner>,
}

impl Limiter {
    /// Builds a limiter that counts in this process.
    ///
    /// # Errors
    /// When two limits have one name, or the system gives no randomness for the store's secret.
    pub fn in_memory(limits: impl IntoIterator<Item = Limit>) -> Result<Self, BuildError> {
        let own = OwnStore::new(MemoryOptions::default())?;
        let store = Arc::clone(&own.store);
        let lasting = Lasting { own_store: Some(own), ..Lasting::default() };
        Ok(Self::of(Inner::new(store, Arc::new(lasting), limits.into_iter().map(plain))?))
    }

    /// Builds a limiter over a store.
    ///
    /// # Errors
    /// When two limits have one name.
    pub fn new(store: Arc<dyn Store>, limits: impl IntoIterator<Item = Limit>) -> Result<Self, BuildError> {
        Ok(Self::of(Inner::new(store, Arc::default(), limits.into_iter().map(plain))?))
    }

    /// Says how many instances of the application share the store: of a limit that goes on in each process while the store
    /// is gone ([`OnStoreFailure::Local`]), each takes its share; one unless said, and at least one.
    ///
    /// It holds for all clones, until a policy is loaded, which says it itself.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tidegate::{Limit, Limiter, MemoryOptions, MemoryStore, OnStoreFailure, Quota, Span};
    ///
    /// let six_a_minute = Quota::sliding_log(6, Span::from_secs(60))?;
    /// let sends = Limit::new("send", six_a_minute).with_store_failure(OnStoreFailure::Local);
    /// # let store = Arc::new(MemoryStore::new(MemoryOptions::default())?);
    /// // In an outage of its store, each of the three goes on with two a minute.
    /// let limiter = Limiter::new(store, [sends])?
    ///     .with_instances(3)
    ///     .with_denial_memory(Some(Duration::from_millis(200)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`OnStoreFailure::Local`]: crate::OnStoreFailure::Local
    #[must_use]
    pub fn with_instances(self, instances: u32) -> Self {
        self.in_force.load().set_instances(instances);
        self
    }

    /// Says how long a refusal is remembered at most, so that a flood on one key does not reach the store: 500 ms unless
    /// said, a minute at most, `None` for not at all.
    ///
    /// It ends earlier when the refusal's own wait does, and when the key is given something back or forgotten by this
    /// limiter; where another process does that, the key is refused here for up to so much longer. A request that is refused
    /// from memory has the decisions of the limits that are remembered alone: the others were not asked, and its wait is
    /// what is left of the remembered ones'. A store that does not allow it
    /// ([`Store::refusals_may_be_remembered`]; a memory store does not, nor a cluster) is always asked.
    ///
    /// It holds for all clones, until a policy is loaded, which says it itself.
    #[must_use]
    pub fn with_denial_memory(self, cap: Option<Duration>) -> Self {
        self.in_force.load().set_denial_cap(cap);
        self
    }

    pub(crate) fn of(inner: Inner) -> Self {
        Self { in_force: Arc::new(ArcSwap::from_pointee(inner)) }
    }

    /// Returns how full the memory store is, when the limiter was built with one of its own.
    pub fn memory_usage(&self) -> Option<Usage> {
        self.snapshot().inner.lasting.own_store.as_ref().map(|own| own.store.usage())
    }

    /// Returns the limits in force at this moment. Whoever asks several things of one request asks them of one snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { inner: self.in_force.load_full() }
    }

    /// Checks one limit on one key.
    ///
    /// # Errors
    /// When no limit has this name.
    pub async fn check_key(&self, limit: &str, key: impl AsRef<[u8]>) -> Result<Verdict, UnknownLimit> {
        self.check_keys([(limit, key)], CheckOptions::default()).await
    }

    /// Checks several limits at once, each on its key: all are charged or none is.
    ///
    /// A key is taken as it is, while a policy encodes what it reads from requests: the two are not the same key.
    ///
    /// # Errors
    /// When no limit has one of the names.
    pub async fn check_keys<'k, K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = (&'k str, K)>,
        options: CheckOptions,
    ) -> Result<Verdict, UnknownLimit> {
        self.snapshot().check_keys(keys, options).await
    }

    /// Gives back what a receipt was charged with.
    ///
    /// A refund never leaves more than if the request had not been made: where the charge can no longer be told
    /// apart (its window is over, its bucket has refilled) nothing is given back.
    ///
    /// # Errors
    /// When the store does not answer; what was given back is then unknown, and the receipt is spent.
    pub async fn refund(&self, receipt: Receipt) -> Result<(), StoreError> {
        self.refund_at(receipt, None).await
    }

    /// Gives back what a receipt was charged with, at an instant of the caller's.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn refund_at(&self, receipt: Receipt, at: Option<Timestamp>) -> Result<(), StoreError> {
        let given = receipt.charges.iter().map(|charge| (charge, Give::Charge));
        self.in_force.load_full().give_back(given, at).await
    }

    /// Returns whether the store answers, as far as has been seen.
    pub fn store_health(&self) -> StoreHealth {
        self.store_changes().borrow().clone()
    }

    /// Returns what tells when the store is lost and when it answers again.
    pub fn store_changes(&self) -> watch::Receiver<StoreHealth> {
        self.in_force.load().lasting.outage.breaker.health()
    }

    /// Asks whether the store answers. An answer ends an outage; that there is none counts towards one.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.in_force.load_full().ping().await
    }
}

impl Snapshot {
    /// Returns the limits, in the order they were given; one that has plans, under its default plan.
    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.inner.limits.iter().filter_map(|registered| registered.variants.first())
    }

    /// Checks several limits at once, each on its key: all are charged or none is. See [`Limiter::check_keys`].
    ///
    /// # Errors
    /// When no limit has one of the names.
    pub async fn check_keys<'k, K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = (&'k str, K)>,
        options: CheckOptions,
    ) -> Result<Verdict, UnknownLimit> {
        let mut plan = Plan::default();
        self.plan_keys(&mut plan, keys, options.cost)?;
        Ok(self.inner.run(&plan, options).await)
    }

    /// Plans checks of several limits, each on its key.
    pub(crate) fn plan_keys<'k, K: AsRef<[u8]>>(
        &self,
        plan: &mut Plan,
        keys: impl IntoIterator<Item = (&'k str, K)>,
        cost: Option<u32>,
    ) -> Result<(), UnknownLimit> {
        for (name, key) in keys {
            let found = self.inner.by_name.get(name).copied();
            let index = found.ok_or_else(|| self.unknown(name))?;
            let limit = self.inner.limits.get(index).and_then(|registered| registered.variants.first());
            let cost = cost.unwrap_or(limit.map_or(1, Limit::cost));
            plan.push(index, |out| {
                out.extend_from_slice(key.as_ref());
                Ok::<_, UnknownLimit>(Some(Terms { variant: 0, cost }))
            })?;
        }
        Ok(())
    }

    pub(crate) fn unknown(&self, name: &str) -> UnknownLimit {
        let known = self.limits().map(|limit| limit.name().to_owned()).collect();
        UnknownLimit { name: name.to_owned(), known }
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().inner.describe("Limiter", f)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe("Snapshot", f)
    }
}
