//! The example policies in the gateway, held against their test files over HTTP.
//!
//! Each test of a file runs in a gateway of its own, with a listener, the layer and the forwarding service that
//! `tidegate serve` runs, before a service on another socket. Only the clock is not real: it is set to the instant a step
//! names. Clients are introduced by PROXY protocol headers, as behind a load balancer.

mod hold;
mod wire;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tidegate::policy_file::suite::Suite;
use tidegate::policy_file::{self, Policy};

use hold::Tally;
use world::World;

/// The examples that are run here.
const EXAMPLES: [&str; 10] = [
    "internal",
    "login-pci",
    "otp-payments",
    "password-reset",
    "public-api",
    "quillon",
    "seed-article",
    "seed-otp",
    "seed-redis",
    "shared",
];

/// The example whose steps are calls of Envoy's, none of which comes over HTTP; `tidegate test` plays it.
const OF_CALLS: &str = "envoy";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Runs an example's tests and returns what could be held against it.
async fn run(example: &str) -> Tally {
    let name = format!("{example}.test.yaml");
    let text = std::fs::read_to_string(folder().join(&name)).unwrap();
    let suite = Suite::parse(&name, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let policy = tidegate::files::load(&folder().join(&suite.policy)).unwrap().policy;
    let tally = run_suite(&suite, &policy).await;
    assert_eq!(tally.skipped, 0, "{name}: steps that cannot come over HTTP");
    tally
}

async fn run_suite(suite: &Suite, policy: &Policy) -> Tally {
    suite.check_names(policy).unwrap_or_else(|problems| panic!("{problems}"));
    let mut all = Tally::default();
    for case in &suite.cases {
        let mut world = World::of(policy, case).await;
        for step in &case.steps {
            world.step(step, &format!("{}:{}: {}", suite.file, step.place, case.name)).await;
        }
        all.add(world.end(&format!("{}: {}", suite.file, case.name)).await);
    }
    all
}

const POLICY: &str = r"
tidegate: 1
gateway: { listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }
keys:
  account: { json: /account }
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    on_store_failure: deny
    client_sees: nothing
    limits:
      - name: wrong-per-day
        says: Never more than nine wrong codes per account in any 24 hours.
        key: account
        count: { failures: true, success: { status: 200, header: { name: x-code, value: right } } }
        sliding_log: { limit: 9, window: 24h }
  - name: watched
    mode: shadow
    match: { path: /otp/verify }
    limits:
      - name: all
        says: Never more than one in any hour, for everyone together.
        key: global
        sliding_log: { limit: 1, window: 1h }
fallback:
  limits:
    - name: rest
      says: Never more than one in any hour, per client.
      key: client
      sliding_log: { limit: 1, window: 1h }
";

const SUITE: &str = r#"
tidegate-test: 1
policy: policy.yaml
defaults: { client: 192.0.2.7, method: POST, path: /otp/verify, json: { account: ada } }
tests:
  - name: guesses that are made while others wait for their answer
    steps:
      - repeat: 64
        answer: { status: 401, after: 2s }
        expect: { admitted: 9 }
      - at: 1999ms
        expect: { status: 429, limit: verify/wrong-per-day, retry_after: 86398001ms, would_refuse: watched/all }
      - at: 1d
        repeat: 9
        answer: { status: 200, headers: { x-code: right }, after: 2s }
        expect: { admitted: 9 }
      - at: 24h
        expect: { status: 429 }
      - at: 86402s
        peek: true
        expect: { allowed: true, remaining: { verify/wrong-per-day: 9 } }
  - name: whoever leaves before the answer stays charged
    steps:
      - repeat: 3
        answer: never
        expect: { allowed: true }
        after: { allowed: true, remaining: { verify/wrong-per-day: 6 } }
  - name: an answer that only looks like a success is none
    steps:
      - answer: { status: 200, headers: { x-code: wrong } }
        expect: { status: 200, remaining: { verify/wrong-per-day: 8 } }
  - name: a neighbour in the same IPv6 network is the same client
    steps:
      - request: { client: "2001:db8::1", method: GET, path: /a, query: b=c, body: ~ }
        expect: { allowed: true, limit: fallback/rest }
      - request: { client: "2001:db8::2", method: GET, path: /a, body: ~ }
        expect: { status: 429, limit: fallback/rest, says: "Never more than one in any hour, per client." }
  - name: what only the API is told
    steps:
      - request: { keys: { account: bea } }
        expect: { allowed: true }
      - request: { cost: 2 }
      - request: { max_delay: 1s }
"#;

/// Guards what the examples do not use, so that it is there once they do: answers that take their time, clients that
/// leave, limits that tell nothing, and steps that are counted as skipped.
#[tokio::test]
async fn what_the_examples_do_not_use() {
    let policy = policy_file::parse("policy.yaml", POLICY).unwrap_or_else(|problems| panic!("{problems}"));
    let suite = Suite::parse("test.yaml", SUITE).unwrap_or_else(|problems| panic!("{problems}"));
    let tally = run_suite(&suite, &policy).await;
    assert_eq!(tally.skipped, 3);
    // Of a request that passes, which limit was the tightest shows in no answer.
    let [one] = tally.left_out()[..] else { panic!("{:?}", tally.left_out()) };
    assert!(one.contains("the same client") && one.ends_with(": limit"), "{one}");
}

/// Guards against an example that nobody runs.
#[test]
fn every_test_file_of_the_examples_is_run_here() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<String> = files.filter_map(|name| name.into_string().ok()).collect();
    let tested = names.iter().filter_map(|name| name.strip_suffix(".test.yaml"));
    let tested: Vec<_> = tested.filter(|name| *name != OF_CALLS).collect();
    assert_eq!(tested, EXAMPLES);
}

#[tokio::test]
async fn internal() {
    assert_eq!(run("internal").await.left_out(), [""; 0]);
}

/// A right password gives back what the verdict had taken: the number that is expected between the two is shown to
/// nobody.
#[tokio::test]
async fn login_pci() {
    let tally = run("login-pci").await;
    let [one] = tally.left_out()[..] else { panic!("{:?}", tally.left_out()) };
    assert!(one.contains("a right password forgets the wrong ones") && one.ends_with(": remaining"), "{one}");
}

#[tokio::test]
async fn otp_payments() {
    assert_eq!(run("otp-payments").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn password_reset() {
    assert_eq!(run("password-reset").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn public_api() {
    assert_eq!(run("public-api").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn seed_article() {
    assert_eq!(run("seed-article").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn seed_otp() {
    assert_eq!(run("seed-otp").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn seed_redis() {
    assert_eq!(run("seed-redis").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn shared() {
    assert_eq!(run("shared").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn quillon() {
    assert_eq!(run("quillon").await.left_out(), [""; 0]);
}
