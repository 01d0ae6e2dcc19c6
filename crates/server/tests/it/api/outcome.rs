//! Outcomes: what waits for one is given back on a success, once, and nothing else is.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use tidegate::StoreError;
use tidegate_server::api;
use tokio::task::JoinSet;

use super::check::remaining;
use super::world::{Answer, Served, faulty, limiter, limiter_on};

/// A login that counts attempts by address and failures by account, the latter in two ways, and a rule that lets
/// nothing through.
const LOGIN: &str = r"
keys:
  account: { json: /account }
rules:
  - name: login
    class: login
    match: { method: POST, path: /login }
    on_store_failure: deny
    client_sees: all
    limits:
      - name: attempts
        says: Never more than 50 in any 24 hours, per account.
        key: account
        sliding_log: { limit: 50, window: 24h }
      - name: failures
        says: Never more than nine failures in any 24 hours, per account.
        key: account
        count: { failures: true, success: { status: 302, header: { name: location, value: /home } } }
        sliding_log: { limit: 9, window: 24h }
      - name: streak
        says: Never more than five failures in any 24 hours, per account.
        key: account
        count: { failures: true, success: { status: 302, header: { name: location, value: /home } }, on_success: reset }
        sliding_log: { limit: 5, window: 24h }
  - name: closed
    match: { path: /internal/** }
    refuse: { status: 404, because: There is nothing here. }
";

fn login() -> Value {
    json!({ "method": "POST", "path": "/login", "client": "192.0.2.7", "keys": { "account": "ada" } })
}

/// What is left of attempts, failures and streak.
async fn left(api: &Served) -> [u64; 3] {
    let mut peek = login();
    peek["peek"] = json!(true);
    let verdict = api.check(peek).await;
    ["login/attempts", "login/failures", "login/streak"].map(|limit| remaining(&verdict, limit))
}

async fn outcome(api: &Served, receipt: &Value, told: &Value) -> Answer {
    let mut call = json!({ "receipt": receipt });
    call.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
    api.post("/v1/outcome", call.to_string()).await
}

#[tokio::test]
async fn a_success_gives_back_and_resets_what_counts_failures_and_leaves_the_rest() {
    let api = Served::api(LOGIN).await;
    for _ in 0..3 {
        let receipt = api.check(login()).await["receipt"].clone();
        let told = outcome(&api, &receipt, &json!({ "success": false })).await;
        assert_eq!((told.status, told.json()), (StatusCode::OK, json!({ "settled": true, "gave_back": [] })));
    }
    assert_eq!(left(&api).await, [47, 6, 2]);
    let receipt = api.check(login()).await["receipt"].clone();
    assert_eq!(left(&api).await, [46, 5, 1]);
    let told = outcome(&api, &receipt, &json!({ "success": true })).await;
    let gave_back = json!([
        { "limit": "login/failures", "on_success": "refund" },
        { "limit": "login/streak", "on_success": "reset" },
    ]);
    assert_eq!(
        (told.status, told.json()),
        (StatusCode::OK, json!({ "settled": true, "gave_back": gave_back }))
    );
    assert_eq!(left(&api).await, [46, 6, 5]);
}

#[tokio::test]
async fn the_policy_tells_a_success_by_status_and_fields() {
    let api = Served::api(LOGIN).await;
    let answers = [
        (json!({ "status": 302, "headers": { "Location": "/login?wrong" } }), 8),
        (json!({ "status": 302, "headers": { "Location": "/home" } }), 8),
        (json!({ "status": 302.0, "headers": { "location": ["/home", "/home"] }, "success": null }), 8),
        // A field that says two things is no success.
        (json!({ "status": 302, "headers": { "location": ["/elsewhere", "/home"] } }), 7),
        (json!({ "status": 200, "headers": { "location": "/home" } }), 6),
        (json!({ "status": 302 }), 5),
        (json!({ "status": 302, "headers": null }), 4),
    ];
    for (told, failures) in answers {
        let receipt = api.check(login()).await["receipt"].clone();
        assert_eq!(outcome(&api, &receipt, &told).await.status, StatusCode::OK, "{told}");
        assert_eq!(left(&api).await[1], failures, "{told}");
    }
}

/// Guards against a receipt that gives back twice, in whatever order its holder tries.
#[tokio::test]
async fn a_receipt_is_good_for_one_outcome_or_one_refund() {
    let api = Served::api(LOGIN).await;
    let success = json!({ "success": true });
    let told = api.check(login()).await["receipt"].clone();
    assert_eq!(outcome(&api, &told, &success).await.status, StatusCode::OK);
    let refunded = api.check(login()).await["receipt"].clone();
    assert_eq!(api.refund(&refunded).await.status, StatusCode::OK);
    api.check(login()).await;
    for receipt in [told, refunded] {
        let again = outcome(&api, &receipt, &success).await;
        assert_eq!(again.status, StatusCode::NOT_FOUND);
        assert!(again.problem()["detail"].as_str().unwrap().contains("used"));
        assert_eq!(api.refund(&receipt).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(left(&api).await, [48, 8, 4]);
}

#[tokio::test]
async fn of_many_outcomes_at_once_one_counts() {
    let api = Arc::new(Served::api(LOGIN).await);
    let receipt = api.check(login()).await["receipt"].clone();
    api.check(login()).await;
    let mut outcomes = JoinSet::new();
    for _ in 0..64 {
        let (api, receipt) = (Arc::clone(&api), receipt.clone());
        outcomes.spawn(async move { outcome(&api, &receipt, &json!({ "success": true })).await.status });
    }
    let statuses = outcomes.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::OK).count(), 1);
    assert_eq!(left(&api).await[1], 8, "one charge was given back, not more");
}

#[tokio::test]
async fn a_refund_gives_everything_back_failures_too() {
    let api = Served::api(LOGIN).await;
    let receipt = api.check(login()).await["receipt"].clone();
    assert_eq!(api.refund(&receipt).await.status, StatusCode::OK);
    assert_eq!(left(&api).await, [50, 9, 5]);
}

#[tokio::test]
async fn a_store_that_fails_uses_the_receipt_up_and_keeps_the_charge() {
    let store = faulty();
    let api = Served::start(api::service(
        limiter_on(Arc::<tidegate_store::faulty::Faulty<_>>::clone(&store), LOGIN),
        None,
    ))
    .await;
    let receipt = api.check(login()).await["receipt"].clone();
    store.fail(StoreError::unavailable("pulled the plug"));
    let failed = outcome(&api, &receipt, &json!({ "success": true })).await;
    assert_eq!(failed.status, StatusCode::SERVICE_UNAVAILABLE);
    failed.problem();
    store.heal();
    assert_eq!(outcome(&api, &receipt, &json!({ "success": true })).await.status, StatusCode::NOT_FOUND);
    assert_eq!(left(&api).await[1], 8);
}

#[tokio::test]
async fn an_outcome_at_fault_is_named_and_leaves_the_receipt_open() {
    let api = Served::api(LOGIN).await;
    let receipt = api.check(login()).await["receipt"].clone();
    let long = "a".repeat(8_193);
    for (told, member, remedy) in [
        (json!({}), "status", "or `success`"),
        (json!({ "status": 200, "success": true }), "success", "send one of them"),
        (json!({ "success": true, "headers": { "location": "/home" } }), "headers", "without a `status`"),
        (json!({ "headers": {} }), "headers", "without a `status`"),
        (json!({ "status": 99 }), "status", "100 to 599"),
        (json!({ "status": 600 }), "status", "100 to 599"),
        (json!({ "status": 65_736 }), "status", "100 to 599"),
        (json!({ "status": "200" }), "status", "a whole number"),
        (json!({ "status": 200, "headers": { "x-a": long } }), "headers.x-a", "at most 8192"),
        (json!({ "status": 200, "headers": { "a b": "1" } }), "headers.a b", "a token"),
        (json!({ "success": "yes" }), "success", "expected a boolean"),
        (json!({ "outcome": true }), "outcome", "expected one of"),
        (json!({ "success": true, "receipt": "7" }), "receipt", "32 hexadecimal digits"),
    ] {
        let answer = outcome(&api, &receipt, &told).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{told}: {answer:?}");
        let problem = answer.problem();
        assert_eq!(problem["member"], member, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(remedy), "{problem} should say {remedy:?}");
    }
    assert_eq!(outcome(&api, &receipt, &json!({ "success": true })).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_verdict_says_what_each_limit_counts() {
    let api = Served::start(api::service(limiter(LOGIN), None)).await;
    let verdict = api.check(login()).await;
    let decisions = verdict["decisions"].as_array().unwrap();
    let counts: Vec<_> = decisions.iter().map(|decision| &decision["counts"]).collect();
    assert_eq!(counts, ["every", "failures", "failures"]);
    assert_eq!((&decisions[0]["plan"], &verdict["denial"]), (&Value::Null, &Value::Null));
    assert!(verdict["explain"].as_str().unwrap().contains("counts failures only"), "{verdict}");
}

#[tokio::test]
async fn a_rule_that_lets_nothing_through_is_named_with_its_answer() {
    let api = Served::api(LOGIN).await;
    let verdict = api.check(json!({ "path": "/internal/metrics" })).await;
    assert_eq!((&verdict["allowed"], &verdict["ruling"]), (&json!(false), &json!("denied")));
    let denial = json!({ "rule": "closed", "status": 404, "because": "There is nothing here." });
    assert_eq!(verdict["denial"], denial);
    assert_eq!(verdict["explain"], "refused by the rule closed: There is nothing here.");
    assert_eq!((&verdict["headers"], &verdict["receipt"]), (&json!({}), &Value::Null));
    assert_eq!((&verdict["retry_after_seconds"], &verdict["never"]), (&Value::Null, &json!(false)));
}
