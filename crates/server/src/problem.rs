//! Calls at fault, of the decision API, of health and of the operator's endpoint: the one place that gives them a body.

use axum::extract::{OriginalUri, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{Method, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// What is wrong with a call, and what to do about it (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem; its status says all there is to say.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong with this call, and what to do.
    detail: String,
    /// The member of the call at fault, such as `headers.x-api-key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    member: Option<String>,
    /// The parts of the key that the call should have named; the operator's endpoint alone tells them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(ignore)]
    parts: Vec<KeyPart>,
}

/// A part of a limit's key, as calls have to name it.
#[derive(Debug, Serialize)]
pub(crate) struct KeyPart {
    pub(crate) name: String,
    /// The values there are, where the policy knows them all: the patterns of a route.
    pub(crate) values: Vec<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            member: None,
            parts: Vec::new(),
        }
    }

    /// Says which parts the key has that the call is about.
    pub(crate) fn with_parts(self, parts: Vec<KeyPart>) -> Self {
        Self { parts, ..self }
    }

    /// Returns the problem of a call whose `member` cannot be used.
    pub(crate) fn of_member(member: impl Into<String>, why: impl std::fmt::Display) -> Self {
        let member = member.into();
        let detail = format!("`{member}`: {why}");
        Self { member: Some(member), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = [(CONTENT_TYPE, "application/problem+json"), (CACHE_CONTROL, "no-store")];
        (status, headers, Json(self)).into_response()
    }
}

/// Gives a router, or one to be nested in it, problem bodies for paths it does not have, which say what its listener has.
pub(crate) fn with_problems<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    here: &'static str,
) -> Router<S> {
    // The path is that of the call: a nested router sees only its end.
    router.fallback(move |OriginalUri(uri): OriginalUri| std::future::ready(nothing_at(uri.path(), here)))
}

/// Returns the problem of a path that a listener does not have.
pub(crate) fn nothing_at(path: &str, here: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("there is nothing at {path}; this listener has {here}"))
}

/// Gives a whole router problem bodies for methods its paths do not take.
pub(crate) fn with_methods(router: Router) -> Router {
    // A router's own layers do not see `Allow`, which is added around them.
    Router::new().fallback_service(router).layer(axum::middleware::from_fn(not_allowed))
}

/// Gives the router's own answer to a method that a path does not take a body which names those it takes.
async fn not_allowed(method: Method, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let is_bare =
        response.status() == StatusCode::METHOD_NOT_ALLOWED && !response.headers().contains_key(CONTENT_TYPE);
    let allowed = response.headers().get(ALLOW).filter(|_| is_bare).cloned();
    let Some(allowed) = allowed else { return response };
    let methods: Vec<_> = allowed.to_str().unwrap_or_default().split(',').map(str::trim).collect();
    let detail = format!("{method} is not taken here; use {}", methods.join(" or "));
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail);
    ([(ALLOW, allowed)], problem).into_response()
}
