//! The application while its store does not answer: what requests, probes, metrics and webhooks are told.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tidegate::{MemoryOptions, MemoryStore, StoreError};
use tidegate_server::alerts::AlertOptions;
use tidegate_server::app::{Addresses, App};
use tidegate_store::faulty::Faulty;
use tokio::sync::oneshot;

use super::reload::upstream;
use crate::alerts::Receiver;
use crate::support::{Gateway, soon};

/// An application over a store that fails on command, with a receiver of its alerts.
struct World {
    at: Addresses,
    store: Arc<Faulty<MemoryStore>>,
    receiver: Receiver,
    _upstream: Gateway,
    _stop: oneshot::Sender<()>,
}

const RULES: &str = "
keys: { who: { query: who } }
rules:
  - name: verify
    class: verify
    match: { path: /verify }
    on_store_failure: deny
    limits:
      - { name: l, says: Two in any hour for everyone., key: global, sliding_log: { limit: 2, window: 1h } }
  - name: read
    class: api
    match: { path: /read }
    on_store_failure: allow
    limits:
      - name: l
        says: Ten in any hour for each one.
        key: who
        alert_at: 80%
        sliding_log: { limit: 10, window: 1h }
";

impl World {
    /// Starts the application; the store is `absent` from its beginning or answers.
    async fn start(absent: bool) -> Self {
        let upstream = upstream().await;
        let receiver = Receiver::start().await;
        let text = format!(
            "tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}\n\
             admin: {{ listen: 127.0.0.1:0 }}\nhealth: {{ listen: 127.0.0.1:0 }}{RULES}",
            upstream.address
        );
        let policy = tidegate_policy::parse("test.yaml", &text).unwrap_or_else(|wrong| panic!("{wrong}"));
        let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
        if absent {
            store.fail(gone());
        }
        let alerts = AlertOptions {
            webhooks: vec![receiver.url().parse().unwrap()],
            every: Duration::from_mins(10),
            labels: Vec::new(),
        };
        let app = App::bind_on(policy, Arc::clone(&store) as _, Some(alerts)).await.unwrap();
        let at = app.addresses().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, store, receiver, _upstream: upstream, _stop: stop }
    }

    async fn get(&self, path: &str) -> (StatusCode, HeaderMap, String) {
        get(&format!("http://{}{path}", self.at.gateway.unwrap())).await
    }

    async fn ready(&self) -> (StatusCode, Value) {
        let (status, _, body) = get(&format!("http://{}/readyz", self.at.health.unwrap())).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    /// Waits until readiness says so, and returns it.
    async fn until(&self, status: &str) -> Value {
        soon(async {
            loop {
                let (code, ready) = self.ready().await;
                assert_eq!(code, StatusCode::OK, "a lost store must not take every instance out at once");
                if ready["status"] == status {
                    return ready;
                }
                crate::support::moment().await;
            }
        })
        .await
    }
}

async fn get(uri: &str) -> (StatusCode, HeaderMap, String) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let request = Request::builder().method(Method::GET).uri(uri).body(Empty::new()).unwrap();
    let (head, body) = soon(client.request(request)).await.unwrap().into_parts();
    let body = soon(body.collect()).await.unwrap().to_bytes();
    (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
}

fn gone() -> StoreError {
    StoreError::unavailable("connection to 203.0.113.5:6379 refused")
}

/// Guards a start without the store: nobody has to come before it is told of, each rule goes by its own choice, and its
/// coming needs no restart. The address of the store is the operator's, and not for whoever may probe.
#[tokio::test]
async fn a_store_that_is_absent_at_the_start_is_told_of_and_its_coming_noticed_while_nobody_comes() {
    let mut world = World::start(true).await;
    let alert = world.receiver.next().await;
    assert_eq!(alert[0]["labels"]["alertname"], "TidegateStoreDown");
    assert!(alert[0]["annotations"]["description"].as_str().unwrap().contains("203.0.113.5:6379"), "{alert}");
    assert_eq!(alert[0].get("endsAt"), None);
    let (code, ready) = world.ready().await;
    assert_eq!((code, &ready["status"]), (StatusCode::OK, &"degraded".into()));
    assert_eq!(ready["store"], "does not answer");
    assert!(ready["store_down_since"].is_u64() && !ready.to_string().contains("203.0.113.5"), "{ready}");

    let (status, fields, body) = world.get("/verify").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(fields["content-type"], "application/problem+json");
    assert!(fields.contains_key("retry-after"), "{fields:?}");
    assert!(!body.to_lowercase().contains("too many") && !body.contains("203.0.113.5"), "{body}");
    assert_eq!(world.get("/read?who=a").await.0, StatusCode::OK);

    world.store.heal();
    let ready = world.until("ready").await;
    assert_eq!((&ready["store"], ready.get("store_down_since")), (&"ok".into(), None));
    let end = world.receiver.next().await;
    assert_eq!((&end[0]["labels"], &end[0]["startsAt"]), (&alert[0]["labels"], &alert[0]["startsAt"]));
    assert!(end[0]["endsAt"].is_string(), "{end}");
    let mut statuses = Vec::new();
    soon(async {
        // Whatever keeps a lost store from being asked may need a moment to ask it again.
        while world.get("/verify").await.0 == StatusCode::SERVICE_UNAVAILABLE {
            crate::support::moment().await;
        }
    })
    .await;
    for _ in 0..3 {
        statuses.push(world.get("/verify").await.0.as_u16());
    }
    assert_eq!(statuses, [200, 429, 429], "the limit holds again, and the outage used nothing up");
}

/// Guards an alert against being raised for one answer that did not come, and readiness against waiting for a dead store.
#[tokio::test]
async fn one_failure_is_no_outage_and_an_outage_is_told_once() {
    let mut world = World::start(false).await;
    world.until("ready").await;
    world.store.fail_next(1, gone());
    assert_eq!(world.get("/read?who=a").await.0, StatusCode::OK);
    world.store.fail(gone());
    world.until("degraded").await;
    let alert = world.receiver.next().await;
    world.store.heal();
    let end = world.receiver.next().await;
    assert_eq!(alert[0]["startsAt"], end[0]["startsAt"]);
    assert!(alert[0].get("endsAt").is_none() && end[0]["endsAt"].is_string(), "{alert} {end}");
}

/// Guards a pager against every key of a flood, and what is told of a person: the limit is the alert, and the key is named
/// beside it only by its hash.
#[tokio::test]
async fn a_limit_nearly_used_up_is_an_alert_of_the_limit() {
    let mut world = World::start(false).await;
    for _ in 0..8 {
        assert_eq!(world.get("/read?who=ada").await.0, StatusCode::OK);
    }
    let alert = world.receiver.next().await;
    assert_eq!(
        alert[0]["labels"],
        serde_json::json!({ "alertname": "TidegateLimitNearing", "limit": "read/l", "severity": "warning" })
    );
    assert!(alert[0]["annotations"]["key"].as_str().unwrap().starts_with("hmac:"), "{alert}");
    assert!(!alert.to_string().contains("ada"), "{alert}");
}
