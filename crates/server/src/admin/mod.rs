//! The operator's endpoint: what has been counted, reloading, and forgetting a key.
//!
//! | route | answers |
//! |---|---|
//! | `GET /metrics` | the counters, as `OpenMetrics` text |
//! | `POST /reload` | 200 once the policy was read anew and is in force, 422 with what keeps it from that |
//! | `POST /reset` | 200 once a limit has forgotten a key, 404 for a limit that is not there, 422 for a key that is none of its |
//! | `POST /inspect` | 200 with what a limit remembers of a key, and what that comes to |
//! | `GET /v1/overrides` | the exceptions that hold for a while, and what each makes of its limit |
//! | `PUT /v1/overrides` | 200 once an exception is in the store and in force here |
//! | `DELETE /v1/overrides` | 200 once it is in neither, 404 when it was not there |
//! | `GET`, `POST /v1/why`, `GET /v1/policy` | as the decision API does, with every exception that is in force |
//!
//! With a token all demand it. A request that a web page makes (it names its `Origin`) is turned away whatever it asks:
//! without a token, any page in an operator's browser could otherwise reload policies and unlock accounts.

mod inspect;
mod key;
mod metrics;
mod overrides;
mod reset;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ORIGIN};
use serde_json::json;

use crate::api::{TokenInForce, demand, looks};
use crate::problem::{Problem, with_methods, with_problems};
use crate::reload::{ReloadError, Reloader};

/// What is here, for whoever looks elsewhere.
const HERE: &str = "/metrics, /reload, /reset, /inspect, /v1/overrides, /v1/why and /v1/policy (admin)";

/// Builds the operator's endpoint over what a reloader keeps.
pub fn router(reloader: Reloader, token: TokenInForce) -> Router {
    let routes = Router::new()
        .route("/metrics", get(metrics))
        .route("/reload", post(reload))
        .route("/reset", post(reset::reset))
        .route("/inspect", post(inspect::inspect))
        .route("/v1/overrides", get(overrides::list).put(overrides::put).delete(overrides::delete));
    let looks = looks(reloader.shared.in_force.limiter.clone());
    let routes = with_problems(routes.with_state(reloader).merge(looks), HERE)
        .layer(axum::middleware::from_fn_with_state(token, demand))
        .layer(axum::middleware::from_fn(no_page));
    with_methods(routes)
}

/// Turns away what a web page asks. Browsers name the page's origin in every request that may change something.
async fn no_page(request: Request, next: Next) -> Response {
    if request.headers().contains_key(ORIGIN) {
        let detail = "this endpoint is not for web pages; ask it from a program, without an Origin field";
        return Problem::new(StatusCode::FORBIDDEN, detail).into_response();
    }
    next.run(request).await
}

async fn metrics(State(reloader): State<Reloader>) -> Response {
    let limiter = &reloader.shared.in_force.limiter;
    limiter.look_back();
    match metrics::text(limiter, &reloader) {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT), (CACHE_CONTROL, "no-store")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "the metrics cannot be written");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written").into_response()
        }
    }
}

async fn reload(State(reloader): State<Reloader>) -> Response {
    match reloader.reload().await {
        Ok(done) => {
            let body = json!({
                "version": reloader.status().version().hash,
                "added": done.limits.added,
                "changed": done.limits.changed,
                "dropped": done.limits.dropped,
                "kept": done.limits.kept,
                "rules_changed": done.rules,
                "settings_changed": done.settings,
                "changes": done.lines,
            });
            ([(CACHE_CONTROL, "no-store")], Json(body)).into_response()
        }
        Err(ReloadError::NoFile) => {
            Problem::new(StatusCode::CONFLICT, ReloadError::NoFile.to_string()).into_response()
        }
        Err(error) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()).into_response(),
    }
}
