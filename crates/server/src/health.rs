//! Health: whether the process lives, and whether it wants requests.
//!
//! A dead store leaves readiness good: it would take every instance out at once, while each goes on by its rules'
//! choices for that case. The body says what is wrong instead.

use std::time::Duration;

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

use crate::problem::with_problems;

/// How long the store may take to answer a ping before readiness goes without it.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
struct Health {
    limiter: Limiter,
    draining: CancellationToken,
}

#[derive(Debug, Serialize)]
struct Ready {
    /// `ready`, `degraded` when the store does not answer, `draining` once a stop was asked for.
    status: &'static str,
    /// `ok`, or what is wrong with it.
    store: &'static str,
    policy: InForce,
}

/// The size of the policy in force, to tell a reload by.
#[derive(Debug, Serialize)]
struct InForce {
    mode: &'static str,
    rules: usize,
    limits: usize,
}

/// Builds the health endpoints: `/livez` answers 200 as long as the process runs, `/readyz` until `draining`.
pub fn router(limiter: Limiter, draining: CancellationToken) -> Router {
    let routes = Router::new().route("/livez", get(livez)).route("/readyz", get(readyz));
    with_problems(routes).with_state(Health { limiter, draining })
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
    let body = Ready { status, store: store.err().unwrap_or("ok"), policy: InForce::of(&health.limiter) };
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
    fn of(limiter: &Limiter) -> Self {
        let in_force = limiter.snapshot();
        let policy = in_force.policy();
        Self {
            mode: match policy.map(|policy| policy.mode) {
                Some(Mode::Shadow) => "shadow",
                Some(Mode::Enforce) | None => "enforce",
            },
            rules: policy.map_or(0, |policy| policy.rules.len()),
            limits: in_force.limits().count(),
        }
    }
}
