//! Whole requests by a policy file.

use tidegate::Ruling;

use crate::world::{Ask, after_ms, by};

const TWO_RULES: &str = "
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  api_key: { header: x-api-key }
rules:
  - name: verify
    class: verify
    on_store_failure: deny
    match: { method: POST, path: /otp/verify }
    limits:
      - name: per-account
        says: Two at once, then one a minute, per account.
        key: account
        token_bucket: { capacity: 2, refill: 1 per 1m }
  - name: data
    class: api
    match: { path: /data/** }
    limits:
      - name: per-key
        says: Two at once, then one a minute, per key.
        key: api_key
        token_bucket: { capacity: 2, refill: 1 per 1m }
fallback:
  on_store_failure: allow
  limits:
    - name: rest
      says: One a minute per client.
      key: client_ip
      token_bucket: { capacity: 1, refill: 1 per 1m }
";

fn names(verdict: &tidegate::Verdict) -> Vec<&str> {
    verdict.decisions().iter().map(|one| one.limit.name()).collect()
}

#[tokio::test]
async fn the_fallback_applies_when_no_enforced_limit_looked() {
    let limiter = by(TWO_RULES);
    let nothing_matches = Ask::get("/elsewhere");
    let verdict = limiter.check_at(&nothing_matches.as_seen(), after_ms(0)).await;
    assert_eq!(names(&verdict), ["fallback/rest"]);
    let key_is_skipped = Ask::get("/data/x");
    let verdict = limiter.check_at(&key_is_skipped.as_seen(), after_ms(0)).await;
    assert_eq!(names(&verdict), ["fallback/rest"]);
    assert_eq!(verdict.skipped().iter().map(tidegate::Limit::name).collect::<Vec<_>>(), ["data/per-key"]);
    assert!(verdict.explain().ends_with("; skipped for want of its key: data/per-key"), "{verdict}");
    let key_is_there = Ask::get("/data/x").header("x-api-key", "k");
    let verdict = limiter.check_at(&key_is_there.as_seen(), after_ms(0)).await;
    assert_eq!(names(&verdict), ["data/per-key"]);
}

#[tokio::test]
async fn a_required_key_that_is_missing_is_a_bad_request_and_names_the_limit() {
    let limiter = by(TWO_RULES);
    let verdict = limiter.check_at(&Ask::post("/otp/verify", r#"{"code":"1"}"#).as_seen(), after_ms(0)).await;
    let Ruling::BadRequest(bad) = verdict.ruling() else { panic!("{verdict}") };
    assert_eq!(bad.part(), "account");
    assert_eq!(bad.to_string(), "account is missing, and verify/per-account requires it");
}

#[tokio::test]
async fn a_key_that_reads_two_ways_is_refused_and_the_next_request_is_served() {
    let limiter = by(TWO_RULES);
    for body in [
        r#"{"account":"a","account":"b"}"#,
        r#"{"account":"a","Account":"b"}"#,
        "not json",
        &"[".repeat(20_000),
    ] {
        let verdict = limiter.check_at(&Ask::post("/otp/verify", body).as_seen(), after_ms(0)).await;
        assert!(matches!(verdict.ruling(), Ruling::BadRequest(_)), "{verdict}");
    }
    let verdict =
        limiter.check_at(&Ask::post("/otp/verify", r#"{"account":"a"}"#).as_seen(), after_ms(0)).await;
    assert_eq!(verdict.decisions()[0].decision.remaining, 1, "{verdict}");
}

#[tokio::test]
async fn spellings_of_one_path_and_one_account_count_together() {
    let limiter = by(TWO_RULES);
    let spellings = [
        ("/otp/verify", " Odalys "),
        ("//otp/./verify/", "odalys"),
        ("/OTP/Verify", "ODALYS"),
        ("/otp/%76erify", "odalys"),
    ];
    let mut allowed = 0;
    for (path, account) in spellings {
        let request = Ask::post(path, &format!(r#"{{"account":"{account}"}}"#));
        let verdict = limiter.check_at(&request.as_seen(), after_ms(0)).await;
        assert_eq!(names(&verdict), ["verify/per-account"], "{path}");
        allowed += u32::from(verdict.is_allowed());
    }
    assert_eq!(allowed, 2);
}

#[tokio::test]
async fn a_shadow_file_refuses_nothing_not_even_what_it_cannot_read() {
    let limiter = by(&format!("mode: shadow\n{TWO_RULES}"));
    for body in [r#"{"account":"a"}"#; 5].into_iter().chain(["not json"]) {
        let verdict = limiter.check_at(&Ask::post("/otp/verify", body).as_seen(), after_ms(0)).await;
        assert!(verdict.is_allowed(), "{verdict}");
    }
    let odd = limiter.check_at(&Ask::post("/otp/%zz", "{}").as_seen(), after_ms(0)).await;
    assert!(odd.is_allowed(), "{odd}");
}

#[tokio::test]
async fn a_missing_key_is_shared_when_the_rule_says_so() {
    let limiter = by("
keys:
  api_key: { header: x-api-key }
rules:
  - name: data
    class: api
    on_missing_key: shared
    match: { path: /data }
    limits:
      - name: per-key
        says: One a minute per key.
        key: api_key
        token_bucket: { capacity: 1, refill: 1 per 1m }
");
    assert!(limiter.check_at(&Ask::get("/data").as_seen(), after_ms(0)).await.is_allowed());
    assert!(!limiter.check_at(&Ask::get("/data").as_seen(), after_ms(0)).await.is_allowed());
    let with_key = Ask::get("/data").header("x-api-key", "k");
    assert!(limiter.check_at(&with_key.as_seen(), after_ms(0)).await.is_allowed());
}
