//! Health: whether the process lives, and whether it wants requests.
//!
//! A dead store leaves readiness good: it would take every instance out at once, while each goes on by its rules'
//! choices for that case. The body says what is wrong instead.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::Serialize;
use tidegate::policy_file::Mode;
use tidegate::{Limiter, StoreError, StoreHealth};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::epoch;
use crate::problem::{with_methods, with_problems};
use crate::reload::Status;

/// How long a store may take to answer a probe, where nobody watches it: a probe has a second at most in the first place.
const TIMEOUT: Duration = Duration::from_secs(1);
// Why stands in the log: it may name addresses, which are nobody's business outside.
const SLOW: &str = "does not answer in time";
const LOST: &str = "does not answer";

#[derive(Debug, Clone)]
struct Health {
    limiter: Limiter,
    draining: CancellationToken,
    reloads: Option<Arc<Status>>,
    /// Whether somebody asks the store all the time, so that a probe need not.
    is_watched: bool,
}

#[derive(Debug, Serialize)]
struct Ready {
    /// `ready`, `degraded` when the store does not answer, `draining` once a stop was asked for.
    status: &'static str,
    /// `ok`, or what is wrong with it.
    store: &'static str,
    /// Since when it has not answered, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    store_down_since: Option<u64>,
    policy: InForce,
    /// How many overrides an operator has in force.
    #[serde(skip_serializing_if = "is_none")]
    overrides: usize,
    /// Why the last reload was refused, unless another succeeded since.
    #[serde(skip_serializing_if = "Option::is_none")]
    reload_error: Option<String>,
}

/// The policy in force, to tell a reload by.
#[derive(Debug, Serialize)]
struct InForce {
    /// A digest of the files it was read from, when it was read from files.
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    /// When it was put into force, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded_at: Option<u64>,
    mode: &'static str,
    rules: usize,
    limits: usize,
}

/// Builds the health endpoints: `/livez` answers 200 as long as the process runs, `/readyz` until `draining`.
pub fn router(limiter: Limiter, draining: CancellationToken) -> Router {
    router_with(limiter, draining, None)
}

/// Builds the health endpoints of a policy that is reloaded, so that `/readyz` tells which one is in force.
pub fn router_with(limiter: Limiter, draining: CancellationToken, reloads: Option<Arc<Status>>) -> Router {
    routes(Health { limiter, draining, reloads, is_watched: false })
}

/// Builds the health endpoints of an application whose store somebody watches: in an outage no probe waits for the store.
pub(crate) fn router_watched(limiter: Limiter, draining: CancellationToken, reloads: Arc<Status>) -> Router {
    routes(Health { limiter, draining, reloads: Some(reloads), is_watched: true })
}

fn routes(health: Health) -> Router {
    let routes = Router::new().route("/livez", get(livez)).route("/readyz", get(readyz));
    with_methods(with_problems(routes, "/livez and /readyz (health)").with_state(health))
}

async fn livez() -> Response {
    ([(CACHE_CONTROL, "no-store")], Json(serde_json::json!({ "status": "alive" }))).into_response()
}

async fn readyz(State(health): State<Health>) -> Response {
    let store = health.store().await;
    let (code, status) = match store {
        _ if health.draining.is_cancelled() => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        Ok(()) => (StatusCode::OK, "ready"),
        Err(_) => (StatusCode::OK, "degraded"),
    };
    let reloads = health.reloads.as_deref();
    let body = Ready {
        status,
        store: store.as_ref().err().map_or("ok", |wrong| wrong.what),
        store_down_since: store.err().and_then(|wrong| wrong.since),
        policy: InForce::of(&health.limiter, reloads),
        overrides: overrides(&health.limiter),
        // The rest stands in the log: health is open to more than the operator.
        reload_error: reloads.and_then(Status::error).map(|error| first_line(&error)),
    };
    (code, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// What is wrong with a store.
struct Wrong {
    what: &'static str,
    /// Since when, in seconds since the epoch, where somebody watched.
    since: Option<u64>,
}

impl Health {
    /// Says what is wrong with the store. What requests meet counts, and one that is known to be lost is not asked; one that
    /// is watched is not asked in any case.
    async fn store(&self) -> Result<(), Wrong> {
        if let StoreHealth::Down { since, .. } = self.limiter.store_health() {
            return Err(Wrong { what: LOST, since: Some(epoch::seconds(since)) });
        }
        if self.is_watched {
            return Ok(());
        }
        let what = match timeout(TIMEOUT, self.limiter.ping()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => in_words(&error),
            Err(_) => SLOW,
        };
        Err(Wrong { what, since: None })
    }
}

fn in_words(error: &StoreError) -> &'static str {
    match error {
        error if error.is_timeout() => SLOW,
        error if error.is_unavailable() => LOST,
        _ => "refuses to answer",
    }
}

impl InForce {
    fn of(limiter: &Limiter, reloads: Option<&Status>) -> Self {
        let version = reloads.map(Status::version);
        let in_force = limiter.snapshot();
        let policy = in_force.policy();
        Self {
            loaded_at: version.as_ref().map(|version| epoch::seconds(version.loaded)),
            version: version.map(|version| version.hash).unwrap_or_default(),
            mode: match policy.map(|policy| policy.mode) {
                Some(Mode::Shadow) => "shadow",
                Some(Mode::Enforce) | None => "enforce",
            },
            rules: policy.map_or(0, |policy| policy.rules.len()),
            limits: in_force.limits().count(),
        }
    }
}

/// Returns how many overrides are in force.
fn overrides(limiter: &Limiter) -> usize {
    let in_force = limiter.snapshot();
    in_force.policy().map_or(0, |policy| policy.limits().map(|limit| limit.overlays.list().len()).sum())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives what it skips by reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
