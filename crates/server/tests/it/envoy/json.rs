//! `POST /json`.

use http::Method;
use serde_json::{Value, json};

use super::world::{Answer, World, fetch};

const RULES: &str = "
keys: { key1: { descriptor: key1 } }
rules:
  - name: key1
    match: { domain: basic, descriptor: [ key1 ] }
    envoy: { label: \"\" }
    limits:
      - { name: l, says: \"Two per clock hour, per key1.\", key: key1, fixed_window: { limit: 2, window: 1h } }
";

async fn post(world: &World, body: &str) -> Answer {
    fetch(Method::POST, world.envoy(), "/json", &[("content-type", "application/json")], body).await
}

/// Guards R11: whoever asked envoyproxy/ratelimit by curl asks here as well.
#[tokio::test]
async fn a_question_as_json_is_answered_as_json_by_status() {
    let world = World::by(RULES).await;
    let body =
        r#"{"domain":"basic","descriptors":[{"entries":[{"key":"key1","value":"foo"}]}],"hits_addend":1}"#;
    let answer = post(&world, body).await;
    assert_eq!(answer.status.as_u16(), 200, "{answer:?}");
    let mut said = answer.json();
    let wait = said["statuses"][0]["durationUntilReset"].take();
    let wait: u32 = wait.as_str().unwrap().strip_suffix('s').unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{wait}");
    assert_eq!(said["overallCode"], json!("OK"));
    let limit = json!({ "requestsPerUnit": 2, "unit": "HOUR" });
    let expected =
        json!([{ "code": "OK", "currentLimit": limit, "limitRemaining": 1, "durationUntilReset": null }]);
    assert_eq!(said["statuses"], expected);

    // What has its default value is left out.
    assert_eq!(post(&world, body).await.json()["statuses"][0].get("limitRemaining"), None);
    let refused = post(&world, body).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["overallCode"]), (429, &json!("OVER_LIMIT")));
    assert!(refused.json()["rawBody"].as_str().is_some_and(|body| !body.is_empty()));
}

#[tokio::test]
async fn what_is_no_question_is_a_bad_request_with_words() {
    let world = World::by(RULES).await;
    for (body, says) in [
        ("{", "no rate-limit request"),
        ("{}", "domain must not be empty"),
        (r#"{"domain":"basic"}"#, "descriptor list must not be empty"),
        (
            r#"{"domain":"basic","descriptors":[{"entries":[{"key":"k"}],"limit":{"unit":"UNKNOWN"}}]}"#,
            "unit",
        ),
    ] {
        let answer = post(&world, body).await;
        assert_eq!(answer.status.as_u16(), 400, "{body}");
        let problem: Value = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    let get = fetch(Method::GET, world.envoy(), "/json", &[], "").await;
    assert_eq!((get.status.as_u16(), get.field("allow").as_str()), (405, "POST"));
}
