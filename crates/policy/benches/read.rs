//! What a request costs before the store is asked: seeing it, finding its rules, reading their keys.
#![allow(missing_docs, clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use http::{HeaderMap, HeaderValue};
use tidegate_policy::{Policy, Request, parse};

const QUILLON: &str = include_str!("../../../examples/quillon.yaml");

/// A policy of a hundred rules, each with its own path.
fn hundred() -> Policy {
    let mut text = "tidegate: 1\nhealth: { listen: 127.0.0.1:0 }\nrules:\n".to_owned();
    for index in 0..100 {
        writeln!(
            text,
            "  - {{ name: r{index}, match: {{ method: GET, path: \"/v1/tenants/{{id}}/things{index}\" }}, limits: [{{ name: l, \
             says: Ten., key: client_ip, fixed_window: {{ limit: 10, window: 1m }} }}] }}"
        )
        .unwrap();
    }
    parse("bench.yaml", &text).unwrap()
}

fn read(policy: &Policy, request: &Request<'_>, out: &mut Vec<u8>) -> usize {
    let seen = policy.see(request).unwrap();
    let mut count = 0;
    for matched in policy.matching(&seen) {
        for limit in &matched.rule.limits {
            out.clear();
            limit.key.read(&matched.facts, out).unwrap();
            count += out.len();
        }
    }
    count
}

fn benches(criterion: &mut Criterion) {
    let quillon = parse("quillon.yaml", QUILLON).unwrap();
    let hundred = hundred();
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        ("accept", "application/json"),
        ("accept-language", "en-US,en;q=0.5"),
        ("x-forwarded-for", "203.0.113.5"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let verify = Request {
        method: "POST",
        host: Some("api.example.com"),
        path: "/otp/verify",
        query: None,
        headers: &headers,
        peer: Some("192.0.2.1".parse().unwrap()),
        body: Some(br#"{"account": "alice@example.com", "challenge": "c-0001", "code": "123456"}"#),
    };
    let edge = Request { method: "GET", path: "/static/app.js", body: None, ..verify };
    let send = Request { path: "/otp/send", body: Some(br#"{"phone": "+1 650 253 0000"}"#), ..verify };
    let last = Request { method: "GET", path: "/v1/tenants/42/things99", body: None, ..verify };
    let mut out = Vec::with_capacity(256);
    for (name, policy, request) in [
        ("edge: one key of five rules", &quillon, &edge),
        ("verify: three keys, two in JSON", &quillon, &verify),
        ("send: four keys, one a phone number", &quillon, &send),
        ("the last of a hundred rules", &hundred, &last),
    ] {
        criterion.bench_function(name, |bencher| bencher.iter(|| read(policy, black_box(request), &mut out)));
    }
}

criterion_group!(read_requests, benches);
criterion_main!(read_requests);
