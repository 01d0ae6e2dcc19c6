//! `/v1/overrides`: exceptions that hold for a while, without a file.

use std::net::IpAddr;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::Deserialize;
use serde_json::json;
use tidegate::Span;
use tidegate::policy_file::overlay::{Set, SetMode};
use tidegate::policy_file::parse_span;

use super::key::KeyCall;
use crate::api::{Members, Whole, read_call};
use crate::net::PeerInfo;
use crate::overrides::{Change, Fault, Put};
use crate::problem::Problem;
use crate::reload::Reloader;
use crate::watch::finished;

/// How long an override may hold.
const LEAST: Span = Span::from_secs(1);
const MOST: Span = Span::from_secs(30 * 86_400);
/// The most characters of a reason, and of an algorithm.
const LONGEST: usize = 500;

/// An override that is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PutCall {
    /// The limit, `rule/limit`.
    limit: String,
    /// The values of its key, by their names in the policy.
    #[serde(default)]
    keys: Members<String>,
    /// The one value of its key, or the key's name outside.
    #[serde(default)]
    key: Option<String>,
    /// Another number for the limit.
    #[serde(default)]
    number: Option<Whole>,
    /// Another algorithm, as a policy file writes it.
    #[serde(default)]
    terms: Option<String>,
    /// What becomes of refusals.
    #[serde(default)]
    mode: Option<String>,
    /// How long: `2h`.
    r#for: String,
    /// Why.
    because: String,
}

pub(super) async fn list(State(reloader): State<Reloader>) -> Response {
    let views = reloader.shared.in_force.overrides.views();
    ([(CACHE_CONTROL, "no-store")], Json(json!({ "overrides": views }))).into_response()
}

pub(super) async fn put(State(reloader): State<Reloader>, request: Request) -> Result<Response, Problem> {
    let by = peer(&request);
    let call: PutCall = read_call(request).await?;
    let set = set(&call)?;
    let (lasts, because) = (lasts(&call.r#for)?, because(&call.because)?);
    let in_force = &reloader.shared.in_force;
    let on = KeyCall { limit: call.limit, keys: call.keys, key: call.key };
    let key = on.identity(&in_force.limiter.snapshot())?;
    let change = Change { limit: on.limit, key, set, because, lasts, by };
    let overrides = in_force.overrides.clone();
    // On its own: whoever asked may leave, and half of it must not be all.
    let put = finished(tokio::spawn(async move { overrides.put(change).await })).await;
    let Put { view, replaced, warnings } = put.map_err(problem)?;
    let body = json!({ "override": view, "replaced": replaced, "warnings": warnings });
    Ok(([(CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

pub(super) async fn delete(State(reloader): State<Reloader>, request: Request) -> Result<Response, Problem> {
    let by = peer(&request);
    let on: KeyCall = read_call(request).await?;
    let in_force = &reloader.shared.in_force;
    let key = on.identity(&in_force.limiter.snapshot())?;
    let overrides = in_force.overrides.clone();
    let remove = async move { overrides.remove((&on.limit, key.as_deref()), by).await };
    let removed = finished(tokio::spawn(remove)).await.map_err(problem)?;
    Ok(([(CACHE_CONTROL, "no-store")], Json(json!({ "removed": removed }))).into_response())
}

/// Returns who asks.
fn peer(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<PeerInfo>().map(PeerInfo::ip)
}

/// Returns what is to be different: one thing.
fn set(call: &PutCall) -> Result<Set, Problem> {
    match (&call.number, &call.terms, &call.mode) {
        (Some(Whole(number)), None, None) => Ok(Set::Number(*number)),
        (None, Some(terms), None) if terms.chars().count() > LONGEST => Err(Problem::of_member(
            "terms",
            format!("is longer than {LONGEST} characters; write one algorithm"),
        )),
        (None, Some(terms), None) => Ok(Set::Terms(terms.clone())),
        (None, None, Some(name)) => {
            let mode = SetMode::ALL.into_iter().find(|mode| mode.name() == name);
            let names = SetMode::ALL.map(SetMode::name).join(", ");
            mode.map(Set::Mode).ok_or_else(|| Problem::of_member("mode", format!("write one of {names}")))
        }
        _ => {
            let detail = "an override changes one thing; give one of `number`, `terms` and `mode`";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail))
        }
    }
}

fn lasts(text: &str) -> Result<Span, Problem> {
    let span = parse_span(text).map_err(|remedy| Problem::of_member("for", remedy))?;
    if (LEAST..=MOST).contains(&span) {
        return Ok(span);
    }
    let why = format!("an override holds from {LEAST} to {MOST}; for longer, change the policy file");
    Err(Problem::of_member("for", why))
}

fn because(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err(Problem::of_member("because", "say why, for whoever finds it in the log")),
        length if length > LONGEST => {
            Err(Problem::of_member("because", format!("has {length} characters; say it in {LONGEST}")))
        }
        _ => Ok(text.to_owned()),
    }
}

fn problem(fault: Fault) -> Problem {
    let unavailable = |why: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
    match fault {
        Fault::Missing(why) => Problem::new(StatusCode::NOT_FOUND, why),
        Fault::Unfit(member, why) => Problem::of_member(member, why),
        Fault::Full => {
            let detail = "there are too many overrides; remove some, or change the policy file";
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
        }
        Fault::NoNotes => Problem::new(
            StatusCode::NOT_IMPLEMENTED,
            "this store cannot keep overrides; change the policy file",
        ),
        Fault::Lost => unavailable("the store does not answer; nothing was changed".to_owned()),
        Fault::Store(error) if error.may_have_counted() => {
            unavailable(format!("{error}; whether it is written shows when the store answers again"))
        }
        Fault::Store(error) => unavailable(format!("{error}; nothing was changed")),
    }
}
