//! The layer's own answers.

use serde_json::{Value, json};

use crate::world::{by, field, get, one_limit, post, send};

const ONE: &str = "token_bucket: { capacity: 1, refill: 1 per 10s }";

fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

#[tokio::test]
async fn a_refusal_is_a_problem_that_names_the_limit_and_its_words() {
    let limiter = by(&one_limit(ONE, "    client_sees: all\n"));
    send(&limiter, get("/")).await;
    let refused = send(&limiter, get("/")).await;
    assert_eq!(field(refused.headers(), "content-type"), Some("application/problem+json"));
    assert_eq!(
        json_of(refused.body()),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Quota Exceeded",
            "status": 429,
            "detail": "Just so, for everyone together. Try again in 10 seconds.",
            "violated-policies": ["r/l"],
            "limit": "r/l",
            "says": "Just so, for everyone together.",
            "retry-after": 10,
        })
    );
}

#[tokio::test]
async fn a_limit_of_zero_is_never_to_be_retried() {
    let limiter = by(&one_limit("fixed_window: { limit: 0, window: 1m }", "    client_sees: all\n"));
    let refused = send(&limiter, get("/")).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(field(refused.headers(), "retry-after"), None);
    assert_eq!(field(refused.headers(), "ratelimit"), Some("\"r/l\";r=0"));
}

#[tokio::test]
async fn the_problem_body_can_be_the_house_s_own() {
    let own = "problem: { content_type: text/plain, body: \"Come back in {retry_after} s.\" }\n";
    let limiter = by(&format!("{own}{}", one_limit(ONE, "    client_sees: all\n")));
    send(&limiter, get("/")).await;
    let refused = send(&limiter, get("/")).await;
    assert_eq!(field(refused.headers(), "content-type"), Some("text/plain"));
    assert_eq!(refused.body(), "Come back in 10 s.");
}

/// Guards against a member told twice, of which one client reads the first and another the last.
#[tokio::test]
async fn what_the_file_adds_stands_in_the_place_of_ours_and_behind_them() {
    let own = "problem: { members: { retry-after: soon, code: 7, limit: \"a \\\"quota\\\"\" } }\n";
    for (sees, told) in [
        (
            "all",
            r#","violated-policies":["r/l"],"limit":"a \"quota\"","says":"Just so, for everyone together.","retry-after":"soon","code":7}"#,
        ),
        ("retry_after", r#","retry-after":"soon","code":7,"limit":"a \"quota\""}"#),
        ("nothing", r#","retry-after":"soon","code":7,"limit":"a \"quota\""}"#),
    ] {
        let limiter = by(&format!("{own}{}", one_limit(ONE, &format!("    client_sees: {sees}\n"))));
        send(&limiter, get("/")).await;
        let refused = send(&limiter, get("/")).await;
        let body = std::str::from_utf8(refused.body()).unwrap();
        assert!(body.ends_with(told), "{sees}: {body}");
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_read_is_a_bad_request() {
    let limiter = by("
keys: { account: { json: /account } }
rules:
  - name: verify
    class: verify
    on_store_failure: deny
    match: { method: POST, path: /otp/verify }
    limits:
      - { name: l, says: One a minute per account., key: account, token_bucket: { capacity: 1, refill: 1 per 1m } }
");
    for (body, part) in
        [("{}", "account"), (r#"{"account":"a","account":"b"}"#, "account"), ("nonsense", "account")]
    {
        let refused = send(&limiter, post("/otp/verify", body)).await;
        assert_eq!(refused.status(), 400, "{body}");
        let problem = json_of(refused.body());
        assert_eq!(problem["title"], "Bad Request");
        assert!(problem["detail"].as_str().unwrap().starts_with(part), "{problem}");
    }
    assert_eq!(send(&limiter, post("/otp/verify", r#"{"account":"a"}"#)).await.status(), 200);
}

#[tokio::test]
async fn a_detail_with_quotes_stays_valid_json() {
    use http_body_util::{BodyExt, Full};

    let response: http::Response<Full<bytes::Bytes>> =
        tidegate_tower::problem_response(http::StatusCode::BAD_GATEWAY, "no \"answer\"\n");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(json_of(&body)["detail"], "no \"answer\"\n");
}
