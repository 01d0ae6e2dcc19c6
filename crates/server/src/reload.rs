//! Putting another policy into force while requests go on: all of it or nothing.
//!
//! Everything that could fail is done first: reading the policy, its certificates and tokens, building the forwarding
//! service. Then what is in force is replaced, each part by one store of a pointer. What a listener has taken over when
//! it was bound cannot be replaced, and a policy that asks for that is refused whole.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tidegate::files::{LoadError, Loaded, Source};
use tidegate::{Limiter, Timestamp};
use tidegate_policy::{Diff, Identities, Mode, Policy, RedisServers, StoreChoice};
use tidegate_review::{Finding, Severity};

use crate::alerts::Alerts;
use crate::api::{Token, TokenError, TokenInForce};
use crate::envoy::hits::Hits;
use crate::gateway::{Gateway, Prepared};
use crate::net::Networks;
use crate::net::tls::{Certified, Shown, TlsError};
use crate::overrides::Overrides;
use crate::proxy::UpstreamError;
use crate::snapshot::Keeper;
use crate::tokens::Tokens;

pub use crate::changes::Changes;

/// Reads the policy anew.
pub type Load = dyn Fn() -> Result<Loaded, LoadError> + Send + Sync;

/// Why a policy was not put into force; nothing was changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The policy cannot be read, or is wrong.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// It was not read from a file.
    #[error("the policy was not read from a file, so there is nothing to read anew")]
    NoFile,
    /// It changes what cannot be changed while running.
    #[error("{} changed: that needs a restart; nothing was changed", .0.join(", "))]
    Restart(Vec<String>),
    /// A certificate or its key cannot be used.
    #[error("gateway: {0}; nothing was changed")]
    Tls(#[from] TlsError),
    /// The upstream cannot be forwarded to.
    #[error("gateway: {0}; nothing was changed")]
    Upstream(#[from] UpstreamError),
    /// A token cannot be read.
    #[error("{face}: {source}; nothing was changed")]
    Token {
        /// The face that demands it.
        face: &'static str,
        /// Why.
        source: TokenError,
    },
    /// The policy does not make a limiter.
    #[error("{0}")]
    Limiter(#[from] tidegate::ReloadError),
}

/// Everything that a reload replaces.
#[derive(Debug, Clone)]
pub(crate) struct InForce {
    pub(crate) limiter: Limiter,
    /// What an operator has laid over the policy.
    pub(crate) overrides: Overrides,
    pub(crate) gateway: Option<Gateway>,
    pub(crate) certificate: Option<Shown>,
    /// Whom the PROXY protocol is taken from.
    pub(crate) balancers: Networks,
    pub(crate) tokens: Tokens<TokenInForce>,
    /// What is counted of Envoy's descriptors, over every reload.
    pub(crate) envoy_hits: Hits,
}

/// What was found to be possible, ready to be put into force.
struct Ready {
    gateway: Option<Prepared>,
    certificate: Option<Certified>,
    tokens: Tokens<Option<Token>>,
}

impl InForce {
    /// Puts a policy into force, and returns what that changes.
    pub(crate) fn replace(&self, policy: Policy) -> Result<Changes, ReloadError> {
        // Until all of it is in force, no override comes or goes.
        let mut overrides = self.overrides.lock();
        let before = self.limiter.policy();
        let mut restart = before.as_ref().map(|before| needs_restart(before, &policy)).unwrap_or_default();
        if !self.limiter.has_store_of(&policy) && !restart.iter().any(|field| field.starts_with("store")) {
            restart.insert(0, "store".to_owned());
        }
        if !restart.is_empty() {
            return Err(ReloadError::Restart(restart));
        }
        let ready = self.prepare(&policy)?;
        let networks = policy.trusted.networks().to_vec();
        let (over, outcomes) = overrides.over(&self.limiter, &policy);
        let diff = before.map(|before| Diff::between(&before, &over)).unwrap_or_default();
        let reloaded = self.limiter.reload(over)?;
        overrides.keep(policy, outcomes);
        // Nothing below can fail.
        self.balancers.replace(networks);
        if let (Some(gateway), Some(prepared)) = (&self.gateway, ready.gateway) {
            gateway.replace(prepared);
        }
        if let (Some(shown), Some(certified)) = (&self.certificate, ready.certificate) {
            shown.replace(certified);
        }
        self.tokens.replace(ready.tokens);
        Ok(Changes::of(reloaded, &diff))
    }

    fn prepare(&self, policy: &Policy) -> Result<Ready, ReloadError> {
        let face = policy.gateway.as_ref();
        let files = face.and_then(|face| face.tls.as_ref());
        let gateway = self.gateway.as_ref().zip(face);
        let prepared = gateway.map(|(gateway, face)| gateway.prepare(&self.limiter, face, &policy.trusted));
        Ok(Ready {
            gateway: prepared.transpose()?,
            certificate: files.map(|files| Certified::read(&files.certificate, &files.key)).transpose()?,
            tokens: Tokens::read(policy).map_err(|(face, source)| ReloadError::Token { face, source })?,
        })
    }
}

/// Returns what differs where two stores do. A password that is rotated shows nowhere in the policy's own file.
fn store_field(before: &Policy, after: &Policy) -> &'static str {
    let without = |policy: &Policy| match &policy.store {
        StoreChoice::Redis(redis) => {
            let mut redis = redis.clone();
            redis.password = None;
            if let RedisServers::Sentinel { password, .. } = &mut redis.servers {
                *password = None;
            }
            Some(redis)
        }
        StoreChoice::Memory(_) => None,
    };
    let (before, after) = (without(before), without(after));
    if before.is_some() && before == after { "store: what a password file holds" } else { "store" }
}

/// Returns the fields of faces in which policies differ and that are taken over for good at the start.
fn needs_restart(before: &Policy, after: &Policy) -> Vec<String> {
    let mut changed = Vec::new();
    let mut note = |field: &str, differs: bool| {
        if differs {
            changed.push(field.to_owned());
        }
    };
    note(store_field(before, after), before.store != after.store);
    // Keys in a shared store are named under it: under another, every count would begin anew.
    let secret = |policy: &Policy| policy.identities.as_ref().map(Identities::store_secret);
    let is_shared = matches!(after.store, StoreChoice::Redis(_));
    note("key_secret_file", is_shared && secret(before) != secret(after));
    note("alerts", before.alerts != after.alerts);
    if let (Some(before), Some(after)) = (&before.gateway, &after.gateway) {
        note("gateway.tls", before.tls.is_some() != after.tls.is_some());
        note("gateway.proxy_protocol", before.proxy_protocol != after.proxy_protocol);
        note("gateway.max_connections", before.max_connections != after.max_connections);
        note("gateway.max_header_bytes", before.max_header_bytes != after.max_header_bytes);
        note("gateway.idle_timeout", before.idle_timeout != after.idle_timeout);
        note("gateway.drain_timeout", before.drain_timeout != after.drain_timeout);
    }
    for ((face, before), (_, after)) in before.listens().into_iter().zip(after.listens()) {
        note(face, before.is_some() != after.is_some());
        let moves = before.zip(after).is_some_and(|(before, after)| before != after);
        note(&format!("{face}.listen"), moves);
    }
    changed
}

/// Warns of what refuses nothing, since that is easily forgotten.
pub fn warn_of_shadow(policy: &Policy) {
    if policy.mode == Mode::Shadow {
        tracing::warn!(
            "SHADOW MODE: NOTHING IS REFUSED, refusals are only counted; `mode: enforce` turns the limits on"
        );
        return;
    }
    let limits = policy.rules.iter().chain(&policy.fallback).flat_map(|rule| &rule.limits);
    let shadow = limits.filter(|limit| limit.mode == Mode::Shadow);
    let shadow: Vec<_> = shadow.map(|limit| limit.name.as_str()).collect();
    if !shadow.is_empty() {
        tracing::warn!(limits = shadow.join(", "), "SHADOW: these limits refuse nothing, they only count");
    }
}

/// The most sentences that a warning each is written of.
const MOST_UNREAD: usize = 20;

/// Warns of the sentences that nobody has held against their numbers, since they cannot be read. They keep no policy
/// from being in force: words must not cause an outage.
pub fn warn_of_words(policy: &Policy) {
    for problem in policy.unread.iter().take(MOST_UNREAD) {
        tracing::warn!("{}:{}: {problem}", policy.file_of(problem.place), problem.place);
    }
    if let Some(more @ 1..) = policy.unread.len().checked_sub(MOST_UNREAD) {
        tracing::warn!(more, "more sentences cannot be read; `tidegate check` tells all");
    }
}

/// Warns of what the review finds and no rule accepts: once when a policy comes into force. Notes are left to
/// `tidegate check`, and none keeps a policy from being in force.
pub fn warn_of_findings(policy: &Policy) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let today = u64::try_from(since.as_micros()).ok().and_then(Timestamp::from_micros);
    for finding in tidegate_review::review(policy, today) {
        if finding.severity == Severity::Note || finding.accepted.is_some() {
            continue;
        }
        let Finding { id, severity, place, message, remedy, .. } = finding;
        let place = format!("{}:{place}", policy.file_of(place));
        tracing::warn!(id, place, %severity, "the review finds: {message}; {remedy}");
    }
}

/// What became of reloads, and which policy is in force.
#[derive(Debug)]
pub struct Status {
    applied: AtomicU64,
    refused: AtomicU64,
    version: Mutex<Version>,
    error: Mutex<Option<String>>,
}

/// Which policy is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// A digest of every file it was read from, in 16 hexadecimal digits; empty when it was read from none.
    pub hash: String,
    /// When it was put into force.
    pub loaded: SystemTime,
}

/// The most characters that are told of what is wrong with a policy.
const MOST_TOLD: usize = 4_000;

impl Status {
    /// Begins with a policy that was read from files, or from none.
    pub fn new(sources: &[Source]) -> Self {
        Self {
            applied: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            version: Mutex::new(Version::of(sources)),
            error: Mutex::default(),
        }
    }

    /// Returns which policy is in force.
    pub fn version(&self) -> Version {
        self.version.lock().clone()
    }

    /// Returns why the last reload was refused, unless another succeeded since.
    pub fn error(&self) -> Option<String> {
        self.error.lock().clone()
    }

    /// Returns how many reloads were carried out, and how many were refused.
    pub fn reloads(&self) -> (u64, u64) {
        (self.applied.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }

    pub(crate) fn apply(&self, sources: &[Source]) {
        *self.version.lock() = Version::of(sources);
        *self.error.lock() = None;
        self.applied.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the files are again what is in force.
    pub(crate) fn recover(&self) {
        *self.error.lock() = None;
    }

    pub(crate) fn refuse(&self, why: &dyn fmt::Display) {
        let why = shortened(&why.to_string());
        *self.error.lock() = Some(why.clone());
        self.refused.fetch_add(1, Ordering::Relaxed);
        // Last, so that whoever reads it finds the rest as it says.
        tracing::error!("the policy in force stays, since the new one cannot take its place: {why}");
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_TOLD) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}… (`tidegate check` tells the rest)", text.get(..end).unwrap_or_default())
        }
    }
}

impl Version {
    fn of(sources: &[Source]) -> Self {
        let mut all = Sha256::new();
        for source in sources {
            all.update(source.digest);
        }
        let digest: [u8; 32] = all.finalize().into();
        let hash = digest.iter().take(8).fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte));
        let hash = if sources.is_empty() { String::new() } else { format!("{hash:016x}") };
        Self { hash, loaded: SystemTime::now() }
    }
}

/// Returns the status of a policy that nobody reloads.
impl Default for Status {
    fn default() -> Self {
        Self::new(&[])
    }
}

/// Puts the policy's files into force when asked to, or when they have changed. Cheap to clone.
#[derive(Clone)]
pub struct Reloader {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) in_force: InForce,
    pub(crate) load: Option<Box<Load>>,
    pub(crate) status: Arc<Status>,
    /// What keeps the memory store in a file, if anything does.
    pub(crate) snapshot: Option<Keeper>,
    /// What tells webhooks of what is wrong, if any are named.
    pub(crate) alerts: Option<Alerts>,
    /// Held during a reload, so that one follows the other.
    pub(crate) watched: tokio::sync::Mutex<crate::watch::Watched>,
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader").field("status", &self.shared.status).finish_non_exhaustive()
    }
}

impl Reloader {
    /// Returns what became of reloads.
    pub fn status(&self) -> &Arc<Status> {
        &self.shared.status
    }
}
