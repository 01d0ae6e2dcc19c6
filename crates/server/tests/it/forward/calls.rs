//! The two routes, asked as proxies ask.

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::Value;
use tidegate::{Limiter, MemoryOptions, MemoryStore, StoreError};
use tidegate_server::api::Token;
use tidegate_store::faulty::Faulty;

use super::world::{Answer, Api, Client, parsed, policy};
use crate::tls::Folder;

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const SECRET: &str = "0123456789abcdef-a-secret";

/// What a proxy sends on behalf of a client.
fn told(method: &str, uri: &str, client: &str) -> String {
    format!(
        "X-Forwarded-Method: {method}\r\nX-Forwarded-Uri: {uri}\r\nX-Forwarded-Host: site.test\r\n\
         X-Forwarded-For: {client}\r\n"
    )
}

async fn ask(api: &Api, route: &str, fields: &str) -> Answer {
    Client::from(LOOPBACK, api.address()).await.send("GET", route, fields, "").await
}

fn rules(rules: &str) -> String {
    format!("tidegate: 1\napi: {{ listen: 127.0.0.1:0 }}\ntrusted_proxies: [127.0.0.1]\n{rules}")
}

/// A policy of one limit, in one line.
fn limit(key: &str, algorithm: &str) -> String {
    rules(&format!(
        "keys: {{ who: {key} }}\nrules: [{{ name: all, match: {{ method: POST, host: site.test, path: /a }}, \
         on_missing_key: refuse, limits: [{{ name: one, key: who, {algorithm} }}] }}]"
    ))
}

const ONE: &str = "says: One every hour., sliding_log: { limit: 1, window: 1h }";

fn problem(answer: &Answer) -> Value {
    assert_eq!(answer.field("content-type"), Some("application/problem+json"), "{answer:?}");
    let problem: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(problem["status"], answer.status());
    problem
}

#[tokio::test]
async fn any_method_asks_and_an_admitted_request_has_its_fields() {
    let api = Api::by(&policy(), None).await;
    let mut client = Client::from(LOOPBACK, api.address()).await;
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    for (used, method) in (1..).zip(methods) {
        let answer = client.send(method, "/auth", &told("POST", "/", "192.0.2.7"), "").await;
        assert_eq!(answer.status(), 200, "{method} {answer:?}");
        assert_eq!(answer.remaining(), 20 - used, "{method}");
        assert!(answer.field("ratelimit-policy").unwrap().starts_with("\"site/per-client\";q=20"));
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(answer.body, "", "{method}");
    }
    // Clients are told apart by whom the proxy names.
    assert_eq!(client.send("GET", "/auth", &told("GET", "/", "192.0.2.8"), "").await.remaining(), 19);
}

#[tokio::test]
async fn a_refusal_is_the_gateways_or_what_nginx_can_use() {
    let api = Api::by(
        &limit("global", ONE).replace("keys: { who: global }\n", "").replace("key: who", "key: global"),
        None,
    )
    .await;
    let post = told("POST", "/a?b", "192.0.2.7");
    assert_eq!(ask(&api, "/auth", &post).await.status(), 200);
    let whole = ask(&api, "/auth", &post).await;
    assert_eq!(whole.status(), 429);
    let wait: u32 = whole.field("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    let body = problem(&whole);
    assert_eq!((&body["title"], &body["limit"]), (&"Quota Exceeded".into(), &"all/one".into()));
    assert_eq!(whole.field("cache-control"), Some("no-store"));
    let length = whole.body.len().to_string();
    let head = Client::from(LOOPBACK, api.address()).await.send("HEAD", "/auth", &post, "").await;
    assert_eq!((head.status(), head.field("content-length")), (429, Some(&*length)));

    let short = ask(&api, "/auth/nginx", &post).await;
    assert_eq!((short.status(), short.field("x-ratelimit-status")), (403, Some("429")));
    assert!(short.field("retry-after").is_some() && short.remaining() == 0, "{short:?}");
    assert_eq!((&*short.body, short.field("content-type")), ("", None));
    // Another method and another path are no matter of the rule.
    for other in [told("GET", "/a", "192.0.2.7"), told("POST", "/b", "192.0.2.7")] {
        let answer = ask(&api, "/auth/nginx", &other).await;
        assert_eq!((answer.status(), answer.field("x-ratelimit-status")), (200, None));
    }
}

#[tokio::test]
async fn what_no_limit_decides_is_answered_as_by_the_gateway() {
    let api = Api::by(&policy(), None).await;
    let closed = told("GET", "/internal/x", "192.0.2.7");
    let whole = ask(&api, "/auth", &closed).await;
    assert_eq!((whole.status(), &problem(&whole)["detail"]), (403, &"Not for the public.".into()));
    let short = ask(&api, "/auth/nginx", &closed).await;
    assert_eq!((short.status(), short.field("x-ratelimit-status")), (403, Some("403")));

    let api = Api::by(&limit("{ json: /account }", ONE), None).await;
    let post = told("POST", "/a", "192.0.2.7") + "Content-Type: application/json\r\n";
    let mut client = Client::from(LOOPBACK, api.address()).await;
    // A body of the call is no body of the request.
    let whole = client.send("POST", "/auth", &post, "{\"account\":\"ada\"}").await;
    assert_eq!(whole.status(), 400, "{whole:?}");
    assert!(problem(&whole)["detail"].as_str().unwrap().contains("is missing"));
    let short = ask(&api, "/auth/nginx", &post).await;
    assert_eq!((short.status(), short.field("x-ratelimit-status")), (403, Some("400")));
}

#[tokio::test]
async fn a_lost_store_is_a_503_to_rules_that_deny() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = Limiter::from_policy_with(parsed(&policy()), store.clone()).unwrap();
    let api = Api::of(limiter, None).await;
    store.fail(StoreError::unavailable("unplugged"));
    let call = told("GET", "/", "192.0.2.7");
    let whole = ask(&api, "/auth", &call).await;
    assert_eq!((whole.status(), whole.field("retry-after")), (503, Some("1")));
    assert_eq!(problem(&whole)["title"], "Temporary Reduced Capacity");
    let short = ask(&api, "/auth/nginx", &call).await;
    assert_eq!((short.status(), short.field("x-ratelimit-status")), (403, Some("503")));
    assert_eq!(short.field("retry-after"), Some("1"));
}

/// Guards against anybody who says that he is a proxy, and so uses up whose quota he likes.
#[tokio::test]
async fn nobody_but_a_trusted_proxy_is_answered() {
    let api = Api::by(&policy(), None).await;
    let call = told("GET", "/", "192.0.2.7");
    let mut stranger = Client::from([127, 0, 0, 2].into(), api.address()).await;
    for (route, status) in [("/auth", None), ("/auth/nginx", Some("403"))] {
        let answer = stranger.send("GET", route, &call, "").await;
        assert_eq!((answer.status(), answer.field("x-ratelimit-status")), (403, status));
        if route == "/auth" {
            let detail = problem(&answer)["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("`trusted_proxies: [127.0.0.2]`"), "{detail}");
        }
    }
    assert_eq!(ask(&api, "/auth", &call).await.remaining(), 19, "nothing was charged");

    // Where hops are counted, whoever reaches the listener is one.
    let hops = policy().replace("trusted_proxies: [127.0.0.1]", "trusted_proxies: { hops: 1 }");
    let api = Api::by(&hops, None).await;
    let mut first = Client::from([127, 0, 0, 2].into(), api.address()).await;
    let spoofed = told("GET", "/", "198.51.100.1, 192.0.2.7");
    assert_eq!(first.send("GET", "/auth", &spoofed, "").await.remaining(), 19);
    assert_eq!(ask(&api, "/auth", &call).await.remaining(), 18, "both are of 192.0.2.7");
}

#[tokio::test]
async fn a_call_that_does_not_tell_the_request_is_refused_with_the_remedy() {
    let api = Api::by(&policy(), None).await;
    for (fields, says) in [
        ("X-Forwarded-Uri: /\r\n", "x-forwarded-method"),
        ("X-Original-Method: GET\r\n", "x-forwarded-uri"),
        ("X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\nX-Original-URI: /b\r\n", "different things"),
    ] {
        let whole = ask(&api, "/auth", fields).await;
        assert_eq!(whole.status(), 400);
        let detail = problem(&whole)["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(says), "{detail}");
        let short = ask(&api, "/auth/nginx", fields).await;
        assert_eq!((short.status(), short.field("x-ratelimit-status")), (403, Some("400")));
    }
}

#[tokio::test]
async fn the_token_comes_in_a_field_of_its_own_and_authorization_is_the_clients() {
    let folder = Folder::new("forward-token");
    let token = Token::read(folder.write("token", SECRET)).unwrap();
    let api = Api::by(&limit("{ header: authorization }", ONE), Some(token)).await;
    let post = |more: &str| told("POST", "/a", "192.0.2.7") + more;
    let right = format!("X-Tidegate-Token: {SECRET}\r\n");
    let wrong = [
        String::new(),
        "X-Tidegate-Token: \r\n".to_owned(),
        format!("X-Tidegate-Token: {SECRET}0\r\n"),
        format!("{right}{right}"),
        format!("Authorization: Bearer {SECRET}\r\n"),
    ];
    for route in ["/auth", "/auth/nginx"] {
        for given in &wrong {
            let answer = ask(&api, route, &post(given)).await;
            assert_eq!(answer.status(), 401, "{route} {given}");
            assert!(answer.field("www-authenticate").is_some());
            assert!(problem(&answer)["detail"].as_str().unwrap().contains("`x-tidegate-token`"));
        }
    }
    let of = |who: &str| post(&format!("{right}Authorization: Bearer {who}\r\n"));
    for (who, status) in [("ada-0123456789", 200), ("ada-0123456789", 429), ("bob-0123456789", 200)] {
        assert_eq!(ask(&api, "/auth", &of(who)).await.status(), status, "{who}");
    }
}

/// Guards against a key that everybody has: the proxy's token.
#[tokio::test]
async fn the_token_is_no_field_of_the_client() {
    let api = Api::by(&limit("{ header: x-tidegate-token }", ONE), None).await;
    let call = told("POST", "/a", "192.0.2.7") + "X-Tidegate-Token: anything\r\n";
    let answer = ask(&api, "/auth", &call).await;
    assert_eq!(answer.status(), 400, "{answer:?}");
}

#[tokio::test]
async fn keys_are_read_from_the_clients_own_fields() {
    for (key, of) in
        [("{ header: x-api-key }", "X-Api-Key: "), ("{ cookie: session }", "Cookie: a=b; session=")]
    {
        let api = Api::by(&limit(key, ONE), None).await;
        let call = |who: &str| told("POST", "/a", "192.0.2.7") + of + who + "\r\n";
        for (who, status) in [("ada", 200), ("ada", 429), ("bob", 200)] {
            assert_eq!(ask(&api, "/auth", &call(who)).await.status(), status, "{key} {who}");
        }
    }
}

/// Guards against a proxy that goes on at once with what should have waited.
#[tokio::test]
async fn what_would_have_to_wait_is_refused() {
    let paced =
        "says: \"One every hour, with up to ten waiting.\", leaky_bucket: { rate: 1 per 1h, queue: 10 }";
    let api = Api::by(&limit("{ header: x-api-key }", paced), None).await;
    let call = told("POST", "/a", "192.0.2.7") + "X-Api-Key: ada\r\n";
    assert_eq!(ask(&api, "/auth", &call).await.status(), 200);
    let answer = ask(&api, "/auth", &call).await;
    assert_eq!(answer.status(), 429, "{answer:?}");
    assert!(answer.field("retry-after").is_some());
}
