//! Unlocking somebody: `POST /reset` of the operator's endpoint, over real sockets.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tidegate_server::net::ServeOptions;
use tokio::net::TcpStream;
use tower::service_fn;

use super::world::{Running, get, post};
use crate::support::{Gateway, Raw, field, status};
use crate::tls::Folder;

const POLICY: &str = r#"
keys:
  username: { json: /username, normalize: [trim, lowercase] }
  device: { header: x-device }
  login: { first_of: [device, username] }
  plan: { header: x-plan }
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
rules:
  - name: login
    class: login
    client_sees: all
    on_store_failure: deny
    match: { method: POST, path: /login }
    on_missing_key: skip
    limits:
      - name: lock
        says: Two wrong passwords within 30 minutes, then locked for 30 minutes, per username.
        key: username
        count: { failures: true, success: { status: 200 }, on_success: reset }
        lockout: { attempts: 2, within: 30m, lock: 30m }
  - name: routes
    mode: shadow
    match: { path: /nowhere }
    limits:
      - { name: each, says: "Up to 9 a minute, per username and route.", key: [username, route], sliding_counter: { limit: 9, window: 1m } }
  - name: choice
    class: login
    client_sees: all
    on_store_failure: deny
    match: { method: POST, path: /choice }
    limits:
      - { name: first, says: "Never more than one in any day, per login.", key: login, sliding_log: { limit: 1, window: 24h } }
  - name: plans
    class: login
    client_sees: all
    on_store_failure: deny
    match: { method: POST, path: /plans }
    limits:
      - name: day
        key: username
        plan: { by: plan, values: { gold: gold }, default: free }
        plans:
          free: { says: "Never more than 2 in any day, per username.", sliding_log: { limit: 2, window: 24h } }
          gold: { says: "Three at once, then one a day, per username.", token_bucket: { capacity: 3, refill: 1 per 24h } }
  - name: everyone
    class: login
    client_sees: all
    on_store_failure: deny
    match: { method: POST, path: /everyone }
    limits:
      - { name: all, says: "Never more than one in any day, for everyone.", key: global, sliding_log: { limit: 1, window: 24h } }
"#;

/// A gateway before an upstream that knows one password, and its operator's endpoint.
struct World {
    running: Running,
}

impl World {
    async fn new(admin: &str) -> Self {
        let upstream = Gateway::around(service_fn(log_in), ServeOptions::default()).await;
        let policy = format!("admin: {{ listen: 127.0.0.1:0{admin} }}{POLICY}");
        Self { running: Running::before(upstream, &policy).await }
    }

    /// Sends a request through the gateway and returns its status.
    async fn send(&self, path: &str, headers: &str, body: &Value) -> u16 {
        let request = with(&post(path, body.to_string()), headers);
        ask(self.running.gateway(), &request).await.0
    }

    async fn log_in(&self, name: &str, password: &str) -> u16 {
        self.send("/login", "", &json!({ "username": name, "password": password })).await
    }

    async fn reset_with(&self, headers: &str, call: &Value) -> (u16, Value) {
        let request = with(&post("/reset", call.to_string()), headers);
        let (status, body) = ask(self.running.at.admin.unwrap(), &request).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    async fn reset(&self, limit: &str, keys: Value) -> (u16, Value) {
        self.reset_with("", &json!({ "limit": limit, "keys": keys })).await
    }
}

/// Adds header lines to a request.
fn with(request: &[u8], headers: &str) -> Vec<u8> {
    let text = String::from_utf8(request.to_vec()).unwrap();
    text.replacen("\r\n\r\n", &format!("\r\n{headers}\r\n"), 1).into_bytes()
}

async fn ask(address: SocketAddr, request: &[u8]) -> (u16, String) {
    let mut client = Raw::new(TcpStream::connect(address).await.unwrap());
    client.send(request).await;
    let head = client.read_head().await;
    let length = field(&head, "content-length").unwrap().parse().unwrap();
    (status(&head), String::from_utf8(client.read_exact(length).await).unwrap())
}

async fn log_in(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let form: Value = serde_json::from_slice(&body).unwrap();
    let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
    if form["password"] == "wrong" {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    Ok(response)
}

/// Guards against a reset that counts on the name as it is typed, and so opens nothing, or that opens everybody.
#[tokio::test]
async fn a_locked_account_is_opened_by_any_spelling_and_no_other_with_it() {
    let world = World::new("").await;
    for name in ["ada", "grace"] {
        for expected in [401, 401, 429] {
            assert_eq!(world.log_in(name, "wrong").await, expected);
        }
        assert_eq!(world.log_in(name, "right").await, 429, "{name} is locked, whatever the password");
    }
    let (status, answer) = world.reset("login/lock", json!({ "username": " ADA " })).await;
    assert_eq!((status, &answer["reset"], &answer["limit"]), (200, &json!(true), &json!("login/lock")));
    assert_eq!(world.log_in("ada", "right").await, 200);
    assert_eq!(world.log_in("grace", "right").await, 429);
    // The name of the key is the one that everything else tells.
    let why = json!({ "method": "POST", "path": "/login", "keys": { "username": "ada" } });
    let (_, why) = ask(world.running.at.api.unwrap(), &post("/v1/why", why.to_string())).await;
    let why: Value = serde_json::from_str(&why).unwrap();
    assert!(answer["key"].as_str().unwrap().starts_with("hmac:"), "{answer}");
    assert_eq!(why["rules"][0]["limits"][0]["identity"], answer["key"]);
    let (_, metrics) = ask_to_close(world.running.at.admin.unwrap(), "/metrics").await;
    assert!(metrics.contains("tidegate_resets_total{limit=\"login/lock\"} 1\n"), "{metrics}");
    assert!(metrics.contains("tidegate_resets_total{limit=\"choice/first\"} 0\n"), "{metrics}");
}

async fn ask_to_close(address: SocketAddr, path: &str) -> (u16, String) {
    let mut client = Raw::new(TcpStream::connect(address).await.unwrap());
    client.send(get(path, "connection: close\r\n")).await;
    let all = client.read_to_close().await;
    (status(&all), all)
}

/// Guards against a reset that says it is done and has looked at another key than it was asked for.
#[tokio::test]
async fn what_cannot_be_reset_is_refused_with_what_there_is() {
    let world = World::new("").await;
    let (status, problem) = world.reset("login/lok", json!({ "username": "ada" })).await;
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(status, 404);
    assert!(detail.contains("\"login/lok\"") && detail.contains("login/lock, routes/each"), "{detail}");
    for (limit, keys, member, says) in [
        ("login/lock", json!({}), "keys", "username is missing or empty"),
        ("login/lock", json!({ "username": "  " }), "keys", "username is missing or empty"),
        ("login/lock", json!({ "user": "ada" }), "keys.user", "it reads username"),
        ("login/lock", json!({ "username": "a\u{0}" }), "keys", "username "),
        ("choice/first", json!({}), "keys", "login is missing or empty"),
        ("choice/first", json!({}), "keys", "it reads device, username"),
        // A request without a rule would have a route as well.
        ("routes/each", json!({ "username": "ada" }), "keys", "route is missing"),
        ("everyone/all", json!({ "username": "ada" }), "keys.username", "counts everyone together"),
    ] {
        let (status, problem) = world.reset(limit, keys).await;
        assert_eq!((status, problem["member"].as_str()), (422, Some(member)), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    let (status, problem) = world.reset_with("", &json!({ "limit": "routes/each", "key": "ada" })).await;
    assert_eq!((status, problem["member"].as_str()), (422, Some("key")), "{problem}");
}

/// Guards against a key by the first alternative where the request was counted on the second.
#[tokio::test]
async fn a_first_of_is_given_by_the_key_that_was_counted() {
    let world = World::new("").await;
    let (ada, device) = (json!({ "username": "ada" }), "x-device: ada\r\n");
    for headers in ["", device] {
        assert_eq!(world.send("/choice", headers, &ada).await, 200);
        assert_eq!(world.send("/choice", headers, &ada).await, 429);
    }
    assert_eq!(world.reset("choice/first", json!({ "username": "Ada" })).await.0, 200);
    assert_eq!(world.send("/choice", device, &ada).await, 429, "the device of the same name is another key");
    assert_eq!(world.send("/choice", "", &ada).await, 200);
    assert_eq!(world.reset("choice/first", json!({ "device": "ada" })).await.0, 200);
    assert_eq!(world.send("/choice", device, &ada).await, 200);
}

/// Guards what a plan that was left still remembers: the log of the free plan stands beside the bucket of the other.
#[tokio::test]
async fn a_limit_with_plans_forgets_the_key_under_all_of_them() {
    let world = World::new("").await;
    let (ada, gold) = (json!({ "username": "ada" }), "x-plan: gold\r\n");
    for expected in [200, 200, 429] {
        assert_eq!(world.send("/plans", "", &ada).await, expected);
    }
    assert_eq!(world.send("/plans", gold, &ada).await, 200, "the bucket holds one more");
    assert_eq!(world.send("/plans", gold, &ada).await, 429);
    assert_eq!(world.reset("plans/day", json!({ "username": "ada" })).await.0, 200);
    for (headers, expected) in [("", 200), ("", 200), ("", 429)] {
        assert_eq!(world.send("/plans", headers, &ada).await, expected);
    }
    assert_eq!(world.reset("plans/day", json!({ "username": "ada" })).await.0, 200);
    for expected in [200, 200, 200, 429] {
        assert_eq!(world.send("/plans", gold, &ada).await, expected);
    }
}

/// A limit for everyone is reset without a key, and has no name for one.
#[tokio::test]
async fn a_limit_for_everyone_needs_no_key() {
    let world = World::new("").await;
    let nobody = json!({});
    assert_eq!(world.send("/everyone", "", &nobody).await, 200);
    assert_eq!(world.send("/everyone", "", &nobody).await, 429);
    let answer = world.reset_with("", &json!({ "limit": "everyone/all" })).await;
    assert_eq!(answer, (200, json!({ "reset": true, "limit": "everyone/all", "key": null })));
    assert_eq!(world.send("/everyone", "", &nobody).await, 200);
}

/// Guards against anybody who can reach the port opening every account.
#[tokio::test]
async fn a_token_is_demanded_where_there_is_one() {
    let folder = Folder::new("reset-token");
    let token = folder.write("token", "a-token-of-the-operator");
    let world = World::new(&format!(", token_file: {}", token.display())).await;
    let call = json!({ "limit": "login/lock", "keys": { "username": "ada" } });
    assert_eq!(world.reset_with("", &call).await.0, 401);
    let right = "authorization: Bearer a-token-of-the-operator\r\n";
    assert_eq!(world.reset_with(right, &call).await.0, 200);
}

/// Guards an operator whose browser opens somebody's page: it could ask an endpoint without a token on this machine.
#[tokio::test]
async fn a_web_page_unlocks_nobody_and_reloads_nothing() {
    let world = World::new("").await;
    let call = json!({ "limit": "login/lock", "keys": { "username": "ada" } });
    assert_eq!(world.reset_with("", &call).await.0, 200);
    for origin in ["https://evil.example", "null", "http://127.0.0.1:8083"] {
        let (status, problem) = world.reset_with(&format!("origin: {origin}\r\n"), &call).await;
        assert_eq!(status, 403, "{problem}");
        let reload = with(&post("/reload", ""), &format!("origin: {origin}\r\n"));
        assert_eq!(ask(world.running.at.admin.unwrap(), &reload).await.0, 403);
    }
}
