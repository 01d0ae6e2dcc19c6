//! `POST /reset`: has a limit forget one key, so that an account which somebody else has locked is open again.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::Deserialize;
use serde_json::json;
use tidegate::ResetError;

use crate::api::{Members, read_call};
use crate::problem::Problem;
use crate::reload::Reloader;

/// What is to be forgotten.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResetCall {
    /// The limit, `rule/limit`.
    limit: String,
    /// The values of its key, by their names in the policy.
    #[serde(default)]
    keys: Members<String>,
}

pub(super) async fn reset(State(reloader): State<Reloader>, request: Request) -> Result<Response, Problem> {
    let ResetCall { limit, keys: Members(keys) } = read_call(request).await?;
    let done = reloader.shared.in_force.limiter.reset(&limit, &keys).await.map_err(problem)?;
    let body = json!({ "reset": true, "limit": limit, "key": done.identity });
    Ok(([(CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

/// Returns what is wrong with a key.
pub(super) fn problem(error: ResetError) -> Problem {
    let status = match &error {
        ResetError::UnknownKey { name, .. } => return Problem::of_member(format!("keys.{name}"), error),
        ResetError::MissingKey { .. } | ResetError::BadKey(_) => return Problem::of_member("keys", error),
        ResetError::UnknownLimit(_) | ResetError::NoPolicy => StatusCode::NOT_FOUND,
        ResetError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, error.to_string())
}
