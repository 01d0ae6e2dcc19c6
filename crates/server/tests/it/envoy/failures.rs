//! Envoy while the store or Tidegate itself does not answer.

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use serde_json::{Value, json};
use tidegate::StoreError;
use tidegate_redis_kit::Server;
use tonic::Code as Grpc;

use super::world::{Filed, Front, Told, World, added, client, question};
use crate::support::{moment, soon};
use crate::tls::Folder;

const RULES: &str = "
keys: { path: { descriptor: path } }
rules:
  - name: deny
    match: { domain: shop, descriptor: [ { key: path, value: /deny } ] }
    on_store_failure: deny
    limits:
      - { name: l, says: \"Nine in any hour, per path.\", key: path, sliding_log: { limit: 9, window: 1h } }
  - name: allow
    match: { domain: shop, descriptor: [ { key: path, value: /allow } ] }
    on_store_failure: allow
    limits:
      - { name: l, says: \"Nine in any hour, per path.\", key: path, sliding_log: { limit: 9, window: 1h } }
  - name: local
    match: { domain: shop, descriptor: [ { key: path, value: /local } ] }
    on_store_failure: local
    limits:
      - { name: l, says: \"One in any hour, per path.\", key: path, sliding_log: { limit: 1, window: 1h } }
";

fn path(path: &str) -> envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest {
    question("shop", &[&[("path", path)]])
}

fn gone() -> StoreError {
    StoreError::unavailable("nobody is there")
}

/// Guards against an error, after which Envoy lets pass what a rule denies.
#[tokio::test]
async fn without_its_store_each_rule_does_as_it_says_and_a_denial_is_over_limit() {
    let world = World::by(RULES).await;
    world.store.fail(gone());
    let denied = world.ask(path("/deny")).await.unwrap();
    assert_eq!((denied.overall_code(), denied.statuses[0].code()), (Code::OverLimit, Code::OverLimit));
    let body: Value = serde_json::from_slice(&denied.raw_body).unwrap();
    assert!(body["detail"].as_str().unwrap().contains("store is unreachable"), "{body}");
    assert_eq!(body.get("status"), None);
    assert_eq!(added(&denied, "retry-after"), Some("1"));
    let passed = world.ask(path("/allow")).await.unwrap();
    assert_eq!((passed.overall_code(), passed.statuses[0].code()), (Code::Ok, Code::Ok));
    assert_eq!(added(&passed, "tidegate-degraded"), Some("uncounted"));
    for code in [Code::Ok, Code::OverLimit] {
        assert_eq!(world.ask(path("/local")).await.unwrap().overall_code(), code);
    }
}

#[tokio::test]
async fn where_the_policy_wants_envoy_to_choose_it_is_told_unavailable() {
    let world = World::with("timeout: 10s, on_deny: unavailable", RULES).await;
    world.store.fail(gone());
    assert_eq!(world.ask(path("/deny")).await.unwrap_err().code(), Grpc::Unavailable);
    assert_eq!(world.ask(path("/allow")).await.unwrap().overall_code(), Code::Ok);
}

/// Guards against Envoy's 20 ms, after which it lets pass: a store that hangs is not waited for. And against a charge that is
/// taken back although nobody knows whether it was made.
#[tokio::test]
async fn a_store_that_hangs_is_not_waited_for_and_what_it_charges_later_stays() {
    let world = World::with("timeout: 1ms", RULES).await;
    world.store.hold();
    assert_eq!(world.ask(path("/deny")).await.unwrap().overall_code(), Code::OverLimit);
    assert_eq!(world.ask(path("/allow")).await.unwrap().overall_code(), Code::Ok);
    for code in [Code::Ok, Code::OverLimit] {
        assert_eq!(world.ask(path("/local")).await.unwrap().overall_code(), code);
    }
    world.store.release();
    let decided = soon(async {
        loop {
            let decided = world.ask(path("/allow")).await.unwrap();
            if decided.statuses[0].current_limit.is_some() {
                return decided;
            }
            moment().await;
        }
    });
    let decided = decided.await;
    // The held charge and those made since.
    let remaining = decided.statuses[0].limit_remaining;
    assert!(remaining <= 7, "{remaining}");
}

/// Guards against a change that waits for a restart in the middle of an outage: how long the store is waited for, and what
/// Envoy is told of a denial, hold for the next call.
#[tokio::test]
async fn the_time_and_the_answer_to_a_denial_are_those_of_the_last_reload() {
    let mut redis = Server::start(&[]);
    let port = redis.port();
    let policy = |face: &str| {
        format!(
            "tidegate: 1\nkey_secret_file: secret\nenvoy: {{ listen: 127.0.0.1:0, {face} }}\n\
             store: {{ redis: {{ url: \"redis://127.0.0.1:{port}\", timeout: 10s }} }}\n{RULES}"
        )
    };
    let folder = Folder::new("envoy-reloads");
    folder.write("secret", "a secret that all instances share");
    let served = Filed::by(folder, &policy("timeout: 10s")).await;
    let reload = async |face: &str| {
        served.folder.write("policy.yaml", policy(face));
        soon(served.reloader.reload()).await.unwrap();
    };
    soon(async {
        while served.ask(path("/deny")).await.unwrap().overall_code() != Code::Ok {
            moment().await;
        }
    })
    .await;
    reload("timeout: 1ms").await;
    redis.freeze();
    assert_eq!(served.ask(path("/deny")).await.unwrap().overall_code(), Code::OverLimit);
    reload("timeout: 10s").await;
    let mut patient = client(served.at.envoy.unwrap()).await;
    let patient = tokio::spawn(async move { patient.should_rate_limit(path("/allow")).await });
    // By then the time before would be over.
    moment().await;
    redis.thaw();
    let patient = soon(patient).await.unwrap().unwrap().into_inner();
    assert_eq!((patient.overall_code(), added(&patient, "tidegate-degraded")), (Code::Ok, None));
    redis.kill();
    assert_eq!(served.ask(path("/deny")).await.unwrap().overall_code(), Code::OverLimit);
    reload("timeout: 10s, on_deny: unavailable").await;
    assert_eq!(served.ask(path("/deny")).await.unwrap_err().code(), Grpc::Unavailable);
}

/// Guards the whole chain with the times as they come: Envoy's 20 ms and Tidegate's 12 ms, both unless said.
#[tokio::test]
async fn envoy_hears_of_a_store_that_hangs_before_it_loses_patience() {
    let world = World::with("on_deny: over_limit", RULES).await;
    // Not Envoy's own 20 ms: on a machine that is busy with other tests, they may be over before a process runs at all.
    let filter = "timeout: 60s, failure_mode_deny: false";
    let front = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    assert_eq!(front.get("/deny", &[]).await.status.as_u16(), 200);
    world.store.hold();
    let refused = front.get("/deny", &[]).await;
    assert_eq!((refused.status.as_u16(), refused.field("retry-after").as_str()), (429, "1"));
    assert_eq!(
        refused.json()["type"],
        json!("https://iana.org/assignments/http-problem-types#temporary-reduced-capacity")
    );
    assert_eq!(front.get("/allow", &[]).await.field("tidegate-degraded"), "uncounted");
    assert_eq!(front.stat("error").await, 0);
}

/// Guards what the page says of Envoy's own patience: an answer that comes later than its time lets pass.
#[tokio::test]
async fn an_answer_later_than_envoys_time_is_an_error_to_it() {
    let world = World::with("timeout: 10s", RULES).await;
    let filter = "timeout: 0.02s";
    let open = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    let filter = "timeout: 0.02s, failure_mode_deny: true";
    let closed = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    world.store.hold();
    assert_eq!(open.get("/deny", &[]).await.status.as_u16(), 200);
    assert_eq!(closed.get("/deny", &[]).await.status.as_u16(), 500);
    assert_eq!((open.stat("failure_mode_allowed").await, closed.stat("failure_mode_allowed").await), (1, 0));
    world.store.release();
}

/// Guards what the page says of `failure_mode_deny`, by either way in which nobody answers.
#[tokio::test]
async fn when_nobody_answers_failure_mode_deny_decides() {
    let world = World::with("timeout: 10s, on_deny: unavailable", RULES).await;
    let open = Front::asking(world.envoy(), Told::default()).await;
    let filter = "failure_mode_deny: true";
    let closed = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    let both = async || {
        (open.get("/deny", &[]).await.status.as_u16(), closed.get("/deny", &[]).await.status.as_u16())
    };
    assert_eq!(both().await, (200, 200));
    world.store.fail(gone());
    assert_eq!(both().await, (200, 500));
    world.store.heal();
    world.kill().await;
    assert_eq!(both().await, (200, 500));
    assert_eq!((open.stat("error").await, open.stat("failure_mode_allowed").await), (2, 2));
    assert_eq!(closed.stat("error").await, 2);
}
