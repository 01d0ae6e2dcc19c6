//! `tidegate test` on calls of Envoy's: what is told of one that goes otherwise, to people and to programs.

use serde_json::Value;

use crate::process::{Folder, run, text};

const POLICY: &str = r#"
tidegate: 1
envoy: { listen: 127.0.0.1:8082 }
rules:
  - name: pages
    match: { domain: shop, descriptor: [path, remote_address] }
    limits:
      - name: per-client
        says: 2 at once, then one every ten seconds, per client ip.
        key: client_ip
        token_bucket: { capacity: 2, refill: 1 per 10s }
  - name: monitoring
    match: { domain: shop, descriptor: [{ key: generic_key, value: monitoring }] }
    envoy: { unlimited: true }
  - name: others
    match: { domain: mall }
    limits:
      - { name: all, says: "Up to 9 a minute, for everyone together.", key: global, sliding_log: { limit: 9, window: 1m } }
fallback:
  limits:
    - { name: rest, says: "Up to 5 a minute, for everyone together.", key: global, sliding_log: { limit: 5, window: 1m } }
"#;

const TEST: &str = r"
tidegate-test: 1
policy: policy.yaml
tests:
  - name: wrong
    steps:
      - domain: shop
        descriptors: [{ path: /a, remote_address: 192.0.2.7 }, { generic_key: monitoring }]
        hits: 3
        expect: { allowed: true, matches: [pages], descriptors: [{ status: ok, limit: none, remaining: 1 }, over] }
  - name: counted by the fallback
    steps:
      - { domain: shop, descriptors: [{ user: ada }], expect: { limit: fallback/rest, matches: [fallback] } }
";

fn ran(name: &str, more: &[&str]) -> (String, i32) {
    let folder = Folder::new(name);
    folder.file("policy.yaml", POLICY);
    let path = folder.file("policy.test.yaml", TEST);
    let path = path.display().to_string();
    let output = run(["test", &path].iter().chain(more));
    let place = path.strip_suffix("policy.test.yaml").unwrap();
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr)).replace(place, "");
    (told, output.status.code().unwrap())
}

/// Guards what people are told: each difference by its descriptor, and what was asked, found and left.
#[test]
fn a_call_that_goes_otherwise_is_told_descriptor_by_descriptor() {
    let (told, code) = ran("calls", &[]);
    assert_eq!(code, 1, "{told}");
    assert_eq!(
        told,
        "\
policy.test.yaml: 2 tests of policy.yaml
  FAILED  wrong
    policy.test.yaml:7:9: step 1 at 0s: domain shop, 2 descriptors
      allowed                 expected  true
                              got       false
      matches                 expected  pages
                              got       pages, monitoring
      descriptor 1 status     expected  ok
                              got       over
      descriptor 1 limit      expected  none
                              got       pages/per-client
      descriptor 1 remaining  expected  1
                              got       2
      descriptor 2 status     expected  over
                              got       unlimited
      refused by pages/per-client: 2 of 2 left, never at this cost (“2 at once, then one every ten seconds, per client ip.”)
      domain shop, descriptor (path=/a, remote_address=192.0.2.7): over, by pages
      domain shop, descriptor (generic_key=monitoring): unlimited, by monitoring
        pages/per-client: 2 of 2 left
  ok      counted by the fallback
  never matched: others
2 tests, 2 requests: 1 ok, 1 failed
"
    );
}

/// Guards programs against a call that is told as a request.
#[test]
fn a_call_that_goes_otherwise_is_told_as_json_with_its_descriptors() {
    let (told, _) = ran("calls-json", &["--output", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let miss = &told["files"][0]["tests"][0]["misses"][0];
    assert_eq!(miss["asked"], "domain shop, 2 descriptors");
    assert_eq!(miss["descriptors"][0]["status"], "over");
    assert_eq!(miss["descriptors"][0]["limit"], "pages/per-client");
    assert_eq!(miss["descriptors"][1]["rules"][0], "monitoring");
    assert_eq!(miss["descriptors"][1]["status"], "unlimited");
    assert!(miss.get("rules").is_none());
}
