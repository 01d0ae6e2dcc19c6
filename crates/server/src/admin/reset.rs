//! `POST /reset`: has a limit forget one key, so that an account which somebody else has locked is open again.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde_json::json;
use tidegate::ResetError;

use super::key::KeyCall;
use crate::api::read_call;
use crate::problem::Problem;
use crate::reload::Reloader;

pub(super) async fn reset(State(reloader): State<Reloader>, request: Request) -> Result<Response, Problem> {
    let call: KeyCall = read_call(request).await?;
    let in_force = reloader.shared.in_force.limiter.snapshot();
    let keys = call.values(&in_force)?;
    let done = in_force.reset(&call.limit, &keys).await;
    let done = done.map_err(|error| call.problem(&in_force, error))?;
    let body = json!({ "reset": true, "limit": call.limit, "key": done.identity });
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
