//! One policy, two doors: a described request and a real one get the same verdict and the same fields.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use tidegate_tower::{LimitLayer, PeerAddr};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use super::world::{Served, limiter};

const RULES: &str = r#"
headers: [ietf, draft-03]
trusted_proxies: [198.51.100.0/24]
keys:
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
  account: { json: /account }
  name: { form: name }
  tenant: { path: tenant }
rules:
  - name: edge
    class: edge
    match: { path: /** }
    limits:
      - name: per-client
        says: Three at once, then one every 24 hours, per client.
        key: client
        token_bucket: { capacity: 3, refill: 1 per 24h }
  - name: verify
    class: verify
    match: [{ method: POST, path: /verify }, { host: verify.example.com }]
    on_store_failure: deny
    limits:
      - name: per-account
        says: Never more than one in any 24 hours, per account.
        key: account
        sliding_log: { limit: 1, window: 24h }
  - name: form
    class: login
    match: { path: /form }
    on_store_failure: deny
    limits:
      - name: per-name
        says: Never more than one in any 24 hours, per name.
        key: name
        sliding_log: { limit: 1, window: 24h }
  - name: tenants
    class: api
    match: { path: "/tenants/{tenant}" }
    limits:
      - name: per-tenant
        says: Never more than one in any 24 hours, per tenant.
        key: tenant
        sliding_log: { limit: 1, window: 24h }
"#;

/// What both doors are asked, one after the other.
fn calls() -> Vec<Value> {
    let verify = |client: &str, account: &str| {
        json!({
            "method": "POST", "path": "/verify", "client": client,
            "headers": { "content-type": "application/json" }, "body": json!({ "account": account }).to_string(),
        })
    };
    let form = json!({ "content-type": "application/x-www-form-urlencoded" });
    let forwarded = json!({ "x-forwarded-for": ["203.0.113.9", "192.0.2.77"] });
    vec![
        verify("192.0.2.1", "ada"),
        verify("192.0.2.1", "ada"),
        verify("192.0.2.1", ""),
        json!({ "method": "POST", "path": "/verify", "client": "192.0.2.2", "body": "{\"account\":\"a\",\"account\":\"b\"}" }),
        json!({ "host": "verify.example.com", "client": "192.0.2.2" }),
        json!({ "path": "//verify", "method": "POST", "client": "192.0.2.2", "body": "{\"account\":\"bob\"}" }),
        json!({ "path": "/form", "method": "POST", "client": "192.0.2.3", "headers": form, "body": "name=ada" }),
        json!({ "path": "/form", "method": "POST", "client": "192.0.2.3", "headers": form, "body": "name=%61da" }),
        json!({ "path": "/form", "method": "POST", "client": "192.0.2.3", "headers": form, "body": "name=a&name=b" }),
        json!({ "path": "/tenants/1", "client": "2001:db8::1" }),
        json!({ "path": "/tenants/%31", "client": "2001:db8::2" }),
        json!({ "path": "/tenants/1%2f2", "client": "2001:db8::2" }),
        json!({ "path": "/other", "client": "198.51.100.1", "headers": forwarded }),
        json!({ "path": "/other", "client": "198.51.100.2", "headers": forwarded }),
        json!({ "path": "/other", "client": "192.0.2.77", "query": "a=1" }),
        json!({ "path": "/other", "client": "192.0.2.77" }),
        json!({ "path": "/other", "client": "::ffff:192.0.2.77" }),
    ]
}

/// Builds the request a call describes.
fn request(call: &Value) -> Request<Full<Bytes>> {
    let text = |name: &str| call[name].as_str();
    let target = format!("{}?{}", text("path").unwrap_or("/"), text("query").unwrap_or_default());
    let mut request = Request::builder().method(text("method").unwrap_or("GET")).uri(target);
    if let Some(host) = text("host") {
        request = request.header("host", host);
    }
    for (name, values) in call["headers"].as_object().into_iter().flatten() {
        let values = values.as_array().cloned().unwrap_or_else(|| vec![values.clone()]);
        request = values.iter().fold(request, |request, value| request.header(name, value.as_str().unwrap()));
    }
    let peer: IpAddr = text("client").unwrap().parse().unwrap();
    let body = text("body").unwrap_or_default().to_owned();
    request.extension(PeerAddr(peer.to_canonical())).body(Full::from(body)).unwrap()
}

/// Returns the fields a client is told its standing by, those of one name joined.
fn standing(headers: &HeaderMap) -> Value {
    let mut found = serde_json::Map::new();
    for name in headers.keys().filter(|name| name.as_str().starts_with("ratelimit") || *name == "retry-after")
    {
        let values: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        found.insert(name.to_string(), json!(values.join(", ")));
    }
    Value::Object(found)
}

#[tokio::test]
async fn the_api_rules_as_the_gateway_does() {
    let api = Served::start(tidegate_server::api::service(limiter(RULES), None)).await;
    let answer = |_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) };
    let gateway = ServiceBuilder::new().layer(LimitLayer::new(limiter(RULES))).service(service_fn(answer));
    let mut statuses = Vec::new();
    for call in calls() {
        let verdict = api.check(call.clone()).await;
        let response = gateway.clone().oneshot(request(&call)).await.unwrap();
        let ruling = match response.status().as_u16() {
            200 => "allow",
            400 => "bad_request",
            429 => "refuse",
            other => panic!("{other} for {call}"),
        };
        assert_eq!(verdict["ruling"], ruling, "{call} {verdict}");
        let told = standing(response.headers());
        // A day is long enough for two clocks, read one after the other, to round to different seconds: names suffice.
        let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&verdict["headers"]), names(&told), "{call}");
        assert_eq!(verdict["headers"]["ratelimit-policy"], told["ratelimit-policy"], "{call}");
        statuses.push(ruling);
    }
    for ruling in ["allow", "bad_request", "refuse"] {
        assert!(statuses.contains(&ruling), "the table must exercise {ruling}");
    }
}
