//! The fields of answers, style by style.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tidegate::Timestamp;
use tidegate_tower::{LimitLayer, ReplayedBody, answer_fields};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::world::{anybody, by, field, get, one_limit, send};

const FOUR: &str = "token_bucket: { capacity: 4, refill: 1 per 10s }";

#[tokio::test]
async fn an_allowed_and_a_refused_request_carry_the_ietf_fields() {
    let limiter = by(&format!("headers: [ietf]\n{}", one_limit(FOUR, "    client_sees: all\n")));
    let first = send(&limiter, get("/")).await;
    assert_eq!(first.status(), 200);
    assert_eq!(field(first.headers(), "ratelimit-policy"), Some("\"r/l\";q=4;w=40"));
    assert_eq!(field(first.headers(), "ratelimit"), Some("\"r/l\";r=3;t=10"));
    for _ in 0..3 {
        send(&limiter, get("/")).await;
    }
    let fifth = send(&limiter, get("/")).await;
    assert_eq!(fifth.status(), 429);
    assert_eq!(field(fifth.headers(), "retry-after"), Some("10"));
    assert_eq!(field(fifth.headers(), "ratelimit-policy"), Some("\"r/l\";q=4;w=40"));
    assert_eq!(field(fifth.headers(), "ratelimit"), Some("\"r/l\";r=0;t=10"));
    assert_eq!(field(fifth.headers(), "cache-control"), Some("no-store"));
}

/// Guards the order, by which clients that read one item read the one that matters: the tightest of an allowed request, the
/// longest wait of a refused one, and of equals the one that stands first in the file.
#[tokio::test]
async fn the_most_telling_limit_stands_first_and_equals_as_in_the_file() {
    let limit = |name: &str, capacity: u32, refill: &str| {
        format!(
            "      - {{ name: {name}, says: Just so., key: global, token_bucket: {{ capacity: {capacity}, refill: 1 per {refill} }} }}\n"
        )
    };
    let limits = [("a", 3, "10s"), ("b", 2, "10s"), ("c", 2, "20s"), ("d", 2, "20s"), ("e", 9, "40s")];
    let limits: String = limits.iter().map(|(name, most, refill)| limit(name, *most, refill)).collect();
    let limiter = by(&format!(
        "headers: [ietf]\nrules:\n  - name: r\n    class: api\n    match: {{ path: /** }}\n    client_sees: all\n    \
         limits:\n{limits}"
    ));
    let names = |response: &Response<Bytes>| {
        let items =
            field(response.headers(), "ratelimit").unwrap().split(", ").map(|item| item.split(';').next());
        items.map(|name| name.unwrap().to_owned()).collect::<Vec<_>>()
    };
    let policies = |response: &Response<Bytes>| {
        field(response.headers(), "ratelimit-policy").unwrap().matches(";q=").count()
    };
    let allowed = send(&limiter, get("/")).await;
    assert_eq!(names(&allowed), [r#""r/b""#, r#""r/c""#, r#""r/d""#, r#""r/a""#, r#""r/e""#]);
    send(&limiter, get("/")).await;
    let refused = send(&limiter, get("/")).await;
    assert_eq!((refused.status().as_u16(), policies(&refused)), (429, 5));
    assert_eq!(names(&refused), [r#""r/c""#, r#""r/d""#, r#""r/b""#]);
}

#[tokio::test]
async fn older_styles_are_there_when_they_are_chosen() {
    let styles = "headers: [draft-03, { x-ratelimit: delta }]\n";
    let limiter = by(&format!("{styles}{}", one_limit(FOUR, "    client_sees: all\n")));
    let response = send(&limiter, get("/")).await;
    let headers = response.headers();
    assert_eq!(field(headers, "ratelimit"), None);
    assert_eq!(field(headers, "ratelimit-limit"), Some("4, 4;w=40"));
    assert_eq!(field(headers, "ratelimit-remaining"), Some("3"));
    assert_eq!(field(headers, "ratelimit-reset"), Some("10"));
    assert_eq!(field(headers, "x-ratelimit-limit"), Some("4"));
    assert_eq!(field(headers, "x-ratelimit-remaining"), Some("3"));
    assert_eq!(field(headers, "x-ratelimit-reset"), Some("10"));
}

#[tokio::test]
async fn epoch_resets_count_from_the_instant_of_the_decision_and_round_up() {
    let at = Timestamp::from_micros(1_700_000_000_000_001).unwrap();
    for (unit, reset) in [("epoch-seconds", "1700000011"), ("epoch-milliseconds", "1700000010001")] {
        let styles = format!("headers: [{{ x-ratelimit: {unit} }}]\n");
        let limiter = by(&format!("{styles}{}", one_limit(FOUR, "    client_sees: all\n")));
        let verdict = limiter.check_at(&anybody(&HeaderMap::new()), at).await;
        let fields = answer_fields(&verdict, &limiter.policy().unwrap().headers);
        assert_eq!(field(&fields, "x-ratelimit-reset"), Some(reset), "{unit}");
    }
}

#[tokio::test]
async fn a_rule_that_tells_less_tells_less() {
    let quiet =
        by(&one_limit("token_bucket: { capacity: 1, refill: 1 per 10s }", "    client_sees: retry_after\n"));
    let allowed = send(&quiet, get("/")).await;
    assert_eq!(field(allowed.headers(), "ratelimit"), None);
    let refused = send(&quiet, get("/")).await;
    assert_eq!(field(refused.headers(), "retry-after"), Some("10"));
    assert_eq!(field(refused.headers(), "ratelimit-policy"), None);
    let body = String::from_utf8(refused.body().to_vec()).unwrap();
    assert!(!body.contains("r/l") && !body.contains("Just so"), "{body}");

    let silent =
        by(&one_limit("token_bucket: { capacity: 1, refill: 1 per 10s }", "    client_sees: nothing\n"));
    send(&silent, get("/")).await;
    let refused = send(&silent, get("/")).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(field(refused.headers(), "retry-after"), None);
    assert!(!String::from_utf8(refused.body().to_vec()).unwrap().contains("10"));
}

/// Guards a money cap against being shown to strangers because its rule tells all of its other limits.
#[tokio::test]
async fn a_limit_that_tells_less_than_its_rule_does() {
    let rule = one_limit(FOUR, "    client_sees: all\n");
    let cap = |sees: &str| {
        let cap = "      - name: spend\n        says: Never more than two in any hour, for everyone together.\n        \
                   key: global\n        sliding_log: { limit: 2, window: 1h }\n";
        by(&format!("headers: [ietf]\n{rule}{cap}{sees}"))
    };
    let open = send(&cap(""), get("/")).await;
    assert!(field(open.headers(), "ratelimit").unwrap().contains("r/spend"), "{open:?}");
    let hidden = cap("        client_sees: retry_after\n");
    for _ in 0..2 {
        let allowed = send(&hidden, get("/")).await;
        assert_eq!(field(allowed.headers(), "ratelimit-policy"), Some("\"r/l\";q=4;w=40"));
        assert!(!field(allowed.headers(), "ratelimit").unwrap().contains("spend"));
    }
    let refused = send(&hidden, get("/")).await;
    assert_eq!((refused.status().as_u16(), field(refused.headers(), "retry-after")), (429, Some("3600")));
    let told = format!("{:?} {}", refused.headers(), String::from_utf8_lossy(refused.body()));
    assert!(!told.contains("spend") && !told.contains("any hour"), "{told}");
}

#[tokio::test]
async fn what_the_service_behind_says_of_its_own_limits_stays() {
    let limiter = by(&format!(
        "headers: [ietf, {{ x-ratelimit: delta }}]\n{}",
        one_limit(FOUR, "    client_sees: all\n")
    ));
    let speaks = service_fn(|_: Request<ReplayedBody<Full<Bytes>>>| async {
        let mut response = Response::new(Full::new(Bytes::new()));
        response.headers_mut().insert("ratelimit", "\"own\";r=1;t=5".parse().unwrap());
        response.headers_mut().insert("x-ratelimit-remaining", "1".parse().unwrap());
        Ok::<_, Infallible>(response)
    });
    let mut service = LimitLayer::new(limiter).layer(speaks);
    let response = service.ready().await.unwrap().call(get("/")).await.unwrap();
    let lines: Vec<_> = response.headers().get_all("ratelimit").iter().collect();
    assert_eq!(lines, ["\"own\";r=1;t=5", "\"r/l\";r=3;t=10"]);
    assert_eq!(field(response.headers(), "x-ratelimit-remaining"), Some("1"));
    assert_eq!(field(response.headers(), "x-ratelimit-limit"), None);
}
