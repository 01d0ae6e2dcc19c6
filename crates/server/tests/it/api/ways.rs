//! The two ways to serve the API: before its router, and by it alone. Whatever is called, they answer alike.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tidegate_server::api;

use super::check::{VERIFY, verify, with};
use super::token::token;
use super::world::{Answer, Served, limiter};

/// A call: its method, path and body, and a field besides.
type Call = (Method, &'static str, String, Option<(&'static str, &'static str)>);

fn calls() -> Vec<Call> {
    let check = |body: String| (Method::POST, "/v1/check", body, None);
    let typed = |kind| (Method::POST, "/v1/check", verify("ada").to_string(), Some(("content-type", kind)));
    let auth = |method, uri| (method, "/auth", String::new(), Some(("x-forwarded-uri", uri)));
    let escaped = verify("ada").to_string().replace("/otp", "\\/\\u006ftp");
    let mut calls = vec![
        check(verify("ada").to_string()),
        check(escaped),
        check(verify("ada").to_string()),
        check(with(verify("bob"), &json!({ "peek": true })).to_string()),
        check(
            with(verify("bob"), &json!({ "headers": { "content-type": ["application/json"] } })).to_string(),
        ),
        check(with(verify("bob"), &json!({ "path": "/%zz" })).to_string()),
        check(String::new()),
        check("{".to_owned()),
        check("[]".to_owned()),
        check("{} {}".to_owned()),
        check("{\"path\":7}".to_owned()),
        check("{\"path\":\"/a\",\"path\":\"/a\"}".to_owned()),
        check("{\"headers\":{\"a\":[7]}}".to_owned()),
        check(format!("{{\"body\":\"{}\"}}", "a".repeat(1 << 20))),
        typed("text/plain"),
        typed("application/json; charset=utf-8"),
        (Method::POST, "/v1/check", "{}".to_owned(), Some(("content-encoding", "gzip"))),
        (Method::POST, "/v1/check", "{}".to_owned(), Some(("authorization", "Bearer no"))),
        (Method::POST, "/v1/check?a=b", "{}".to_owned(), None),
        (Method::POST, "/auth", String::new(), Some(("authorization", "Bearer no"))),
    ];
    calls.extend([Method::GET, Method::PUT].map(|it| (it, "/v1/check", String::new(), None)));
    calls.extend(
        ["/v1/check/", "/v1//check", "/v1/chec%6b", "/auth/", "/"]
            .map(|path| (Method::POST, path, "{}".to_owned(), None)),
    );
    calls.extend([Method::GET, Method::POST, Method::HEAD].map(|method| auth(method, "/otp/verify")));
    calls.extend(["", "/a b", "http://b/%zz"].map(|uri| auth(Method::GET, uri)));
    calls
}

async fn ask(api: &Served, (method, path, body, field): Call, secret: Option<&str>) -> Answer {
    let mut request = Request::builder().method(method).uri(path).header("x-forwarded-method", "POST");
    request = request.header("x-forwarded-for", "192.0.2.7").header("x-forwarded-host", "site.test");
    if field.is_none_or(|(name, _)| name != "content-type") {
        request = request.header("content-type", "application/json");
    }
    if let Some(secret) = secret.filter(|_| field.is_none_or(|(name, _)| name != "authorization")) {
        request = request.header("authorization", format!("Bearer {secret}"));
        request = request.header("x-tidegate-token", secret);
    }
    request = field.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    api.send(request.body(Full::new(Bytes::from(body))).unwrap()).await
}

/// Takes out what differs between any two answers: receipts, and what tells of times.
fn without_times(value: &mut Value) {
    let tells = |name: &str| {
        ["_micros", "_seconds", "_ms"].iter().any(|end| name.ends_with(end))
            || ["receipt", "explain", "headers", "retry-after"].contains(&name)
    };
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !tells(name));
            members.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Returns what is the same in every answer to a call.
fn gist(answer: &Answer) -> String {
    let mut fields: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, value)| {
            let is_told = !["date", "ratelimit", "retry-after", "content-length"].contains(&name.as_str());
            format!("{name}: {}", if is_told { value.to_str().unwrap() } else { "" })
        })
        .collect();
    fields.sort();
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    without_times(&mut body);
    format!("{} {fields:?} {} {body}", answer.status, !answer.body.is_empty())
}

/// Guards against a way that is quicker and answers otherwise.
#[tokio::test]
async fn a_check_before_the_router_is_answered_as_the_router_answers_it() {
    const SECRET: &str = "0123456789abcdef-a-secret";
    let rules = format!("trusted_proxies: [127.0.0.1]\n{VERIFY}");
    for secret in [None, Some(SECRET)] {
        let demanded = |name| secret.map(|_| token(name));
        let before = Served::start(api::service(limiter(&rules), demanded("before"))).await;
        let router = Served::start(api::router(limiter(&rules), demanded("router"))).await;
        let mut statuses = Vec::new();
        for call in calls() {
            let (one, other) =
                (ask(&before, call.clone(), secret).await, ask(&router, call.clone(), secret).await);
            assert_eq!(gist(&one), gist(&other), "{call:?} {secret:?}");
            statuses.push(one.status.as_u16());
        }
        for status in [200, 400, 404, 405, 413, 415, 422] {
            assert!(statuses.contains(&status), "{status}: {statuses:?}");
        }
        assert_eq!(statuses.contains(&401), secret.is_some(), "{statuses:?}");
    }
}
