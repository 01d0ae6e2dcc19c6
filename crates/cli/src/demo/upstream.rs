//! The example service behind the demo's gateway: sign-in by a code, account recovery, reports. It limits nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

/// The code every challenge of the example is answered with: no message leaves the demo that could carry another.
pub(crate) const CODE: &str = "246810";

/// What a code is checked against.
#[derive(Debug, Deserialize)]
struct Guess {
    account: String,
    challenge: String,
    code: String,
}

#[derive(Debug, Deserialize)]
struct Destination {
    phone: String,
}

#[derive(Debug, Deserialize)]
struct Account {
    account: String,
}

/// Builds the service.
pub(crate) fn service() -> Router {
    Router::new()
        .route("/", get(index))
        .route("/otp/send", post(send))
        .route("/otp/verify", post(verify))
        .route("/account/recover", post(recover))
        .route("/reports", get(reports))
        .with_state(Arc::new(AtomicU64::new(1)))
}

async fn index() -> &'static str {
    "The example service of tidegate's demo:\n\
     POST /otp/send         {\"phone\": …}\n\
     POST /otp/verify       {\"account\": …, \"challenge\": …, \"code\": …}\n\
     POST /account/recover  {\"account\": …}\n\
     GET  /reports\n"
}

async fn send(State(challenges): State<Arc<AtomicU64>>, Json(to): Json<Destination>) -> Json<Value> {
    let number = challenges.fetch_add(1, Ordering::Relaxed);
    Json(json!({ "challenge": format!("c{number}"), "sent_to": to.phone }))
}

/// Answers 200 to a wrong code as to the right one, so that in the demo every other status is the gateway's.
async fn verify(Json(guess): Json<Guess>) -> Json<Value> {
    let result = if guess.code == CODE { "ok" } else { "wrong" };
    Json(json!({ "account": guess.account, "challenge": guess.challenge, "result": result }))
}

async fn recover(Json(of): Json<Account>) -> Json<Value> {
    Json(json!({ "account": of.account, "next": "a link was sent" }))
}

async fn reports() -> Json<Value> {
    Json(
        json!({ "reports": [{ "month": "2026-10", "sign_ins": 48_211 }, { "month": "2026-11", "sign_ins": 51_730 }] }),
    )
}
