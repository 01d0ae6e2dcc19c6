//! What a verdict says, and what a call can ask.

use serde_json::{Value, json};
use tidegate::StoreError;
use tidegate_server::api;

use super::world::{Served, faulty, limiter_on};

/// Slow enough that nothing comes back while a test runs.
pub(super) const VERIFY: &str = r"
keys:
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
  account: { json: /account, normalize: [trim, lowercase] }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    on_store_failure: deny
    client_sees: all
    limits:
      - name: per-account
        says: Two at once, then one every 24 hours, per account.
        key: account
        token_bucket: { capacity: 2, refill: 1 per 24h }
      - name: watched
        says: One at once, then one every 24 hours, per client.
        key: client
        mode: shadow
        token_bucket: { capacity: 1, refill: 1 per 24h }
";

pub(super) fn verify(account: &str) -> Value {
    json!({
        "method": "POST",
        "path": "/otp/verify",
        "client": "192.0.2.7",
        "headers": { "content-type": "application/json" },
        "body": json!({ "account": account }).to_string(),
    })
}

/// Returns the units a verdict says are left of a limit.
pub(super) fn remaining(verdict: &Value, limit: &str) -> u64 {
    let decisions = verdict["decisions"].as_array().unwrap();
    let decision = decisions.iter().find(|decision| decision["limit"] == limit).unwrap();
    decision["remaining"].as_u64().unwrap()
}

/// Returns the call with members set.
pub(super) fn with(mut call: Value, members: &Value) -> Value {
    call.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    call
}

#[tokio::test]
async fn a_verdict_lists_every_decision_and_names_the_deciding_one() {
    let api = Served::api(VERIFY).await;
    let first = api.check(verify("ada")).await;
    assert_eq!(first["allowed"], true);
    assert_eq!(first["ruling"], "allow");
    assert_eq!(first["limit"], "verify/per-account");
    assert_eq!(first["retry_after_seconds"], Value::Null);
    assert_eq!(first["retry_after_micros"], Value::Null);
    assert_eq!(
        (&first["never"], &first["delay_ms"], &first["delay_micros"]),
        (&json!(false), &json!(0), &json!(0))
    );
    assert_eq!(first["receipt"].as_str().unwrap().len(), 32);
    let [account, watched] = &first["decisions"].as_array().unwrap()[..] else { panic!("{first}") };
    assert_eq!(account["limit"], "verify/per-account");
    assert_eq!(account["says"], "Two at once, then one every 24 hours, per account.");
    assert_eq!((&account["allowed"], &account["shadow"]), (&json!(true), &json!(false)));
    assert_eq!((&account["capacity"], &account["remaining"]), (&json!(2), &json!(1)));
    assert_eq!(account["next_unit_micros"], 0);
    assert_eq!(account["reset_micros"], 86_400_000_000_u64);
    assert_eq!((&watched["limit"], &watched["shadow"]), (&json!("verify/watched"), &json!(true)));

    let second = api.check(verify("ada")).await;
    assert_eq!(second["allowed"], true, "a shadow limit must not refuse: {second}");
    assert_eq!(second["decisions"][1]["allowed"], false);

    let third = api.check(verify("ada")).await;
    assert_eq!((&third["allowed"], &third["ruling"]), (&json!(false), &json!("refuse")));
    assert_eq!(third["receipt"], Value::Null, "what is refused is not charged");
    let micros = third["retry_after_micros"].as_u64().unwrap();
    assert!(micros > 0 && micros <= 86_400_000_000, "{micros}");
    assert_eq!(third["retry_after_seconds"], micros.div_ceil(1_000_000));
    let explain = third["explain"].as_str().unwrap();
    assert!(explain.contains("verify/per-account") && explain.contains("Two at once"), "{explain}");
}

#[tokio::test]
async fn a_ready_made_key_is_the_one_a_body_would_have_given() {
    let api = Served::api(VERIFY).await;
    api.check(verify("ada")).await;
    let ready = json!({ "method": "POST", "path": "/otp/verify", "client": "192.0.2.9", "keys": { "account": " ADA " } });
    let verdict = api.check(ready).await;
    assert_eq!(remaining(&verdict, "verify/per-account"), 0, "normalised as the policy says: {verdict}");
}

#[tokio::test]
async fn a_body_in_base64_is_the_same_body() {
    let api = Served::api(VERIFY).await;
    api.check(verify("ada")).await;
    let mut call = verify("");
    call.as_object_mut().unwrap().remove("body");
    // {"account":"ada"}
    let verdict = api.check(with(call, &json!({ "body_base64": "eyJhY2NvdW50IjoiYWRhIn0=" }))).await;
    assert_eq!(remaining(&verdict, "verify/per-account"), 0, "{verdict}");
}

#[tokio::test]
async fn peeks_and_checks_of_nothing_take_nothing() {
    let api = Served::api(VERIFY).await;
    for look in [json!({ "peek": true }), json!({ "cost": 0 })] {
        let verdict = api.check(with(verify("ada"), &look)).await;
        assert_eq!(verdict["allowed"], true);
        assert_eq!(remaining(&verdict, "verify/per-account"), 2, "{look}");
        assert_eq!(verdict["receipt"], Value::Null, "{look}");
    }
    let dear = api.check(with(verify("ada"), &json!({ "cost": 2, "peek": true }))).await;
    assert_eq!(dear["allowed"], true);
    let verdict = api.check(with(verify("ada"), &json!({ "cost": 2 }))).await;
    assert_eq!((&verdict["allowed"], remaining(&verdict, "verify/per-account")), (&json!(true), 0));
}

#[tokio::test]
async fn a_cost_above_the_capacity_is_never_admitted() {
    let api = Served::api(VERIFY).await;
    let verdict = api.check(with(verify("ada"), &json!({ "cost": 1_u32 << 30 }))).await;
    assert_eq!((&verdict["allowed"], &verdict["never"]), (&json!(false), &json!(true)));
    assert_eq!(verdict["retry_after_seconds"], Value::Null);
    assert!(verdict["headers"].get("retry-after").is_none(), "waiting does not help: {verdict}");
}

#[tokio::test]
async fn a_request_the_policy_cannot_read_is_a_verdict_and_not_an_error() {
    let api = Served::api(VERIFY).await;
    let faulty = [
        (verify(""), "account"),
        (with(verify(""), &json!({ "body": r#"{"account":"a","account":"b"}"# })), "account"),
        (with(verify("ada"), &json!({ "path": "/otp%2fverify" })), "path"),
        (with(verify("ada"), &json!({ "keys": { "account": "a\u{0}" } })), "account"),
    ];
    for (call, part) in faulty {
        let verdict = api.check(call).await;
        assert_eq!(
            (&verdict["allowed"], &verdict["ruling"]),
            (&json!(false), &json!("bad_request")),
            "{verdict}"
        );
        assert!(verdict["explain"].as_str().unwrap().contains(part), "{verdict}");
        assert_eq!(verdict["decisions"], json!([]));
    }
}

#[tokio::test]
async fn a_request_no_limit_looks_at_passes() {
    let api = Served::api(VERIFY).await;
    let verdict = api.check(json!({})).await;
    assert_eq!((&verdict["allowed"], &verdict["limit"]), (&json!(true), &Value::Null));
    assert_eq!((&verdict["decisions"], &verdict["receipt"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn a_client_behind_a_trusted_proxy_is_counted_for_itself() {
    let rules = VERIFY.replace("mode: shadow", "mode: enforce");
    let api = Served::api(&format!("trusted_proxies: [198.51.100.0/24]\n{rules}")).await;
    let call = |client: &str, forwarded: &str, account: &str| {
        let headers = json!({ "content-type": "application/json", "x-forwarded-for": forwarded });
        with(verify(account), &json!({ "client": client, "headers": headers }))
    };
    assert_eq!(api.check(call("198.51.100.1", "192.0.2.1", "a")).await["allowed"], true);
    assert_eq!(api.check(call("198.51.100.2", "192.0.2.1", "b")).await["limit"], "verify/watched");
    assert_eq!(api.check(call("198.51.100.1", "192.0.2.2", "c")).await["allowed"], true);
    // Nobody's word but a proxy's is taken.
    assert_eq!(api.check(call("192.0.2.66", "192.0.2.3", "d")).await["allowed"], true);
    assert_eq!(api.check(call("192.0.2.66", "192.0.2.4", "e")).await["allowed"], false);
}

const PACED: &str = r"
rules:
  - name: reports
    class: api
    match: { path: /reports }
    on_store_failure: allow
    limits:
      - name: paced
        says: One every 24 hours, with up to two waiting, for everyone together.
        key: global
        leaky_bucket: { rate: 1 per 24h, queue: 2 }
";

#[tokio::test]
async fn a_leaky_bucket_delays_only_who_can_wait() {
    const DAY_MS: u64 = 86_400_000;
    let api = Served::api(PACED).await;
    let call = json!({ "path": "/reports" });
    let first = api.check(call.clone()).await;
    assert_eq!((&first["allowed"], &first["delay_ms"]), (&json!(true), &json!(0)));
    let unwilling = api.check(call.clone()).await;
    assert_eq!((&unwilling["allowed"], &unwilling["ruling"]), (&json!(false), &json!("refuse")));
    let hasty = api.check(with(call.clone(), &json!({ "max_delay_ms": 1 }))).await;
    assert_eq!(hasty["allowed"], false);
    let patient = api.check(with(call, &json!({ "max_delay_ms": DAY_MS }))).await;
    assert_eq!(patient["allowed"], true, "{patient}");
    let delay = patient["delay_micros"].as_u64().unwrap();
    assert!(delay > 0 && delay <= DAY_MS * 1_000, "{delay}");
    assert_eq!(patient["delay_ms"], delay.div_ceil(1_000));
    assert_eq!(patient["decisions"][0]["delay_micros"], delay);
}

/// Guards the caller's knowledge that a decision is one process's own, and against which share it was made.
#[tokio::test]
async fn a_verdict_of_this_process_alone_says_so() {
    let store = faulty();
    let local = VERIFY.replace("on_store_failure: deny", "on_store_failure: local");
    let api =
        Served::start(api::service(limiter_on(store.clone(), &format!("instances: 2\n{local}")), None)).await;
    store.fail(StoreError::unavailable("unplugged"));
    let mut seen = Vec::new();
    for _ in 0..2 {
        let verdict = api.check(verify("ada")).await;
        assert_eq!(verdict["headers"]["tidegate-degraded"], "local", "{verdict}");
        seen.push([verdict["ruling"].clone(), verdict["degraded"].clone()]);
    }
    assert_eq!(seen, [[json!("allow"), json!("local")], [json!("refuse"), json!("local")]]);
}

#[tokio::test]
async fn a_dead_store_is_a_verdict_by_each_rules_choice() {
    let store = faulty();
    let both = format!("{VERIFY}{}", PACED.replace("\nrules:\n", ""));
    let api = Served::start(api::service(limiter_on(store.clone(), &both), None)).await;
    store.fail(StoreError::unavailable("unplugged"));
    let denied = api.check(verify("ada")).await;
    assert_eq!((&denied["allowed"], &denied["ruling"]), (&json!(false), &json!("store_down")));
    assert_eq!(denied["degraded"], "deny");
    assert_eq!((&denied["receipt"], &denied["headers"]), (&Value::Null, &json!({ "retry-after": "1" })));
    let passed = api.check(json!({ "path": "/reports" })).await;
    assert_eq!((&passed["allowed"], &passed["ruling"]), (&json!(true), &json!("uncounted")));
    assert_eq!(
        (&passed["degraded"], &passed["headers"]),
        (&json!("allow"), &json!({ "tidegate-degraded": "uncounted" }))
    );
    store.heal();
    let again = api.check(verify("ada")).await;
    assert_eq!((&again["ruling"], &again["degraded"]), (&json!("allow"), &Value::Null));
}
