//! Checking requests by a policy file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use tidegate_algorithms::Timestamp;
use tidegate_policy as file;
use tidegate_policy::{Ambiguous, Matched, Policy, Presence, ReadyKeys, Request, Seen};
use tidegate_store::{MemoryOptions, MemoryStore, Store};

use crate::clock;
use crate::limit::{Counts, Disclosure, Limit, OnStoreFailure, OnSuccess};
use crate::limiter::{BuildError, CheckOptions, Inner, Limiter, Snapshot};
use crate::plan::{Plan, Terms};
use crate::verdict::{BadKey, Denial, Ruling, Verdict};

/// A policy, and where its rules' limits begin among the limiter's.
pub(crate) struct Compiled {
    policy: Arc<Policy>,
    /// The first limit of each rule, then that of the fallback.
    first: Vec<usize>,
    warned: Warned,
}

/// What has been warned of: each cause is told once.
#[derive(Debug, Default)]
struct Warned {
    untrusted_proxy: AtomicBool,
    opaque_hop: AtomicBool,
    no_peer: AtomicBool,
}

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
    /// When the system gives no randomness for the store's secret. (A policy that `tidegate_policy::parse` returned never
    /// has two limits of one name.)
    pub fn from_policy(policy: Policy) -> Result<Self, BuildError> {
        let store = match policy.store {
            file::StoreChoice::Memory { max_keys, max_bytes } => {
                let mut options = MemoryOptions::default();
                options.max_keys = max_keys.unwrap_or(options.max_keys);
                options.max_bytes = max_bytes.unwrap_or(options.max_bytes);
                Arc::new(MemoryStore::new(options).map_err(BuildError::Store)?)
            }
        };
        Self::from_policy_with(policy, store)
    }

    /// Builds a limiter by a policy on a store of the caller's.
    ///
    /// # Errors
    /// When two limits have one name, which a policy that `tidegate_policy::parse` returned never has.
    pub fn from_policy_with(policy: Policy, store: Arc<dyn Store>) -> Result<Self, BuildError> {
        let rules = || policy.rules.iter().chain(&policy.fallback);
        let mut first = Vec::new();
        let mut limits = Vec::new();
        for rule in rules() {
            first.push(limits.len());
            limits.extend(rule.limits.iter().map(|limit| built(rule, limit)));
        }
        let mut inner = Inner::new(store, limits)?;
        inner.policy = Some(Compiled { policy: Arc::new(policy), first, warned: Warned::default() });
        Ok(Self::of(inner))
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

/// Logs what an operator looks for: refusals, and what a shadow limit would have refused.
fn tell(verdict: &Verdict) {
    if !verdict.is_allowed() {
        tracing::debug!(limit = verdict.deciding().map(|by| by.limit.name()), "{}", verdict.explain());
    }
    for decision in verdict.would_refuse() {
        tracing::debug!(limit = decision.limit.name(), "a shadow limit would have refused");
    }
}

impl Compiled {
    /// Plans the limits of every rule that applies, or of the fallback when no enforced limit looks at the request.
    ///
    /// # Errors
    /// With the ruling when no store has to be asked for it.
    fn plan(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
        plan: &mut Plan,
    ) -> Result<(), Ruling> {
        let now = options.at.unwrap_or_else(clock::wall);
        let seen = match self.policy.see_at(request, ready, now) {
            Ok(seen) => seen,
            // In a shadow file nothing is ever refused.
            Err(_) if self.policy.mode == file::Mode::Shadow => return Ok(()),
            Err(ambiguous) => return Err(Ruling::BadRequest(bad(&ambiguous))),
        };
        self.warned.look_at(&seen);
        let mut enforced = false;
        for matched in self.policy.matching(&seen) {
            if let Some(denial) = denial(matched.rule) {
                return Err(Ruling::Denied(denial));
            }
            enforced |= self.plan_rule(&matched, options, plan).map_err(Ruling::BadRequest)?;
        }
        if !enforced && let Some(fallback) = self.policy.fallback_for(&seen) {
            self.plan_rule(&fallback, options, plan).map_err(Ruling::BadRequest)?;
        }
        Ok(())
    }

    /// Plans one rule's limits and returns whether an enforced one is among them.
    fn plan_rule(
        &self,
        matched: &Matched<'_>,
        options: CheckOptions,
        plan: &mut Plan,
    ) -> Result<bool, BadKey> {
        let rule = matched.index.unwrap_or(self.policy.rules.len());
        let first = self.first.get(rule).copied().unwrap_or_default();
        let mut enforced = false;
        for (offset, limit) in matched.rule.limits.iter().enumerate() {
            let shadow = limit.mode == file::Mode::Shadow;
            let counted = plan.push(first.saturating_add(offset), |out| {
                match read(limit, matched, options.cost, out) {
                    // A shadow limit never blocks, not even a request it cannot read.
                    Err(_) if shadow => Ok(None),
                    read => read,
                }
            })?;
            enforced |= counted && !shadow;
            if !counted && matched.facts.client().is_none() && is_first(&self.warned.no_peer) {
                tracing::warn!(
                    limit = limit.name,
                    "a request came without its peer's address, and a limit skips it for want of a key; \
                     in a tower service, put a PeerAddr into the request's extensions"
                );
            }
        }
        Ok(enforced)
    }
}

/// Appends a limit's key and returns the terms it is asked with, `None` when the limit skips the request.
///
/// # Errors
/// When the request is refused, since it cannot be read in one way only or lacks what the rule requires.
fn read(
    limit: &file::Limit,
    matched: &Matched<'_>,
    cost: Option<u32>,
    out: &mut Vec<u8>,
) -> Result<Option<Terms>, BadKey> {
    let start = out.len();
    let facts = &matched.facts;
    if let Presence::Missing { what } = limit.key.read(facts, out).map_err(|it| bad(&it))? {
        match matched.rule.on_missing_key {
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
    let variant = limit.choose(facts).map_err(|it| bad(&it))?;
    let cost = cost.map_or_else(|| limit.cost.read(facts), Ok).map_err(|it| bad(&it))?;
    Ok(Some(Terms { variant, cost }))
}

/// Returns what becomes of all requests a rule applies to, if it lets none through.
fn denial(rule: &file::Rule) -> Option<Denial> {
    let refuse = rule.refuse.as_ref().filter(|_| rule.mode == file::Mode::Enforce)?;
    Some(Denial {
        rule: rule.name.as_str().into(),
        status: refuse.status.as_u16(),
        because: refuse.because.as_str().into(),
    })
}

fn bad(ambiguous: &Ambiguous) -> BadKey {
    BadKey { part: ambiguous.part().to_owned(), why: ambiguous.why().to_owned() }
}

/// Builds the limiter's limit of a policy's, under each of its terms, with the name its counts are kept under.
fn built(rule: &file::Rule, limit: &file::Limit) -> (String, SmallVec<[Limit; 1]>) {
    let disclosure = match rule.client_sees {
        file::ClientSees::All => Disclosure::All,
        file::ClientSees::RetryAfter => Disclosure::RetryAfter,
        file::ClientSees::Nothing => Disclosure::Nothing,
    };
    let choice = match rule.on_store_failure {
        file::OnStoreFailure::Allow => OnStoreFailure::Allow,
        // A local fallback needs a store that can fail; until one can be chosen, denying is the safe reading.
        file::OnStoreFailure::Deny | file::OnStoreFailure::Local => OnStoreFailure::Deny,
    };
    let name: Arc<str> = limit.name.as_str().into();
    let variants = limit.variants().map(|(whose, terms)| {
        let built = Limit::new(Arc::clone(&name), terms.quota)
            .with_words(terms.says.as_str())
            .with_cost(limit.cost.usual())
            .with_shadow(limit.mode == file::Mode::Shadow)
            .with_disclosure(disclosure)
            .with_counts(counts(&limit.count))
            .with_store_failure(choice);
        match whose {
            file::Whose::Everybody => built,
            file::Whose::Plan(plan) | file::Whose::Key(plan) => built.with_plan(plan),
        }
    });
    (limit.storage_name().to_owned(), variants.collect())
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

impl Warned {
    /// Warns, once a cause, of what makes everybody share one key.
    fn look_at(&self, seen: &Seen<'_>) {
        let Some(client) = seen.client() else { return };
        let headers = seen.request().headers;
        let forwarded =
            headers.contains_key("x-forwarded-for") || headers.contains_key(http::header::FORWARDED);
        if forwarded && !client.peer_trusted && is_private(client.address) && is_first(&self.untrusted_proxy)
        {
            tracing::warn!(
                peer = %client.address,
                "a private peer sends forwarding headers but is not in trusted_proxies: \
                 everybody behind it shares one key; if it is your proxy, list it"
            );
        }
        if client.opaque_hop && is_first(&self.opaque_hop) {
            tracing::warn!(
                client = %client.address,
                "a trusted proxy forwards an address that cannot be read; the proxy itself is taken for the client"
            );
        }
    }
}

/// Returns whether this is the first time a cause comes up.
fn is_first(cause: &AtomicBool) -> bool {
    !cause.load(Ordering::Relaxed) && !cause.swap(true, Ordering::Relaxed)
}

fn is_private(address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        std::net::IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}
