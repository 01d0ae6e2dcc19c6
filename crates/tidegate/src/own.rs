//! Limits that are nobody's of the policy: their numbers come with each call, and counts are kept under their names.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tidegate_store::{LimitId, Store};

use crate::inner::Inner;
use crate::limit::Limit;
use crate::limiter::Snapshot;
use crate::observe::{LimitTally, Observer, TermsTally};
use crate::options::CheckOptions;
use crate::plan::Plan;
use crate::verdict::Verdict;

/// One check of a limit whose numbers come with the call.
#[derive(Debug, Clone, Copy)]
pub struct OwnCheck<'a> {
    /// The limit. The store keeps its counts under its name, whatever numbers come with it next time: then they are held
    /// against those. A limit of the policy by the same name shares its counts, so give it a name that no `rule/limit` has.
    /// Names are the caller's own and few, never a client's.
    pub limit: &'a Limit,
    /// What it is counted on; any bytes.
    pub key: &'a [u8],
    /// The units it takes, zero to look without taking. Neither the limit's own cost nor the options' is looked at.
    pub cost: u32,
}

/// The names whose answers are counted one by one. Whoever gives more has them counted together.
const MOST_NAMES: usize = 256;

/// What all names are counted under that came too late for counters of their own.
const OTHERS: &str = "(others)";

/// The names of limits that came with calls; they outlive a reload.
#[derive(Debug, Default)]
pub(crate) struct OwnLimits {
    known: RwLock<HashMap<Arc<str>, Arc<OwnCounts>>>,
    /// What all others are counted in, once there are any.
    others: OnceLock<Arc<LimitTally>>,
}

/// Where the counts of a limit are kept that comes with calls, and what is counted of its answers.
#[derive(Debug)]
pub(crate) struct OwnCounts {
    pub(crate) name: Arc<str>,
    pub(crate) id: LimitId,
    tally: Arc<LimitTally>,
    pub(crate) terms: Arc<TermsTally>,
}

impl OwnCounts {
    fn new(name: &Arc<str>, store: &dyn Store, tally: Arc<LimitTally>) -> Arc<Self> {
        let terms = tally.terms(None);
        Arc::new(Self { name: Arc::clone(name), id: store.limit(name), tally, terms })
    }
}

impl OwnLimits {
    /// Returns where the counts under a name are kept.
    pub(crate) fn counts(&self, name: &Arc<str>, store: &dyn Store, observer: &Observer) -> Arc<OwnCounts> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = known.get(name) {
            return Arc::clone(counts);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_NAMES && !known.contains_key(name) {
            drop(known);
            let others = self.others.get_or_init(|| observer.limit(&Arc::from(OTHERS)));
            return OwnCounts::new(name, store, Arc::clone(others));
        }
        let counts = || OwnCounts::new(name, store, observer.limit(name));
        Arc::clone(known.entry(Arc::clone(name)).or_insert_with(counts))
    }

    /// Returns whether answers are counted under a name here.
    #[cfg(feature = "policy")]
    pub(crate) fn has(&self, name: &str) -> bool {
        name == OTHERS || self.known.read().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    /// Returns the store's ids of the names that have counters of their own.
    #[cfg(feature = "policy")]
    pub(crate) fn ids(&self) -> Vec<LimitId> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|counts| counts.id).collect()
    }

    /// Returns what is counted of their answers, by name.
    pub(crate) fn tallies(&self) -> Vec<(Arc<str>, Arc<LimitTally>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let known = known.values().map(|counts| (Arc::clone(&counts.name), Arc::clone(&counts.tally)));
        let others = self.others.get().map(|others| (Arc::from(OTHERS), Arc::clone(others)));
        known.chain(others).collect()
    }
}

impl Inner {
    /// Adds a limit that came with the call to a plan, its counts kept under `name`.
    pub(crate) fn push_own(
        &self,
        plan: &mut Plan,
        (limit, name): (&Limit, &Arc<str>),
        cost: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let counts = self.lasting.own_limits.counts(name, &*self.store, &self.lasting.observer);
        plan.push_given((limit, counts), cost, write);
    }
}

impl Snapshot {
    /// Checks limits whose numbers come with the call, each on its key: all are charged or none is.
    ///
    /// They need not be known to the limiter, and go through all that its own limits go through: refusals are remembered,
    /// an outage of the store is met as each limit chooses, charges can be given back and settled.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate::{CheckOptions, Limit, Limiter, OwnCheck, Quota, Rate, Span};
    ///
    /// let limiter = Limiter::in_memory([])?;
    /// let limit = Limit::new("uploads", Quota::token_bucket(1, Rate::new(1, Span::from_secs(10))?)?);
    /// let checks = [OwnCheck { limit: &limit, key: b"odalys", cost: 1 }];
    /// let snapshot = limiter.snapshot();
    /// assert!(snapshot.check_own(&checks, CheckOptions::default()).await.is_allowed());
    /// assert!(!snapshot.check_own(&checks, CheckOptions::default()).await.is_allowed());
    /// # Ok(()) }
    /// ```
    pub async fn check_own(&self, checks: &[OwnCheck<'_>], options: CheckOptions) -> Verdict {
        let mut plan = Plan::default();
        for check in checks {
            let name = check.limit.shared_name();
            let write = |out: &mut Vec<u8>| out.extend_from_slice(check.key);
            self.inner.push_own(&mut plan, (check.limit, &name), check.cost, write);
        }
        self.inner.run(&plan, options).await
    }
}
