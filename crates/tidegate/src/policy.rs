//! Checking requests by a policy file.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_algorithms::Timestamp;
use tidegate_policy as file;
use tidegate_policy::{Ambiguous, Matched, Policy, Presence, ReadyKeys, Request, Seen};
use tidegate_store::{MemoryOptions, MemoryStore, Store};

use crate::limit::{Disclosure, Limit, OnStoreFailure};
use crate::limiter::{BuildError, CheckOptions, Inner, Limiter};
use crate::plan::Plan;
use crate::verdict::{BadKey, Ruling, Verdict};

/// A policy, and where its rules' limits begin among the limiter's.
pub(crate) struct Compiled {
    policy: Policy,
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
        inner.policy = Some(Compiled { policy, first, warned: Warned::default() });
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the policy the limiter was built by, if it was.
    pub fn policy(&self) -> Option<&Policy> {
        self.inner.policy.as_ref().map(|compiled| &compiled.policy)
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
        let mut plan = Plan::default();
        if let Some(compiled) = &self.inner.policy
            && let Err(bad) = compiled.plan(request, ready, options, &mut plan)
        {
            tracing::debug!(why = %bad, "refused as a bad request");
            return Verdict::without_decisions(Ruling::BadRequest(bad));
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
    fn plan(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
        plan: &mut Plan,
    ) -> Result<(), BadKey> {
        let seen = match ready {
            Some(ready) => self.policy.see_with(request, ready),
            None => self.policy.see(request),
        };
        let seen = match seen {
            Ok(seen) => seen,
            // In a shadow file nothing is ever refused.
            Err(_) if self.policy.mode == file::Mode::Shadow => return Ok(()),
            Err(ambiguous) => return Err(bad(&ambiguous)),
        };
        self.warned.look_at(&seen);
        let mut enforced = false;
        for matched in self.policy.matching(&seen) {
            enforced |= self.plan_rule(&matched, options, plan)?;
        }
        if !enforced && let Some(fallback) = self.policy.fallback_for(&seen) {
            self.plan_rule(&fallback, options, plan)?;
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
            let cost = options.cost.unwrap_or(limit.cost);
            let shadow = limit.mode == file::Mode::Shadow;
            let counted = plan.push(first.saturating_add(offset), cost, |out| {
                match read(limit, matched, out) {
                    ControlFlow::Continue(counts) => Ok(counts),
                    // A shadow limit never blocks, not even a request it cannot read.
                    ControlFlow::Break(_) if shadow => Ok(false),
                    ControlFlow::Break(bad) => Err(bad),
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

/// Appends a limit's key and returns whether the limit counts the request; breaks when the request is refused.
fn read(limit: &file::Limit, matched: &Matched<'_>, out: &mut Vec<u8>) -> ControlFlow<BadKey, bool> {
    let start = out.len();
    match limit.key.read(&matched.facts, out) {
        Ok(Presence::Present) => ControlFlow::Continue(true),
        Ok(Presence::Missing { what }) => match matched.rule.on_missing_key {
            file::OnMissingKey::Skip => ControlFlow::Continue(false),
            file::OnMissingKey::Shared => {
                out.truncate(start);
                limit.key.shared(out);
                ControlFlow::Continue(true)
            }
            file::OnMissingKey::Refuse => ControlFlow::Break(BadKey {
                part: what.to_string(),
                why: format!("is missing, and {} requires it", limit.name),
            }),
        },
        Err(ambiguous) => ControlFlow::Break(bad(&ambiguous)),
    }
}

fn bad(ambiguous: &Ambiguous) -> BadKey {
    BadKey { part: ambiguous.part().to_owned(), why: ambiguous.why().to_owned() }
}

/// Builds the limiter's limit of a policy's.
fn built(rule: &file::Rule, limit: &file::Limit) -> Limit {
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
    Limit::new(limit.name.as_str(), limit.quota)
        .with_words(limit.says.as_str())
        .with_cost(limit.cost)
        .with_shadow(limit.mode == file::Mode::Shadow)
        .with_disclosure(disclosure)
        .with_store_failure(choice)
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
