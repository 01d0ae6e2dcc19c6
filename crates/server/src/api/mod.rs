//! The decision API: checks and refunds for whoever cannot put the gateway in front of itself.
//!
//! | route | answers |
//! |---|---|
//! | `POST /v1/check` | 200 with a verdict, whatever the verdict is |
//! | `POST /v1/refund` | 200 once for each receipt |
//! | `GET /v1/policy` | the policy in force |
//! | `GET /openapi.json` | this API, described |
//!
//! A verdict is an answer, not an error: a status other than 200 means that the call itself is at fault (4xx), or that
//! the store left a refund open (503), and its body is a problem document (RFC 9457). One call asks for one verdict,
//! its body has at most [`MAX_CALL_BYTES`] bytes, and the receipts that are kept are bounded.

mod auth;
mod book;
mod call;
mod check;
mod fields;
mod openapi;
mod policy;
mod question;
mod refund;
mod token;
mod verdict;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tidegate::Limiter;

pub use token::{Token, TokenError};

use book::Book;
use check::KeyNames;

use crate::problem::with_problems;

/// The most bytes of a call's body.
pub const MAX_CALL_BYTES: usize = 1 << 20;

/// What the handlers share.
#[derive(Debug, Clone)]
struct Api {
    limiter: Limiter,
    book: Arc<Book>,
    keys: Arc<KeyNames>,
}

/// Builds the decision API over a limiter; with a token, every route under `/v1/` demands it.
pub fn router(limiter: Limiter, token: Option<Token>) -> Router {
    let keys = Arc::new(KeyNames::of(limiter.policy().as_deref()));
    let document = openapi::document(&keys, token.is_some());
    let mut calls = with_problems(
        Router::new()
            .route("/check", post(check::check))
            .route("/refund", post(refund::refund))
            .route("/policy", get(policy::policy)),
    );
    if let Some(token) = token {
        calls = calls.layer(axum::middleware::from_fn_with_state(Arc::new(token), auth::demand));
    }
    let document = get(move || std::future::ready(openapi::answer(document)));
    with_problems(Router::new().nest("/v1", calls).route("/openapi.json", document)).with_state(Api {
        limiter,
        book: Arc::default(),
        keys,
    })
}
