//! An axum service whose sign-in is limited by client and by account, both at once or not at all.
//!
//! ```sh
//! cargo run -p tidegate-tower --features axum --example axum
//! curl -i -H 'content-type: application/json' -d '{"account":"odalys","password":"?"}' http://127.0.0.1:3000/sign-in
//! ```
//!
//! Who asks is known from the connection; for whom, from the body. The limits read no bodies: a middleware of the service
//! does, and tells them by a request extension.

use std::error::Error;
use std::net::SocketAddr;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;
use tidegate::{Counts, Limit, Limiter, OnSuccess, Quota, Rate, Span};
use tidegate_tower::{Key, LimitLayer, OnMissing};
use tokio::net::TcpListener;

/// The account that somebody wants to sign in to; a request extension.
#[derive(Clone)]
struct Account(String);

/// Builds the service.
pub(crate) fn app() -> Result<Router, Box<dyn Error>> {
    let per_client = Quota::token_bucket(20, Rate::new(1, Span::from_secs(6))?)?;
    let wrong_passwords = Quota::sliding_log(5, Span::from_secs(15 * 60))?;
    let limiter = Limiter::in_memory([
        Limit::new("per-client", per_client)
            .with_words("Twenty sign-ins at once, then ten a minute, per client."),
        // Charged before the password is looked at, and given back when it was right.
        Limit::new("wrong-passwords", wrong_passwords)
            .with_words("Never more than five wrong passwords in 15 minutes, per account.")
            .with_counts(Counts::failures(OnSuccess::Refund)),
    ])?;
    let account = Key::if_any(
        |head| head.extensions.get::<Account>().map(|account| account.0.clone()),
        OnMissing::Refuse,
    );
    let limits = LimitLayer::keyed(limiter, "per-client", Key::client())?.and("wrong-passwords", account)?;

    // The layer that is added last sees a request first.
    let sign_in = post(sign_in).layer(limits).layer(from_fn(tell_account));
    Ok(Router::new().route("/", get(|| async { "hello\n" })).route("/sign-in", sign_in))
}

/// Reads the account out of the body, in one spelling.
async fn tell_account(request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, 4096).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    let parsed: Option<Value> = serde_json::from_slice(&bytes).ok();
    if let Some(account) = parsed.as_ref().and_then(|body| body["account"].as_str()) {
        head.extensions.insert(Account(account.trim().to_lowercase()));
    }
    next.run(Request::from_parts(head, Body::from(bytes))).await
}

async fn sign_in(body: Bytes) -> (StatusCode, Json<Value>) {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if body["password"] == "correct horse" {
        (StatusCode::OK, Json(serde_json::json!({ "signed_in": body["account"] })))
    } else {
        (StatusCode::UNAUTHORIZED, Json(serde_json::json!({ "error": "wrong password" })))
    }
}

/// Serves it; axum tells each request who is connected.
pub(crate) async fn run(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let service = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, service).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    run(TcpListener::bind("127.0.0.1:3000").await?).await
}
