//! What is in force: the limits of one moment, with the store's handles for them, and what outlives them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "policy")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use foldhash::fast::FixedState;
use smallvec::SmallVec;
use tidegate_store::{LimitId, MemoryOptions, MemoryStore, Store};

use crate::denial::{self, Denials};
use crate::limit::Limit;
use crate::observe::{LimitTally, Observer, TermsTally};
use crate::options::{BuildError, CheckOptions};
use crate::outage::Outage;
use crate::own::OwnLimits;
use crate::plan::Plan;
use crate::ready::Lines;
use crate::verdict::Verdict;

/// What a limiter decides by at one moment; a reload puts another in its place.
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) limits: Vec<Registered>,
    /// Those that other programs count as well.
    counters: HashSet<LimitId>,
    /// By a quick hash: the names are the author's own, and nobody else adds one.
    pub(crate) by_name: HashMap<Arc<str>, usize, FixedState>,
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
    /// The limits that came with calls.
    pub(crate) own_limits: OwnLimits,
    /// Those who wait until a limit admits.
    pub(crate) lines: Lines,
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
    pub(crate) storage_name: Arc<str>,
    /// Whether other programs count as well.
    pub(crate) is_counter: bool,
}

/// A limit to be registered.
pub(crate) struct Built {
    /// The name by which the store keeps its counts.
    pub(crate) storage_name: String,
    /// The limit under each of its terms, with the plan these are of.
    pub(crate) variants: SmallVec<[(Limit, Option<Arc<str>>); 1]>,
    /// The share of the limit in percent from which its use raises an alert.
    pub(crate) alert_at: Option<u8>,
    /// Whether other programs count as well: its keys are the names of their counters.
    pub(crate) is_counter: bool,
}

impl Built {
    fn register(self, store: &dyn Store, observer: &Observer) -> Option<Registered> {
        let name = self.variants.first()?.0.shared_name();
        let tally = observer.limit(&name);
        let terms = self.variants.iter().map(|(_, plan)| tally.terms(plan.as_ref())).collect();
        let variants = self.variants.into_iter().map(|(limit, _)| limit).collect();
        let id = if self.is_counter {
            store.plain_counter(&self.storage_name)
        } else {
            store.limit(&self.storage_name)
        };
        Some(Registered {
            id,
            variants,
            tally,
            terms,
            alert_at: self.alert_at,
            is_counter: self.is_counter,
            storage_name: self.storage_name.into(),
        })
    }
}

/// Makes a limit that was built in code ready to be registered.
pub(crate) fn plain(limit: Limit) -> Built {
    let storage_name = limit.name().to_owned();
    Built { storage_name, variants: SmallVec::from_iter([(limit, None)]), alert_at: None, is_counter: false }
}

impl Inner {
    /// Builds the limits, each under the name by which the store keeps its counts.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        lasting: Arc<Lasting>,
        limits: impl IntoIterator<Item = Built>,
    ) -> Result<Self, BuildError> {
        let mut registered = Vec::new();
        let mut by_name = HashMap::default();
        for built in limits {
            let Some(limit) = built.register(&*store, &lasting.observer) else { continue };
            let Some(name) = limit.variants.first().map(Limit::shared_name) else { continue };
            if by_name.insert(Arc::clone(&name), registered.len()).is_some() {
                return Err(BuildError::Duplicate(name.to_string()));
            }
            registered.push(limit);
        }
        let settings = Settings { instances: AtomicU32::new(1), denial_cap: AtomicU64::new(0) };
        let counters = registered.iter().filter(|limit| limit.is_counter).map(|limit| limit.id).collect();
        let inner = Self {
            store,
            limits: registered,
            counters,
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

    /// Returns whether a refusal of a limit may be remembered: not where other programs may change the count, and count what
    /// is refused.
    pub(crate) fn may_remember(&self, limit: LimitId) -> bool {
        !self.counters.contains(&limit)
    }

    /// Returns whether there is a limit of that name.
    #[cfg(feature = "policy")]
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Asks the store for a plan's decisions and combines them.
    pub(crate) async fn run(&self, plan: &Plan, options: CheckOptions) -> Verdict {
        let mut verdict = Verdict::passing();
        self.ask(plan, options, &mut verdict).await;
        self.finish(plan, options, &mut verdict);
        verdict
    }

    /// Adds to a verdict what the plan left out, and counts it.
    pub(crate) fn finish(&self, plan: &Plan, options: CheckOptions, verdict: &mut Verdict) {
        let skipped = plan.skipped().iter().filter_map(|index| self.limits.get(*index));
        verdict.skipped.extend(skipped.filter_map(|registered| registered.variants.first()).cloned());
        // Whoever only looks is no request.
        if !options.peek {
            self.lasting.observer.decisions(plan, self, verdict);
            self.lasting.observer.request(&verdict.ruling);
        }
    }

    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.limits.len();
        f.debug_struct(name).field("store", &self.store).field("limits", &limits).finish_non_exhaustive()
    }
}
