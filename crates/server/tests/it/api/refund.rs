//! Refunds: at most once for each receipt, whatever happens at the same time.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use tidegate::StoreError;
use tidegate_server::api;
use tokio::task::JoinSet;

use super::check::{VERIFY, remaining, verify, with};
use super::world::{Served, faulty, limiter, limiter_on};

async fn left(api: &Served) -> u64 {
    remaining(&api.check(with(verify("ada"), &json!({ "peek": true }))).await, "verify/per-account")
}

#[tokio::test]
async fn a_refund_gives_the_charge_back_once() {
    let api = Served::api(VERIFY).await;
    let first = api.check(verify("ada")).await;
    api.check(verify("ada")).await;
    assert_eq!(left(&api).await, 0);
    let refunded = api.refund(&first["receipt"]).await;
    assert_eq!((refunded.status, refunded.json()), (StatusCode::OK, json!({ "refunded": true })));
    assert_eq!(left(&api).await, 1);
    let again = api.refund(&first["receipt"]).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    assert!(again.problem()["detail"].as_str().unwrap().contains("used"));
    assert_eq!(left(&api).await, 1);
}

#[tokio::test]
async fn of_many_refunds_at_once_one_succeeds() {
    let api = Arc::new(Served::api(VERIFY).await);
    let receipt = api.check(verify("ada")).await["receipt"].clone();
    api.check(verify("ada")).await;
    let mut refunds = JoinSet::new();
    for _ in 0..64 {
        let (api, receipt) = (Arc::clone(&api), receipt.clone());
        refunds.spawn(async move { api.refund(&receipt).await.status });
    }
    let statuses = refunds.join_all().await;
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(StatusCode::OK), count(StatusCode::NOT_FOUND)), (1, 63));
    assert_eq!(left(&api).await, 1, "one charge was given back, not more");
}

#[tokio::test]
async fn a_receipt_is_worth_nothing_to_another_process() {
    let limiter = limiter(VERIFY);
    let one = Served::start(api::service(limiter.clone(), None)).await;
    let other = Served::start(api::service(limiter, None)).await;
    let receipt = one.check(verify("ada")).await["receipt"].clone();
    assert_eq!(other.refund(&receipt).await.status, StatusCode::NOT_FOUND);
    assert_eq!(one.refund(&receipt).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_is_no_receipt_is_named() {
    let api = Served::api(VERIFY).await;
    for receipt in [
        json!(""),
        json!("0"),
        json!("0000000000000000000000000000000G"),
        json!("\u{0}"),
        json!(null),
        json!(7),
    ] {
        let answer = api.refund(&receipt).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{receipt}");
        assert_eq!(answer.problem()["member"], "receipt", "{receipt}");
    }
    let unknown = api.refund(&json!("0".repeat(32))).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_refund_of_unknown_outcome_is_not_repeated() {
    let store = faulty();
    let api = Served::start(api::service(limiter_on(store.clone(), VERIFY), None)).await;
    let receipt: Value = api.check(verify("ada")).await["receipt"].clone();
    store.lose_next(1, StoreError::timeout("the answer was lost"));
    let answer = api.refund(&receipt).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.problem()["detail"].as_str().unwrap().contains("used up"));
    assert_eq!(api.refund(&receipt).await.status, StatusCode::NOT_FOUND);
    assert_eq!(left(&api).await, 2, "the refund whose answer was lost was made, once");
}
