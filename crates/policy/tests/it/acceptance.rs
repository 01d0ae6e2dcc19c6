//! The example policies, and what the verify rule counts on.

use http::{HeaderMap, HeaderValue};
use tidegate_policy::{Policy, Presence, Request, parse};

fn example(name: &str) -> Policy {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    parse(name, &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Guards the examples against being refused by the version that ships them.
#[test]
fn the_examples_are_accepted() {
    assert_eq!(example("minimal.yaml").rules.len(), 1);
    let quillon = example("quillon.yaml");
    let names: Vec<&str> = quillon.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["edge", "send", "verify", "recovery", "reports"]);
    let limit = &quillon.rules[2].limits[0];
    assert_eq!((limit.name.as_str(), limit.terms.quota.nominal()), ("verify/per-account", 4));
}

/// Guards the acceptance path: a verify request is keyed on its account, in every spelling of it.
#[test]
fn a_verify_request_is_counted_per_account() {
    let policy = example("quillon.yaml");
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let key = |path: &str, body: &str| {
        let request = Request {
            method: "POST",
            host: Some("localhost"),
            path,
            query: None,
            headers: &headers,
            peer: Some("127.0.0.1".parse().unwrap()),
            body: Some(body.as_bytes()),
        };
        assert!(policy.needs_body(&request));
        let seen = policy.see(&request).unwrap();
        let rules: Vec<&str> = policy.matching(&seen).map(|matched| matched.rule.name.as_str()).collect();
        assert_eq!(rules, ["edge", "verify"]);
        let matched = policy.matching(&seen).last().unwrap();
        let mut out = Vec::new();
        assert_eq!(matched.rule.limits[0].key.read(&matched.facts, &mut out), Ok(Presence::Present));
        out
    };
    let plain = key("/otp/verify", r#"{"account": "alice", "challenge": "c1"}"#);
    assert_eq!(plain, key("/OTP//x/../verify/", r#"{"account": " Alice ", "challenge": "c2"}"#));
    assert_ne!(plain, key("/otp/verify", r#"{"account": "bob", "challenge": "c1"}"#));
}
