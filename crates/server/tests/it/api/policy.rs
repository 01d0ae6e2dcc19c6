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
    let api = Served::start(api::service(limiter(EVERY_KIND), None)).await;
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
        (&json!("For people."), &json!(["caller"]), &json!({ "by": "number", "units": 1 }))
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
    let api = Served::start(api::service(limiter(EVERY_KIND), None)).await;
    let document = api.get("/openapi.json").await.json();
    let keys = document["components"]["schemas"]["CheckRequest"]["properties"]["keys"]["properties"].clone();
    assert_eq!(keys.as_object().unwrap().keys().collect::<Vec<_>>(), ["api_key", "client"]);
    let refused = api.post("/v1/check", json!({ "keys": { "caller": "a" } }).to_string()).await;
    let problem = refused.problem();
    assert!(problem["detail"].as_str().unwrap().contains("api_key, client"), "{problem}");
}

const EVERY_FORM: &str = r#"
trusted_proxies: [127.0.0.1/32]
keys:
  api_key: { header: x-api-key, called: [key] }
  account: { json: /account }
  country: { header: x-country }
  tier: { header: x-tier }
costs:
  cents: { by: country, default: 25, values: { FR: 5, GB: 40 } }
rules:
  - name: pay
    class: api
    match: { path: /pay }
    limits:
      - name: spend
        was: [outlay]
        says: Never more than 50,000 cents in any 24 hours, for everyone together.
        key: global
        cost: cents
        unit: cents
        client_sees: retry_after
        alert_at: 80%
        sliding_log: { limit: 50000, window: 24h }
      - name: pace
        key: api_key
        cost: { header: x-cost, from: trusted_proxies, default: 3 }
        unit: units
        plan: { by: tier, values: { gold: premium }, default: free }
        plans:
          free: { says: "10 units a minute, per key.", sliding_counter: { limit: 10, window: 1m } }
          premium: { says: "1,000 units a calendar month, per key.", fixed_window: { limit: 1000, anchor: calendar, window: month } }
        overrides:
          - value: tide-key-of-contract-81
            until: 2027-03-31
            because: contract 81
            says: Up to 90 units a minute, per key.
            sliding_counter: { limit: 90, window: 1m }
      - name: guesses
        says: Nine failures in 24 hours, then locked for 30 minutes, per account.
        key: account
        cost: { items: /codes }
        count: { failures: true, success: { status: [200, 300-399], header: { name: x-ok } }, on_success: reset }
        lockout: { attempts: 9, within: 24h, lock: 30m }
  - name: closed
    match: { path: /internal/** }
    refuse: { status: 404, because: There is nothing here. }
"#;

#[tokio::test]
async fn costs_plans_overrides_counts_and_refusals_are_told_and_no_key_is() {
    let api = Served::start(api::service(limiter(EVERY_FORM), None)).await;
    let answer = api.get("/v1/policy").await;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(!text.contains("tide-key-of"), "a key's value left the process: {text}");
    let policy = answer.json();
    let [spend, pace, guesses] = &policy["rules"][0]["limits"].as_array().unwrap()[..] else {
        panic!("{text}")
    };
    assert_eq!(
        spend["cost"],
        json!({ "by": "table", "name": "cents", "key": "country", "default_units": 25, "most_units": 40 })
    );
    assert_eq!((&spend["unit"], &spend["alert_at_percent"]), (&json!("cents"), &json!(80)));
    assert_eq!((&spend["client_sees"], &pace["client_sees"]), (&json!("retry_after"), &json!(null)));
    assert_eq!((&spend["was"], &spend["count"]), (&json!(["pay/outlay"]), &json!({ "counts": "every" })));
    assert_eq!((&spend["plans"], &spend["overrides"]), (&json!(null), &json!([])));
    assert_eq!((&pace["cost"]["by"], &pace["cost"]["default_units"]), (&json!("header"), &json!(3)));
    let plans = &pace["plans"];
    assert_eq!((&plans["by"], &plans["default"]), (&json!("tier"), &json!("free")));
    let month = json!({
        "algorithm": "fixed_window", "limit": 1000, "window_micros": 2_678_400_000_000_u64,
        "anchor": "calendar", "calendar": "month"
    });
    assert_eq!((&plans["list"][1]["name"], &plans["list"][1]["quota"]), (&json!("premium"), &month));
    let over = &pace["overrides"][0];
    let keys = json!({ "api_key": "tide-key-of-contract-81", "tier": "gold" });
    let why = api.post("/v1/why", json!({ "path": "/pay", "keys": keys }).to_string()).await.json();
    assert_eq!(over["value"], why["rules"][0]["limits"][1]["identity"], "one name for one key: {why}");
    assert_eq!(over["value"], why["verdict"]["decisions"][1]["plan"]);
    assert_eq!(
        (&over["because"], &over["until_epoch_seconds"]),
        (&json!("contract 81"), &json!(1_806_537_600)),
        "the end of the last day"
    );
    assert_eq!(guesses["cost"], json!({ "by": "items", "pointer": "/codes" }));
    assert_eq!(
        guesses["count"],
        json!({
            "counts": "failures",
            "success": {
                "statuses": [{ "from": 200, "to": 200 }, { "from": 300, "to": 399 }],
                "header": { "name": "x-ok", "value": null }
            },
            "on_success": "reset"
        })
    );
    let lockout = json!({
        "algorithm": "lockout", "attempts": 9, "within_micros": 86_400_000_000_u64, "lock_micros": 1_800_000_000
    });
    assert_eq!(guesses["quota"], lockout);
    let closed = &policy["rules"][1];
    assert_eq!(closed["refuse"], json!({ "status": 404, "because": "There is nothing here." }));
    assert_eq!((&policy["rules"][0]["refuse"], &closed["limits"]), (&json!(null), &json!([])));
}

/// Guards against a cost or a plan that the gateway reads and a call to the API cannot say.
#[tokio::test]
async fn ready_made_keys_tell_costs_and_plans_too() {
    let api = Served::start(api::service(limiter(EVERY_FORM), None)).await;
    let mut plans = Vec::new();
    for keys in [
        json!({ "api_key": "k", "country": "GB", "tier": "gold" }),
        json!({ "api_key": "k", "country": "IS" }),
        json!({ "api_key": "tide-key-of-contract-81", "tier": "gold" }),
    ] {
        let verdict = api.check(json!({ "path": "/pay", "keys": keys })).await;
        let pace = &verdict["decisions"][1];
        plans.push((
            pace["plan"].clone(),
            pace["capacity"].clone(),
            verdict["decisions"][0]["remaining"].clone(),
        ));
    }
    let policy = api.get("/v1/policy").await.json();
    let name = &policy["rules"][0]["limits"][1]["overrides"][0]["value"];
    assert!(name.as_str().unwrap().starts_with("hmac:"), "{name}");
    assert_eq!(
        plans,
        [
            (json!("premium"), json!(1_000), json!(49_960)),
            (json!("free"), json!(10), json!(49_935)),
            (name.clone(), json!(90), json!(49_910)),
        ]
    );
    let document = api.get("/openapi.json").await.json();
    let keys = &document["components"]["schemas"]["CheckRequest"]["properties"]["keys"]["properties"];
    assert_eq!(
        keys.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["account", "api_key", "country", "tier"]
    );
}
