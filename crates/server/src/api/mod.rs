//! The decision API: checks, outcomes and refunds for whoever cannot put the gateway in front of itself.
//!
//! | route | answers |
//! |---|---|
//! | `POST /v1/check` | 200 with a verdict, whatever the verdict is |
//! | `POST /v1/outcome` | 200 once for each receipt |
//! | `POST /v1/refund` | 200 once for each receipt that had no outcome |
//! | `GET`, `POST /v1/why` | 200 with what is behind a verdict |
//! | `GET /v1/policy` | the policy in force |
//! | `GET /openapi.json` | this API, described |
//! | `/auth`, `/auth/nginx` | what a proxy that asks before it forwards is to do with a request |
//!
//! A verdict is an answer, not an error: a status other than 200 means that the call itself is at fault (4xx), or that
//! the store left a refund open (503), and its body is a problem document (RFC 9457). One call asks for one verdict,
//! its body has at most [`MAX_CALL_BYTES`] bytes, and the receipts that are kept are bounded.

mod auth;
mod book;
mod call;
mod check;
mod fields;
mod forward;
mod names;
mod openapi;
mod outcome;
mod policy;
mod question;
mod receipt;
mod refund;
mod token;
mod verdict;
mod why;

use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{BoxError, Router};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{Either, Full};
use tidegate::Limiter;

pub(crate) use auth::{bearer, demand};
pub(crate) use call::read as read_call;
pub(crate) use call::{BODY_TIMEOUT, arrived};
pub(crate) use fields::{Members, Whole};
pub use token::{Token, TokenError, TokenInForce};

use book::Book;
use forward::Forward;
use names::NamesInForce;

use crate::front::{Busiest, Face};
use crate::problem::{with_methods, with_problems};

/// The most bytes of a call's body.
pub const MAX_CALL_BYTES: usize = 1 << 20;

/// What is here, for whoever looks elsewhere.
const HERE: &str =
    "/v1/check, /v1/outcome, /v1/refund, /v1/why, /v1/policy, /openapi.json, /auth and /auth/nginx (api)";

/// The paths of the calls that come most often.
const CHECK: &str = "/v1/check";
const AUTH: &str = "/auth";

/// What the handlers share.
#[derive(Debug, Clone)]
struct Api {
    limiter: Limiter,
    book: Arc<Book>,
    names: Arc<NamesInForce>,
}

/// Builds the part of the API that only looks: `/v1/why` and `/v1/policy`, for whoever asks the operator's endpoint. It demands
/// no token of its own.
pub(crate) fn looks(limiter: Limiter) -> Router {
    let routes = Router::new()
        .route("/v1/why", get(why::get).post(why::post))
        .route("/v1/policy", get(policy::policy));
    routes.with_state(Api { limiter, book: Arc::default(), names: Arc::default() })
}

/// Builds the decision API over a limiter; with a token, every route under `/v1/` demands it, and so do those for proxies in
/// a field of their own.
pub fn router(limiter: Limiter, token: Option<Token>) -> Router {
    router_with(limiter, token.into())
}

/// Builds the decision API over a limiter, with a token that may be replaced while it is served. The policy may be as well:
/// each call is answered under the one in force when it came.
pub fn router_with(limiter: Limiter, token: TokenInForce) -> Router {
    service(limiter, token).into_router()
}

/// Builds the decision API as [`router_with`] does, for whoever serves nothing else by it: checks do not go through the router.
pub fn service(limiter: Limiter, token: impl Into<TokenInForce>) -> Face<Checks> {
    let token = token.into();
    let calls = with_problems(
        Router::new()
            .route("/check", post(check::check))
            .route("/outcome", post(outcome::outcome))
            .route("/refund", post(refund::refund))
            .route("/why", get(why::get).post(why::post))
            .route("/policy", get(policy::policy)),
        HERE,
    );
    let calls = calls.layer(axum::middleware::from_fn_with_state(token.clone(), demand));
    let demanded = token.clone();
    let forward = Forward::new(limiter.clone(), token.clone());
    let names = Arc::<NamesInForce>::default();
    let (described, of) = (limiter.clone(), Arc::clone(&names));
    let document = get(move || {
        let document = openapi::document(&of.of(&described.snapshot()), token.is_set());
        std::future::ready(openapi::answer(document))
    });
    let api = Api { limiter, book: Arc::default(), names };
    let checks = Checks { api: api.clone().into(), forward: forward.clone(), token: demanded };
    let routes = with_problems(Router::new().nest("/v1", calls).route("/openapi.json", document), HERE);
    Face::new(checks, with_methods(routes.with_state(api).merge(forward::routes(forward))))
}

/// Calls of `/v1/check` by whoever has the token, and of `/auth`.
#[derive(Debug, Clone)]
pub struct Checks {
    api: Arc<Api>,
    forward: Forward,
    token: TokenInForce,
}

impl Busiest for Checks {
    type Body = Full<Bytes>;

    fn takes<B>(&self, request: &Request<B>) -> bool {
        match request.uri().path() {
            CHECK => request.method() == Method::POST && self.token.admits(request.headers()),
            path => path == AUTH,
        }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Either<Full<Bytes>, Body>>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        if request.uri().path() == AUTH {
            return self.forward.answer(request.into_parts().0).await;
        }
        match check::answer(&self.api, request).await {
            Ok(checked) => checked.map(Either::Left),
            Err(problem) => problem.into_response().map(Either::Right),
        }
    }
}
