//! The limiter: plan, one store call, combine.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "policy")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use smallvec::SmallVec;
use tidegate_algorithms::Timestamp;
use tidegate_store::{Give, LimitId, MemoryOptions, MemoryStore, Store, StoreError, Usage};
use tokio::sync::watch;

use crate::denial::{self, Denials};
use crate::limit::Limit;
use crate::observe::{LimitTally, Observer, TermsTally};
use crate::options::{BuildError, CheckOptions, UnknownLimit};
use crate::outage::{Outage, StoreHealth};
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

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) limits: Vec<Registered>,
    pub(crate) by_name: HashMap<Arc<str>, usize>,
    #[cfg(feature = "policy")]
    pub(crate) policy: Option<crate::compile::Compiled>,
    pub(crate) lasting: Arc<Lasting>,
    pub(crate) settings: Settings,
}

/// What may be set after the limiter was built.
#[derive(Debug)]
pub(crate) struct Settings {
    /// How many instances share the work, for limits that go on in each by itself.
    instances: AtomicU32,
    /// How long a refusal is remembered at most, in microseconds; zero for not at all.
    denial_cap: AtomicU64,
}

/// What outlives a reload.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    pub(crate) observer: Observer,
    pub(crate) outage: Outage,
    pub(crate) denials: Denials,
    /// The store, when it is this limiter's own.
    pub(crate) own_store: Option<OwnStore>,
    /// Held while the limits are replaced, so that two who do it at once follow each other.
    #[cfg(feature = "policy")]
    pub(crate) reloading: Mutex<()>,
    #[cfg(feature = "policy")]
    pub(crate) own_identities: crate::identity::OwnIdentities,
}

/// A memory store that a limiter has made for itself.
#[derive(Debug)]
pub(crate) struct OwnStore {
    pub(crate) store: Arc<MemoryStore>,
    /// What it was made with.
    #[cfg_attr(not(feature = "policy"), allow(dead_code, reason = "only a policy can ask for others"))]
    pub(crate) options: MemoryOptions,
}

impl OwnStore {
    pub(crate) fn new(options: MemoryOptions) -> Result<Self, BuildError> {
        let store = Arc::new(MemoryStore::new(options).map_err(BuildError::Store)?);
        Ok(Self { store, options })
    }
}

/// A limit with the store's handle for it, and its counters.
pub(crate) struct Registered {
    pub(crate) id: LimitId,
    /// The limit under each of its terms; one unless it has plans or overrides.
    pub(crate) variants: SmallVec<[Limit; 1]>,
    pub(crate) tally: Arc<LimitTally>,
    /// The counters of each of the terms.
    pub(crate) terms: SmallVec<[Arc<TermsTally>; 1]>,
    pub(crate) alert_at: Option<u8>,
    /// The name by which the store keeps its counts.
    pub(crate) storage_name: String,
}

/// A limit to be registered.
pub(crate) struct Built {
    /// The name by which the store keeps its counts.
    pub(crate) storage_name: String,
    /// The limit under each of its terms, with the plan these are of.
    pub(crate) variants: SmallVec<[(Limit, Option<Arc<str>>); 1]>,
    /// The share of the limit in percent from which its use raises an alert.
    pub(crate) alert_at: Option<u8>,
}

impl Built {
    fn register(self, store: &dyn Store, observer: &Observer) -> Option<Registered> {
        let name = self.variants.first()?.0.shared_name();
        let tally = observer.limit(&name);
        let terms = self.variants.iter().map(|(_, plan)| tally.terms(plan.as_ref())).collect();
        let variants = self.variants.into_iter().map(|(limit, _)| limit).collect();
        let id = store.limit(&self.storage_name);
        Some(Registered {
            id,
            variants,
            tally,
            terms,
            alert_at: self.alert_at,
            storage_name: self.storage_name,
        })
    }
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
        for (name, key) in keys {
            let found = self.inner.by_name.get(name).copied();
            let index = found.ok_or_else(|| self.unknown(name))?;
            let limit = self.inner.limits.get(index).and_then(|registered| registered.variants.first());
            let cost = options.cost.unwrap_or(limit.map_or(1, Limit::cost));
            plan.push(index, |out| {
                out.extend_from_slice(key.as_ref());
                Ok::<_, UnknownLimit>(Some(Terms { variant: 0, cost }))
            })?;
        }
        Ok(self.inner.run(&plan, options).await)
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

/// Makes a limit that was built in code ready to be registered.
fn plain(limit: Limit) -> Built {
    let storage_name = limit.name().to_owned();
    Built { storage_name, variants: SmallVec::from_iter([(limit, None)]), alert_at: None }
}

impl Inner {
    /// Builds the limits, each under the name by which the store keeps its counts.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        lasting: Arc<Lasting>,
        limits: impl IntoIterator<Item = Built>,
    ) -> Result<Self, BuildError> {
        let mut registered = Vec::new();
        let mut by_name = HashMap::new();
        for built in limits {
            let Some(limit) = built.register(&*store, &lasting.observer) else { continue };
            let Some(name) = limit.variants.first().map(Limit::shared_name) else { continue };
            if by_name.insert(Arc::clone(&name), registered.len()).is_some() {
                return Err(BuildError::Duplicate(name.to_string()));
            }
            registered.push(limit);
        }
        let settings = Settings { instances: AtomicU32::new(1), denial_cap: AtomicU64::new(0) };
        let inner = Self {
            store,
            limits: registered,
            by_name,
            #[cfg(feature = "policy")]
            policy: None,
            lasting,
            settings,
        };
        inner.set_denial_cap(Some(denial::CAP));
        Ok(inner)
    }

    /// Returns how many instances share the work; at least one.
    pub(crate) fn instances(&self) -> u32 {
        self.settings.instances.load(Ordering::Relaxed)
    }

    pub(crate) fn set_instances(&self, instances: u32) {
        self.settings.instances.store(instances.max(1), Ordering::Relaxed);
    }

    /// Returns how long a refusal is remembered at most, if it is.
    pub(crate) fn denial_cap(&self) -> Option<Duration> {
        let micros = self.settings.denial_cap.load(Ordering::Relaxed);
        (micros > 0).then(|| Duration::from_micros(micros))
    }

    /// Sets how long a refusal is remembered at most, where the store allows that at all.
    pub(crate) fn set_denial_cap(&self, cap: Option<Duration>) {
        let cap =
            cap.filter(|_| self.store.refusals_may_be_remembered()).unwrap_or_default().min(denial::LONGEST);
        self.settings.denial_cap.store(u64::try_from(cap.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Returns whether there is a limit of that name.
    #[cfg(feature = "policy")]
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Asks the store for a plan's decisions and combines them.
    pub(crate) async fn run(&self, plan: &Plan, options: CheckOptions) -> Verdict {
        let mut verdict = self.ask(plan, options).await;
        let skipped = plan.skipped().iter().filter_map(|index| self.limits.get(*index));
        verdict.skipped.extend(skipped.filter_map(|registered| registered.variants.first()).cloned());
        // Whoever only looks is no request.
        if !options.peek {
            self.lasting.observer.decisions(plan, self, &verdict);
            self.lasting.observer.request(&verdict.ruling);
        }
        verdict
    }

    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.limits.len();
        f.debug_struct(name).field("store", &self.store).field("limits", &limits).finish_non_exhaustive()
    }
}
