//! The policy in force, as the API shows it.

use serde_json::json;
use tidegate_server::api;

use super::world::{Served, limiter};

const EVERY_KIND: &str = r#"
instances: 3
keys:
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
  api_key: { header: x-api-key, normalize: [hash] }
  caller: { first_of: [api_key, client] }
codes:
  otp: { digits: 6 }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: "/otp/{id}/verify", host: "*.example.com" }
    except: [ { client: [192.0.2.0/24] } ]
    guesses: otp
    on_store_failure: deny
    limits:
      - name: bucket
        says: Four at once, then one every ten seconds, per caller.
        note: For people.
        key: caller
        token_bucket: { capacity: 4, refill: 1 per 10s }
      - name: log
        says: Never more than nine in any 24 hours, for everyone together.
        key: global
        mode: shadow
        sliding_log: { limit: 9, window: 24h }
  - name: rest
    class: api
    match: { path: /** }
    limits:
      - name: window
        says: Up to 100 a minute, for everyone together.
        key: global
        fixed_window: { limit: 100, window: 1m }
      - name: counter
        says: Up to 100 a minute, per client.
        key: client
        sliding_counter: { limit: 100, window: 1m }
"#;

#[tokio::test]
async fn the_policy_in_force_is_told_as_meant() {
    let api = Served::start(api::router(limiter(EVERY_KIND), None)).await;
    let policy = api.get("/v1/policy").await.json();
    assert_eq!((&policy["mode"], &policy["instances"]), (&json!("enforce"), &json!(3)));
    assert_eq!(policy["fallback"], json!(null));
    let verify = &policy["rules"][0];
    assert_eq!(
        (&verify["name"], &verify["class"], &verify["guesses"]),
        (&json!("verify"), &json!("verify"), &json!("otp"))
    );
    assert_eq!(
        verify["matches"],
        json!([{ "methods": ["POST"], "paths": ["/otp/{id}/verify"], "hosts": [".example.com"] }])
    );
    assert_eq!(verify["except"][0]["clients"], json!(["192.0.2.0/24"]));
    assert_eq!(
        (&verify["on_missing_key"], &verify["on_store_failure"], &verify["client_sees"]),
        (&json!("refuse"), &json!("deny"), &json!("retry_after"))
    );
    let limit = &verify["limits"][0];
    assert_eq!(limit["name"], "verify/bucket");
    assert_eq!(limit["says"], "Four at once, then one every ten seconds, per caller.");
    assert_eq!(
        (&limit["note"], &limit["key"], &limit["cost"]),
        (&json!("For people."), &json!(["caller"]), &json!(1))
    );
    let quotas: Vec<_> = [0, 1]
        .iter()
        .flat_map(|rule| policy["rules"][rule]["limits"].as_array().unwrap())
        .map(|limit| (limit["mode"].as_str().unwrap(), limit["quota"].clone()))
        .collect();
    let refill = json!({ "units": 1, "per_micros": 10_000_000 });
    let expected = [
        ("enforce", json!({ "algorithm": "token_bucket", "capacity": 4, "refill": refill })),
        ("shadow", json!({ "algorithm": "sliding_log", "limit": 9, "window_micros": 86_400_000_000_u64 })),
        (
            "enforce",
            json!({ "algorithm": "fixed_window", "limit": 100, "window_micros": 60_000_000, "anchor": "clock", "calendar": null }),
        ),
        ("enforce", json!({ "algorithm": "sliding_counter", "limit": 100, "window_micros": 60_000_000 })),
    ];
    assert_eq!(quotas, expected);
}

#[tokio::test]
async fn ready_made_keys_go_by_the_alternatives_of_a_first_of() {
    let api = Served::start(api::router(limiter(EVERY_KIND), None)).await;
    let document = api.get("/openapi.json").await.json();
    let keys = document["components"]["schemas"]["CheckRequest"]["properties"]["keys"]["properties"].clone();
    assert_eq!(keys.as_object().unwrap().keys().collect::<Vec<_>>(), ["api_key", "client"]);
    let refused = api.post("/v1/check", json!({ "keys": { "caller": "a" } }).to_string()).await;
    let problem = refused.problem();
    assert!(problem["detail"].as_str().unwrap().contains("api_key, client"), "{problem}");
}
