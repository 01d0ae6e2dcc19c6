//! What a limiter counts about its own work, and what it warns of.
//!
//! Plain counters: a check adds to a few atomics that the compiled policy holds, and allocates nothing. Whoever shows
//! them asks [`Limiter::observe`] for a copy. Labels are names of the policy, never keys, so that nobody outside can
//! make them grow. Counts and warnings outlive a reload, for limits and rules that are still there by their name.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_algorithms::Answer;
use tidegate_store::{Durations, DurationsSeen, Measures};

use crate::alert::{Alerts, Listener};
use crate::inner::{Inner, Registered};
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::outage::Without;
use crate::plan::Plan;
use crate::verdict::{LimitDecision, Ruling, Verdict};
use crate::waits::{Waits, WaitsSeen};

/// What a limiter has counted since it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Requests by what became of them: `allowed`, `refused`, `bad_request`, `denied`, `store_down`, `uncounted`.
    pub requests: Vec<(&'static str, u64)>,
    /// Checks that the store did not answer.
    pub store_errors: u64,
    /// Requests that were decided without the store, by their limits' choice: `deny`, `allow`, `local`.
    pub without_store: Vec<(&'static str, u64)>,
    /// How often the store was lost.
    pub outages: u64,
    /// How long decisions of a store outside this process took, those that brought none among them.
    pub decisions: DurationsSeen,
    /// Requests that were refused from the memory of refusals, without asking the store.
    pub remembered: u64,
    /// How long requests were to be held for leaky buckets, those that were.
    pub waits: WaitsSeen,
    /// The limits, sorted by name.
    pub limits: Vec<LimitObserved>,
    /// How many requests each rule applied to, by its name; sorted.
    pub rules: Vec<(Arc<str>, u64)>,
    /// How often each cause of a warning came up; it is logged the first time.
    pub warnings: Vec<(&'static str, u64)>,
}

/// What was counted about one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitObserved {
    /// Its name.
    pub name: Arc<str>,
    /// Its answers, by plan; one without a plan unless it has plans.
    pub terms: Vec<TermsObserved>,
    /// Requests that it did not look at: they lack its key, or a shadow limit could not read them.
    pub skipped: u64,
    /// Requests that lack its key, whatever became of them.
    pub missing_key: u64,
    /// How often the use of a key rose to the limit's `alert_at`, for up to 1,024 keys at a time; `None` when it has
    /// none.
    pub alerts: Option<u64>,
    /// How often it was made to forget a key at an operator's word.
    pub resets: u64,
}

/// A limit's answers under one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermsObserved {
    /// The plan's name, if the limit has plans. What is overridden for single keys is counted together, as `(override)`.
    pub plan: Option<Arc<str>>,
    /// Requests it admitted.
    pub admitted: u64,
    /// Requests it refused.
    pub refused: u64,
    /// Requests it would have refused, were it no shadow.
    pub shadow_refused: u64,
}

/// What a limiter warns of; each is logged once, of a rule or limit once by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// A private peer sends forwarding headers and is not trusted: everybody behind it shares one key.
    UntrustedProxy,
    /// A trusted proxy forwards an address that cannot be read.
    OpaqueHop,
    /// A request came without its peer's address, and a limit skips it.
    NoPeer,
    /// A rule applied to no request.
    RuleNeverMatched,
    /// Most requests lack a limit's key.
    MissingKey,
    /// More keys are at a limit's `alert_at` than are told one by one.
    ManyAlerts,
    /// A request names a plan that the limit does not have.
    UnknownPlan,
}

impl Cause {
    const ALL: [Self; 7] = [
        Self::UntrustedProxy,
        Self::OpaqueHop,
        Self::NoPeer,
        Self::RuleNeverMatched,
        Self::MissingKey,
        Self::ManyAlerts,
        Self::UnknownPlan,
    ];

    /// Returns the name that a metric bears.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UntrustedProxy => "untrusted_proxy",
            Self::OpaqueHop => "opaque_hop",
            Self::NoPeer => "no_peer",
            Self::RuleNeverMatched => "rule_never_matched",
            Self::MissingKey => "missing_key",
            Self::ManyAlerts => "many_alerts",
            Self::UnknownPlan => "unknown_plan",
        }
    }
}

/// The rulings by the names they are counted under.
const RULINGS: [&str; 6] = ["allowed", "refused", "bad_request", "denied", "store_down", "uncounted"];

/// The counters of a limiter.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    rulings: [AtomicU64; RULINGS.len()],
    store_errors: AtomicU64,
    /// Requests that were decided without the store.
    pub(crate) without: Without,
    /// How long decisions of a shared store took.
    pub(crate) durations: Durations,
    causes: [AtomicU64; Cause::ALL.len()],
    limits: Mutex<HashMap<Arc<str>, Arc<LimitTally>>>,
    rules: Mutex<HashMap<Arc<str>, Arc<RuleTally>>>,
    pub(crate) nearing: Listener,
    waits: Waits,
}

/// The counters of a limit of that name, whatever policy it is in.
#[derive(Debug, Default)]
pub(crate) struct LimitTally {
    /// Requests that a rule brought to the limit, with its key or without.
    brought: AtomicU64,
    skipped: AtomicU64,
    missing: AtomicU64,
    pub(crate) resets: AtomicU64,
    warned_missing: AtomicBool,
    terms: Mutex<HashMap<Option<Arc<str>>, Arc<TermsTally>>>,
    pub(crate) alerts: Alerts,
}

#[derive(Debug, Default)]
pub(crate) struct TermsTally {
    admitted: AtomicU64,
    refused: AtomicU64,
    shadow_refused: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct RuleTally {
    matches: AtomicU64,
    warned: AtomicBool,
}

/// A limit's share of the requests that lack its key from which it is told, and of how many requests at least.
const MISSING_OF: u64 = 1_000;

impl Observer {
    /// Notes a cause, and returns whether it is the first time.
    pub(crate) fn is_first(&self, cause: Cause) -> bool {
        let index = Cause::ALL.iter().position(|known| *known == cause);
        index.and_then(|index| self.causes.get(index)).is_some_and(|count| add(count) == 0)
    }

    /// Returns the counters of a limit, those it had before if it was there.
    pub(crate) fn limit(&self, name: &Arc<str>) -> Arc<LimitTally> {
        Arc::clone(lock(&self.limits).entry(Arc::clone(name)).or_default())
    }

    /// Returns the counters of a rule, those it had before if it was there.
    #[cfg(feature = "policy")]
    pub(crate) fn rule(&self, name: &str) -> Arc<RuleTally> {
        Arc::clone(lock(&self.rules).entry(name.into()).or_default())
    }

    /// Keeps the counters of the limits and rules that are still there, by their names.
    #[cfg(feature = "policy")]
    pub(crate) fn forget(&self, limit: impl Fn(&str) -> bool, rule: impl Fn(&str) -> bool) {
        lock(&self.limits).retain(|name, _| limit(name));
        lock(&self.rules).retain(|name, _| rule(name));
    }

    /// Counts what became of a request.
    pub(crate) fn request(&self, ruling: &Ruling) {
        if let Ruling::Allow { delay } = ruling {
            self.waits.record(*delay);
        }
        let index = match ruling {
            Ruling::Allow { .. } => 0,
            Ruling::Refuse { .. } => 1,
            Ruling::BadRequest(_) => 2,
            Ruling::Denied(_) => 3,
            Ruling::StoreDown => 4,
            Ruling::Uncounted => 5,
        };
        self.rulings.get(index).map(add);
    }

    pub(crate) fn store_error(&self) {
        add(&self.store_errors);
    }

    /// Counts the decisions of a verdict, and raises the alerts they give rise to.
    pub(crate) fn decisions(&self, plan: &Plan, inner: &Inner, verdict: &Verdict) {
        let mut decisions = verdict.decisions.iter().peekable();
        for (place, (asked, key)) in plan.asked().enumerate() {
            // Of a request that was decided without asking everybody, not every check has a decision.
            let Some(decided) = decisions.next_if(|decided| decided.place == place) else { continue };
            let Some(known) = plan.find(&inner.limits, asked.limit) else { continue };
            if let Some(terms) = known.terms {
                terms.count(decided);
            }
            let Some(registered) = known.registered else { continue };
            if let (Some(at_percent), Some(now)) = (registered.alert_at, verdict.at) {
                #[cfg(feature = "policy")]
                let identity = || inner.identity(registered, key);
                // What names keys comes with policies.
                #[cfg(not(feature = "policy"))]
                let identity = || None;
                registered.tally.alerts.look_at(self, (decided, at_percent), (key, now), identity);
            }
        }
        for index in plan.skipped() {
            inner.limits.get(*index).map(|registered| add(&registered.tally.skipped));
        }
    }
}

impl LimitTally {
    /// Returns the counters of the limit's terms under a plan.
    pub(crate) fn terms(&self, plan: Option<&Arc<str>>) -> Arc<TermsTally> {
        Arc::clone(lock(&self.terms).entry(plan.cloned()).or_default())
    }

    /// Keeps the counters of the plans that are still there.
    #[cfg(feature = "policy")]
    pub(crate) fn keep(&self, wanted: &[Arc<TermsTally>]) {
        lock(&self.terms).retain(|_, tally| wanted.iter().any(|one| Arc::ptr_eq(one, tally)));
    }

    /// Counts a request that came to the limit, and warns once when most of them lack its key.
    #[cfg(feature = "policy")]
    pub(crate) fn bring(&self, has_key: bool, limit: &str, observer: &Observer) {
        let brought = add(&self.brought).saturating_add(1);
        if has_key {
            return;
        }
        let missing = add(&self.missing).saturating_add(1);
        let most = brought >= MISSING_OF && missing.saturating_mul(2) > brought;
        if most && is_first(&self.warned_missing) {
            observer.is_first(Cause::MissingKey);
            let percent = missing.saturating_mul(100) / brought;
            tracing::warn!(
                limit,
                requests = brought,
                without_key = missing,
                "{percent} % of the requests that come to this limit lack its key; what the limit is to count on is \
                 not where the policy looks for it"
            );
        }
    }
}

impl TermsTally {
    fn count(&self, decided: &LimitDecision) {
        add(match (&decided.decision.answer, decided.is_enforced()) {
            (Answer::Admit { .. }, _) => &self.admitted,
            (Answer::Refuse(_), true) => &self.refused,
            (Answer::Refuse(_), false) => &self.shadow_refused,
        });
    }
}

#[cfg(feature = "policy")]
impl RuleTally {
    pub(crate) fn add(&self) {
        add(&self.matches);
    }

    pub(crate) fn matches(&self) -> u64 {
        self.matches.load(Ordering::Relaxed)
    }

    /// Warns that the rule applied to no request; once.
    pub(crate) fn warn(&self, rule: &str, requests: u64, observer: &Observer) {
        if is_first(&self.warned) {
            observer.is_first(Cause::RuleNeverMatched);
            tracing::warn!(
                rule,
                requests,
                "this rule has applied to no request since it was loaded: its limits limit nothing; compare its \
                 match with the paths, methods and hosts that come"
            );
        }
    }
}

impl Limiter {
    /// Returns what the store has counted about its own work.
    pub fn store_measures(&self) -> Measures {
        self.snapshot().inner.store.measures()
    }

    /// Returns what has been counted so far.
    pub fn observe(&self) -> Observed {
        let inner = self.snapshot().inner;
        let observer = &inner.lasting.observer;
        let mut limits: Vec<_> = inner.limits.iter().map(observed).collect();
        let own = inner.lasting.own_limits.tallies();
        let own = own.into_iter().filter(|(name, _)| !inner.by_name.contains_key(name));
        limits.extend(own.map(|(name, tally)| observed_as(name, &tally, None)));
        limits.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let rules = lock(&observer.rules);
        let rules = rules.iter().map(|(name, tally)| (Arc::clone(name), read(&tally.matches)));
        let mut rules: Vec<_> = rules.collect();
        rules.sort_unstable();
        Observed {
            requests: RULINGS.into_iter().zip(observer.rulings.iter().map(read)).collect(),
            store_errors: read(&observer.store_errors),
            without_store: observer.without.read(),
            outages: inner.lasting.outage.breaker.outages(),
            decisions: observer.durations.seen(),
            remembered: inner.lasting.denials.hits(),
            waits: observer.waits.seen(),
            limits,
            rules,
            warnings: Cause::ALL.into_iter().map(Cause::name).zip(observer.causes.iter().map(read)).collect(),
        }
    }
}

fn observed(registered: &Registered) -> LimitObserved {
    let name = registered.variants.first().map_or_else(|| Arc::from(""), Limit::shared_name);
    observed_as(name, &registered.tally, registered.alert_at)
}

fn observed_as(name: Arc<str>, tally: &LimitTally, alert_at: Option<u8>) -> LimitObserved {
    let terms = lock(&tally.terms);
    let mut terms: Vec<_> = terms
        .iter()
        .map(|(plan, tally)| TermsObserved {
            plan: plan.clone(),
            admitted: read(&tally.admitted),
            refused: read(&tally.refused),
            shadow_refused: read(&tally.shadow_refused),
        })
        .collect();
    terms.sort_unstable_by(|a, b| a.plan.cmp(&b.plan));
    LimitObserved {
        name,
        terms,
        skipped: read(&tally.skipped),
        missing_key: read(&tally.missing),
        alerts: alert_at.map(|_| tally.alerts.raised()),
        resets: read(&tally.resets),
    }
}

/// Adds one and returns what was there.
pub(crate) fn add(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Returns whether this is the first time a cause comes up.
pub(crate) fn is_first(cause: &AtomicBool) -> bool {
    !cause.load(Ordering::Relaxed) && !cause.swap(true, Ordering::Relaxed)
}

/// Takes a lock that nobody holds for long. Nothing of ours panics while it is held, and counters would survive it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
