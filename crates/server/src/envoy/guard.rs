//! Who may call, and what is not there.

use axum::extract::{OriginalUri, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use tonic::Status;

use crate::api::{TokenInForce, bearer};
use crate::problem::{Problem, nothing_at};

/// What is here, for whoever looks elsewhere.
const HERE: &str = "envoy.service.ratelimit.v3.RateLimitService by gRPC, /json and /healthcheck (envoy)";

/// Lets pass what has the token, and what asks about health; answers any other call in the form it was made in.
pub(super) async fn demand(State(token): State<TokenInForce>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_open = path == "/healthcheck" || path.starts_with("/grpc.health.v1.Health/");
    let Some(token) = token.get().filter(|_| !is_open) else { return next.run(request).await };
    let detail = match bearer(request.headers()) {
        Some(given) if token.is(given) => return next.run(request).await,
        Some(_) => "the bearer token is not the one this service demands; send the one in its token file",
        None => {
            "this service demands a token; send the one in its token file as `authorization: Bearer TOKEN`, in Envoy \
             by `initial_metadata`"
        }
    };
    if is_grpc(request.headers()) {
        return grpc(&Status::unauthenticated(detail));
    }
    let challenge = [(WWW_AUTHENTICATE, "Bearer realm=\"tidegate\"")];
    (challenge, Problem::new(StatusCode::UNAUTHORIZED, detail)).into_response()
}

/// Answers a call of what is not there.
pub(super) async fn nothing_here(OriginalUri(uri): OriginalUri, headers: HeaderMap) -> Response {
    if is_grpc(&headers) {
        let detail = format!("there is nothing at {}; this listener has {HERE}", uri.path());
        return grpc(&Status::unimplemented(detail));
    }
    nothing_at(uri.path(), HERE).into_response()
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map_or(&[][..], |kind| kind.as_bytes());
    kind.get(..16).is_some_and(|start| start.eq_ignore_ascii_case(b"application/grpc"))
}

fn grpc(status: &Status) -> Response {
    status.clone().into_http()
}
