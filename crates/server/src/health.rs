//! Health: whether the process lives, and whether it wants requests.
//!
//! A dead store leaves readiness good: it would take every instance out at once, while each goes on by its rules'
//! choices for that case. The body says what is wrong instead.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::Serialize;
use tidegate::Limiter;
use tidegate::policy_file::Mode;
use tokio_util::sync::CancellationToken;

use crate::problem::{with_methods, with_problems};
use crate::reload::Status;

/// How long the store may take to answer a ping before readiness goes without it.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
struct Health {
    limiter: Limiter,
    draining: CancellationToken,
    reloads: Option<Arc<Status>>,
}

#[derive(Debug, Serialize)]
struct Ready {
    /// `ready`, `degraded` when the store does not answer, `draining` once a stop was asked for.
    status: &'static str,
    /// `ok`, or what is wrong with it.
    store: &'static str,
    policy: InForce,
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
    let routes = Router::new().route("/livez", get(livez)).route("/readyz", get(readyz));
    with_methods(with_problems(routes).with_state(Health { limiter, draining, reloads }))
}

async fn livez() -> Response {
    ([(CACHE_CONTROL, "no-store")], Json(serde_json::json!({ "status": "alive" }))).into_response()
}

async fn readyz(State(health): State<Health>) -> Response {
    let store = store(&health.limiter).await;
    let (code, status) = match store {
        _ if health.draining.is_cancelled() => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        Ok(()) => (StatusCode::OK, "ready"),
        Err(_) => (StatusCode::OK, "degraded"),
    };
    let reloads = health.reloads.as_deref();
    let body = Ready {
        status,
        store: store.err().unwrap_or("ok"),
        policy: InForce::of(&health.limiter, reloads),
        // The rest stands in the log: health is open to more than the operator.
        reload_error: reloads.and_then(Status::error).map(|error| first_line(&error)),
    };
    (code, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// Asks the store, and says what is wrong without its address, which is nobody's business here.
async fn store(limiter: &Limiter) -> Result<(), &'static str> {
    let slow = "does not answer in time";
    match tokio::time::timeout(PING_TIMEOUT, limiter.ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.is_timeout() => Err(slow),
        Ok(Err(error)) if error.is_unavailable() => Err("cannot be reached"),
        Ok(Err(_)) => Err("refuses to answer"),
        Err(_) => Err(slow),
    }
}

impl InForce {
    fn of(limiter: &Limiter, reloads: Option<&Status>) -> Self {
        let version = reloads.map(Status::version);
        let loaded = version.as_ref().map(|version| version.loaded.duration_since(SystemTime::UNIX_EPOCH));
        let in_force = limiter.snapshot();
        let policy = in_force.policy();
        Self {
            loaded_at: loaded.map(|since| since.unwrap_or_default().as_secs()),
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

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
