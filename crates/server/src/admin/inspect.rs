//! `POST /inspect`: what a limit remembers of one key. A look: nothing is charged.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde_json::{Value, json};
use tidegate::policy_file::overlay::{Overlay, Set, instant, numbers};
use tidegate::{Decision, Limit, Span};

use super::key::KeyCall;
use crate::api::read_call;
use crate::problem::Problem;
use crate::reload::Reloader;

pub(super) async fn inspect(State(reloader): State<Reloader>, request: Request) -> Result<Response, Problem> {
    let call: KeyCall = read_call(request).await?;
    let in_force = reloader.shared.in_force.limiter.snapshot();
    let keys = call.values(&in_force)?;
    let seen = in_force.inspect(&call.limit, &keys).await;
    let seen = seen.map_err(|error| call.problem(&in_force, error))?;
    let states: Vec<Value> =
        seen.terms.iter().filter(|_| seen.counted).map(|(limit, decision)| state(limit, decision)).collect();
    let body = json!({
        "limit": call.limit,
        "key": seen.identity,
        "at": instant(seen.at),
        "at_micros": seen.at.as_micros(),
        "counted": seen.counted,
        "states": states,
        "run_time_override": seen.exception.as_ref().map(exception),
    });
    Ok(([(CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

/// Returns the operator's exception by which the terms are what they are.
fn exception(overlay: &Overlay) -> Value {
    let mode = if let Set::Mode(mode) = overlay.set { Some(mode.name()) } else { None };
    json!({
        "key": overlay.key,
        "sets": overlay.set.to_string(),
        "mode": mode,
        "because": overlay.because,
        "until": instant(overlay.until),
    })
}

/// Returns what is counted as some terms of the limit take it.
fn state(limit: &Limit, decision: &Decision) -> Value {
    let micros = |span: Span| (span != Span::MAX).then(|| span.as_micros());
    let quota = limit.quota();
    json!({
        "algorithm": quota.algorithm(),
        "numbers": format!("{}: {}", quota.algorithm(), numbers(quota)),
        "says": limit.words(),
        "plan": limit.plan(),
        "limit": decision.limit,
        "used": decision.limit.saturating_sub(decision.remaining),
        "remaining": decision.remaining,
        "next_unit_micros": micros(decision.next_unit),
        "reset_after_micros": micros(decision.reset_after),
    })
}
