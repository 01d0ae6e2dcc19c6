//! The demand for a bearer token (RFC 6750).

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};

use super::token::TokenInForce;
use crate::problem::Problem;

/// Lets a call with the token pass and answers any other with 401; where none is demanded, every call passes.
pub(crate) async fn demand(State(token): State<TokenInForce>, request: Request, next: Next) -> Response {
    let Some(token) = token.get() else { return next.run(request).await };
    let (challenge, detail) = match bearer(request.headers()) {
        Some(given) if token.is(given) => return next.run(request).await,
        Some(_) => (
            "Bearer realm=\"tidegate\", error=\"invalid_token\"",
            "the bearer token is not the one this API demands; send the one in its token file",
        ),
        None => (
            "Bearer realm=\"tidegate\"",
            "this API demands a token; send the one in its token file as `Authorization: Bearer TOKEN`",
        ),
    };
    let problem = Problem::new(StatusCode::UNAUTHORIZED, detail);
    ([(WWW_AUTHENTICATE, challenge)], problem).into_response()
}

/// Returns the bearer token of a request that has exactly one `Authorization` field, of that scheme.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (field, None) = (fields.next()?, fields.next()) else { return None };
    let (scheme, token) = field.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}
