//! Checking requests by a policy file.

use std::sync::Arc;

use tidegate_algorithms::Timestamp;
use tidegate_policy as file;
use tidegate_policy::{Ambiguous, Matched, Policy, Presence, ReadyKeys, Request};
use tidegate_store::{MemoryOptions, Store};

use crate::compile::{Compiled, compiled};
use crate::inner::{Lasting, OwnStore};
use crate::limiter::{Limiter, Snapshot};
use crate::observe::LimitTally;
use crate::options::{BuildError, CheckOptions};
use crate::plan::{Plan, Terms};
use crate::verdict::{BadKey, Denial, Ruling, Verdict};
use crate::warnings;

impl Limiter {
    /// Builds a limiter by a policy, on the store the policy names.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate::Limiter;
    /// use tidegate::policy_file::{Request, parse_embedded};
    ///
    /// let policy = parse_embedded("policy.yaml", r#"
    /// tidegate: 1
    /// rules:
    ///   - name: search
    ///     match: { path: /search }
    ///     limits:
    ///       - name: per-client
    ///         says: Once, then once more every ten seconds, per client.
    ///         key: client_ip
    ///         token_bucket: { capacity: 1, refill: 1 per 10s }
    /// "#)?;
    /// let limiter = Limiter::from_policy(policy)?;
    /// let headers = http::HeaderMap::new();
    /// let request = Request {
    ///     method: "GET",
    ///     host: None,
    ///     path: "/search",
    ///     query: Some("q=tide"),
    ///     headers: &headers,
    ///     peer: Some("192.0.2.7".parse()?),
    ///     body: None,
    /// };
    /// assert!(limiter.check(&request).await.is_allowed());
    /// let refused = limiter.check(&request).await;
    /// assert_eq!(refused.deciding().map(|by| by.limit.name()), Some("search/per-client"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the policy's store is a Redis, which [`Limiter::from_policy_with`] takes, or the system gives no randomness for
    /// the store's secret. (A policy that `tidegate_policy::parse` returned never
    /// has two limits of one name.)
    pub fn from_policy(policy: Policy) -> Result<Self, BuildError> {
        if matches!(policy.store, file::StoreChoice::Redis(_)) {
            return Err(BuildError::Elsewhere);
        }
        let own = OwnStore::new(memory_options(&policy.store))?;
        let store = Arc::clone(&own.store);
        let lasting = Lasting { own_store: Some(own), ..Lasting::default() };
        Ok(Self::of(compiled(policy, store, Arc::new(lasting))?))
    }

    /// Builds a limiter by a policy on a store of the caller's.
    ///
    /// # Errors
    /// When two limits have one name, which a policy that `tidegate_policy::parse` returned never has.
    pub fn from_policy_with(policy: Policy, store: Arc<dyn Store>) -> Result<Self, BuildError> {
        Ok(Self::of(compiled(policy, store, Arc::default())?))
    }

    /// Returns the policy in force at this moment, if the limiter was built by one.
    pub fn policy(&self) -> Option<Arc<Policy>> {
        self.snapshot().inner.policy.as_ref().map(|compiled| Arc::clone(&compiled.policy))
    }

    /// Checks a request by the policy.
    ///
    /// Without a policy nothing applies, and the request passes.
    pub async fn check(&self, request: &Request<'_>) -> Verdict {
        self.check_with(request, None, CheckOptions::default()).await
    }

    /// Checks a request at an instant of the caller's.
    pub async fn check_at(&self, request: &Request<'_>, at: Timestamp) -> Verdict {
        self.check_with(request, None, CheckOptions { at: Some(at), ..CheckOptions::default() }).await
    }

    /// Checks a request some or all of whose keys are given ready-made.
    pub async fn check_with(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
    ) -> Verdict {
        self.snapshot().check_with(request, ready, options).await
    }
}

impl Snapshot {
    /// Returns the policy the limits were built by, if they were.
    pub fn policy(&self) -> Option<&Policy> {
        self.inner.policy.as_ref().map(|compiled| &*compiled.policy)
    }

    /// Returns the policy to keep, if there is one.
    pub fn shared_policy(&self) -> Option<Arc<Policy>> {
        self.inner.policy.as_ref().map(|compiled| Arc::clone(&compiled.policy))
    }

    /// Checks a request, some or all of whose keys may be given ready-made.
    pub async fn check_with(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
    ) -> Verdict {
        let mut plan = Plan::default();
        if let Some(compiled) = &self.inner.policy
            && let Err(stop) = compiled.plan(request, ready, options, &mut plan)
        {
            if !options.peek {
                compiled.lasting.observer.request(&stop);
            }
            if let Ruling::BadRequest(bad) = &stop {
                tracing::debug!(why = %bad, "refused as a bad request");
            }
            return Verdict::without_decisions(stop);
        }
        let verdict = self.inner.run(&plan, options).await;
        tell(&verdict);
        verdict
    }
}

/// Returns what a policy's choice of a store comes to.
pub(crate) fn memory_options(choice: &file::StoreChoice) -> MemoryOptions {
    let default = MemoryOptions::default();
    let file::StoreChoice::Memory(memory) = choice else { return default };
    MemoryOptions {
        max_keys: memory.max_keys.unwrap_or(default.max_keys),
        max_bytes: memory.max_bytes.unwrap_or(default.max_bytes),
    }
}

/// Logs what an operator looks for: refusals, and what a shadow limit would have refused.
pub(crate) fn tell(verdict: &Verdict) {
    if !verdict.is_allowed() {
        tracing::debug!(limit = verdict.deciding().map(|by| by.limit.name()), "{}", verdict.explain());
    }
    for decision in verdict.would_refuse() {
        tracing::debug!(limit = decision.limit.name(), "a shadow limit would have refused");
    }
}

/// What a rule's keys are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A request.
    Request,
    /// One of several descriptors.
    Descriptor,
    /// A descriptor that no rule has anything for: what cannot be read is left out.
    Leftover,
}

impl Compiled {
    /// Plans the limits of every rule that applies, or of the fallback when no enforced limit looks at the request.
    ///
    /// # Errors
    /// With the ruling when no store has to be asked for it.
    pub(crate) fn plan(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
        plan: &mut Plan,
    ) -> Result<(), Ruling> {
        if !options.peek {
            self.count_request();
        }
        let seen = match self.policy.see_at(request, ready, self.dates.at(options)) {
            Ok(seen) => seen,
            // In a shadow file nothing is ever refused.
            Err(_) if self.policy.mode == file::Mode::Shadow => return Ok(()),
            Err(ambiguous) => return Err(Ruling::BadRequest(bad(&ambiguous))),
        };
        if !options.peek {
            warnings::sharing(&self.lasting.observer, &seen);
        }
        let mut enforced = false;
        for matched in self.policy.matching(&seen) {
            self.count_match(&matched, options);
            if let Some(denial) = denial(matched.rule) {
                return Err(Ruling::Denied(denial));
            }
            enforced |=
                self.plan_rule(&matched, options, (plan, Reading::Request)).map_err(Ruling::BadRequest)?;
        }
        if !enforced && let Some(fallback) = self.policy.fallback_for(&seen) {
            self.count_match(&fallback, options);
            self.plan_rule(&fallback, options, (plan, Reading::Request)).map_err(Ruling::BadRequest)?;
        }
        Ok(())
    }

    /// Plans one rule's limits and returns whether an enforced one is among them.
    pub(crate) fn plan_rule(
        &self,
        matched: &Matched<'_>,
        options: CheckOptions,
        (plan, reading): (&mut Plan, Reading),
    ) -> Result<bool, BadKey> {
        let rule = matched.index.unwrap_or(self.policy.rules.len());
        let first = self.first_limit(rule);
        let mut enforced = false;
        for (offset, limit) in matched.rule.limits.iter().enumerate() {
            let shadow = limit.mode == file::Mode::Shadow;
            let tally = self.limits.get(first.saturating_add(offset)).filter(|_| !options.peek);
            let mut binding = false;
            let counted = plan.push(first.saturating_add(offset), |out| {
                let read = match self.read(limit, (matched, tally), options.cost, out) {
                    // A shadow limit never blocks, not even a request it cannot read.
                    Err(_) if shadow || reading == Reading::Leftover => None,
                    read => read?,
                };
                binding = read.is_some_and(|terms| limit.mode_of(terms.variant) == file::Mode::Enforce);
                Ok(read)
            })?;
            enforced |= binding;
            let told = !options.peek && reading == Reading::Request && !limit.is_off();
            if !counted && told && matched.facts.client().is_none() {
                warnings::no_peer(&self.lasting.observer, &limit.name);
            }
        }
        Ok(enforced)
    }

    /// Appends a limit's key and returns the terms it is asked with, `None` when the limit skips the request. What is
    /// noteworthy is counted in `tally`, if the request counts.
    ///
    /// # Errors
    /// When the request is refused, since it cannot be read in one way only or lacks what the rule requires.
    pub(crate) fn read(
        &self,
        limit: &file::Limit,
        (matched, tally): (&Matched<'_>, Option<&Arc<LimitTally>>),
        cost: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Terms>, BadKey> {
        let start = out.len();
        let facts = &matched.facts;
        let presence = match limit.key.read(facts, out) {
            // It does not look, so there is nothing that could be missing or be read in two ways.
            Err(_) | Ok(Presence::Missing { .. }) if limit.is_off() => return Ok(None),
            read => read.map_err(|it| bad(&it))?,
        };
        if let Some(tally) = tally {
            let has_key = matches!(presence, Presence::Present);
            tally.bring(has_key, &limit.name, &self.lasting.observer);
        }
        if let Presence::Missing { what } = presence {
            match limit.on_missing_key.unwrap_or(matched.rule.on_missing_key) {
                file::OnMissingKey::Skip => return Ok(None),
                file::OnMissingKey::Shared => {
                    out.truncate(start);
                    limit.key.shared(out);
                }
                file::OnMissingKey::Refuse => {
                    let why = format!("is missing, and {} requires it", limit.name);
                    return Err(BadKey { part: what.to_string(), why });
                }
            }
        }
        let choice = limit.choose(facts).map_err(|it| bad(&it))?;
        if choice.off {
            return Ok(None);
        }
        if choice.unknown_plan && tally.is_some() {
            warnings::unknown_plan(&self.lasting.observer, limit, facts);
        }
        let cost = cost.map_or_else(|| limit.cost.read(facts), Ok).map_err(|it| bad(&it))?;
        limit.name_key(out, start);
        Ok(Some(Terms { variant: choice.variant, cost }))
    }
}

/// Returns what becomes of all requests a rule applies to, if it lets none through.
pub(crate) fn denial(rule: &file::Rule) -> Option<Denial> {
    let refuse = rule.refuse.as_ref().filter(|_| rule.mode == file::Mode::Enforce)?;
    Some(Denial {
        rule: rule.name.as_str().into(),
        status: refuse.status.as_u16(),
        because: refuse.because.as_str().into(),
    })
}

/// Returns what a verdict says of a request that cannot be read in one way only.
pub(crate) fn bad(ambiguous: &Ambiguous) -> BadKey {
    BadKey { part: ambiguous.part().to_owned(), why: ambiguous.why().to_owned() }
}
