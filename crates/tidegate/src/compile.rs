//! From a policy to the limits that are enforced, with what is counted of its rules.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use tidegate_algorithms::Span;
use tidegate_policy as file;
use tidegate_policy::{Identities, Matched, Policy};
use tidegate_store::Store;

use crate::clock::Dates;
use crate::inner::{Built, Inner, Lasting};
use crate::limit::{Counts, Disclosure, Limit, OnStoreFailure, OnSuccess};
use crate::observe::{LimitTally, RuleTally, add, read};
use crate::options::{BuildError, CheckOptions};

/// A policy, where its rules' limits begin among the limiter's, and what is counted of them.
pub(crate) struct Compiled {
    pub(crate) policy: Arc<Policy>,
    pub(crate) dates: Dates,
    /// The rules, then the fallback.
    rules: Vec<CompiledRule>,
    pub(crate) limits: Vec<Arc<LimitTally>>,
    pub(crate) lasting: Arc<Lasting>,
    requests: AtomicU64,
    loaded: Instant,
}

struct CompiledRule {
    /// Its first limit.
    first: usize,
    tally: Arc<RuleTally>,
    /// How often it had matched when this policy was loaded.
    matched_before: u64,
}

/// A rule that has applied to none of so many requests, or to none for so long, is told.
const IDLE_REQUESTS: u64 = 10_000;
const IDLE_TIME: Duration = Duration::from_hours(1);

/// What all overrides of a limit are counted under together: no plan can be called so.
const OVERRIDDEN: &str = "(override)";

/// Builds what is in force under a policy.
pub(crate) fn compiled(
    policy: Policy,
    store: Arc<dyn Store>,
    lasting: Arc<Lasting>,
) -> Result<Inner, BuildError> {
    let mut rules = Vec::new();
    let mut limits = Vec::new();
    let identities = || policy.identities.as_ref().or_else(|| lasting.own_identities.get());
    for rule in policy.rules.iter().chain(&policy.fallback) {
        let tally = lasting.observer.rule(&rule.name);
        rules.push(CompiledRule { first: limits.len(), matched_before: tally.matches(), tally });
        limits.extend(rule.limits.iter().map(|limit| built(rule, limit, identities)));
    }
    let dates = Dates::of(&policy, &store);
    let mut inner = Inner::new(store, Arc::clone(&lasting), limits)?;
    inner.set_instances(policy.instances);
    if let file::StoreChoice::Redis(redis) = &policy.store {
        inner.set_denial_cap(redis.denial_memory.map(Span::as_duration));
    }
    inner.policy = Some(Compiled {
        policy: Arc::new(policy),
        dates,
        rules,
        limits: inner.limits.iter().map(|registered| Arc::clone(&registered.tally)).collect(),
        lasting,
        requests: AtomicU64::new(0),
        loaded: Instant::now(),
    });
    Ok(inner)
}

impl Compiled {
    /// Returns the index of a rule's first limit.
    pub(crate) fn first_limit(&self, rule: usize) -> usize {
        self.rules.get(rule).map_or(0, |rule| rule.first)
    }

    /// Counts a request, and looks once whether every rule has found one.
    pub(crate) fn count_request(&self) {
        if add(&self.requests).saturating_add(1) == IDLE_REQUESTS {
            self.warn_of_idle_rules();
        }
    }

    /// Warns of rules that have applied to nothing, if they had time to.
    pub(crate) fn look_back(&self) {
        let waited = read(&self.requests) >= IDLE_REQUESTS || self.loaded.elapsed() >= IDLE_TIME;
        if waited && read(&self.requests) > 0 {
            self.warn_of_idle_rules();
        }
    }

    fn warn_of_idle_rules(&self) {
        let requests = read(&self.requests);
        // The fallback is for what the rules leave over, and that may well be nothing.
        for (rule, compiled) in self.policy.rules.iter().zip(&self.rules) {
            if compiled.tally.matches() == compiled.matched_before {
                compiled.tally.warn(&rule.name, requests, &self.lasting.observer);
            }
        }
    }

    pub(crate) fn count_match(&self, matched: &Matched<'_>, options: CheckOptions) {
        let index = matched.index.unwrap_or(self.policy.rules.len());
        if !options.peek
            && let Some(rule) = self.rules.get(index)
        {
            rule.tally.add();
        }
    }
}

/// Builds the limiter's limit of a policy's, under each of its terms, with the name its counts are kept under.
fn built<'i>(
    rule: &file::Rule,
    limit: &file::Limit,
    identities: impl Fn() -> Option<&'i Identities>,
) -> Built {
    let disclosure = match limit.client_sees.unwrap_or(rule.client_sees) {
        file::ClientSees::All => Disclosure::All,
        file::ClientSees::RetryAfter => Disclosure::RetryAfter,
        file::ClientSees::Nothing => Disclosure::Nothing,
    };
    let choice = store_failure(rule.on_store_failure);
    let name: Arc<str> = limit.name.as_str().into();
    let variants = limit.variants().enumerate().map(|(variant, (whose, terms))| {
        let built = Limit::new(Arc::clone(&name), terms.quota)
            .with_words(terms.says.as_str())
            .with_cost(limit.cost.usual())
            .with_shadow(limit.mode_of(variant) == file::Mode::Shadow)
            .with_disclosure(disclosure)
            .with_counts(counts(&limit.count))
            .with_store_failure(choice);
        match whose {
            file::Whose::Everybody => (built, None),
            file::Whose::Plan(plan) => (built.with_plan(plan), Some(Arc::from(plan))),
            // A key's value is nothing to count under, nor to show: it is no name of the policy's own.
            file::Whose::Key(_) => {
                let name = whose.name_outside(limit, identities()).unwrap_or_default();
                (built.with_plan(name), Some(Arc::from(OVERRIDDEN)))
            }
        }
    });
    Built {
        storage_name: limit.storage_name().to_owned(),
        variants: variants.collect(),
        alert_at: limit.alert_at,
        is_counter: limit.shared_counter.is_some(),
    }
}

/// Returns the limiter's word for a rule's choice.
pub(crate) fn store_failure(choice: file::OnStoreFailure) -> OnStoreFailure {
    match choice {
        file::OnStoreFailure::Allow => OnStoreFailure::Allow,
        file::OnStoreFailure::Deny => OnStoreFailure::Deny,
        file::OnStoreFailure::Local => OnStoreFailure::Local,
    }
}

fn counts(count: &file::Count) -> Counts {
    match count {
        file::Count::Every => Counts::Every,
        file::Count::Failures { success, on_success } => Counts::Failures {
            on_success: match on_success {
                file::OnSuccess::Refund => OnSuccess::Refund,
                file::OnSuccess::Reset => OnSuccess::Reset,
            },
            success: Some(Arc::new(success.clone())),
        },
    }
}
