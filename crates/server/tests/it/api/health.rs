//! Liveness and readiness.

use std::sync::Arc;

use super::faulty::Faulty;
use http::{Method, StatusCode};
use serde_json::json;
use tidegate_server::health;
use tokio_util::sync::CancellationToken;

use super::check::VERIFY;
use super::world::{Served, limiter, limiter_on};

#[tokio::test]
async fn readiness_tells_what_is_in_force_until_draining() {
    let draining = CancellationToken::new();
    let served = Served::start(health::router(limiter(VERIFY), draining.clone())).await;
    let ready = served.get("/readyz").await;
    assert_eq!(ready.status, StatusCode::OK);
    let policy = json!({ "mode": "enforce", "rules": 1, "limits": 2 });
    assert_eq!(ready.json(), json!({ "status": "ready", "store": "ok", "policy": policy }));
    draining.cancel();
    let ready = served.get("/readyz").await;
    assert_eq!(
        (ready.status, &ready.json()["status"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("draining"))
    );
    assert_eq!(served.get("/livez").await.status, StatusCode::OK, "a process that drains lives");
}

#[tokio::test]
async fn a_dead_store_takes_no_instance_out() {
    let store = Arc::new(Faulty::new());
    let limiter = limiter_on(store.clone(), VERIFY);
    let served = Served::start(health::router(limiter, CancellationToken::new())).await;
    store.fail(true);
    let ready = served.get("/readyz").await;
    assert_eq!((ready.status, &ready.json()["status"]), (StatusCode::OK, &json!("degraded")));
    assert_ne!(ready.json()["store"], "ok");
    assert_eq!(served.get("/livez").await.json(), json!({ "status": "alive" }));
    store.fail(false);
    assert_eq!(served.get("/readyz").await.json()["status"], "ready");
}

#[tokio::test]
async fn probes_may_ask_by_head_and_nothing_else_is_there() {
    let served = Served::start(health::router(limiter(VERIFY), CancellationToken::new())).await;
    for path in ["/livez", "/readyz"] {
        let head = served.call(Method::HEAD, path).await;
        assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0), "{path}");
        assert_eq!(head.header("cache-control"), "no-store", "{path}");
        let post = served.call(Method::POST, path).await;
        assert_eq!(
            (post.status, post.header("allow")),
            (StatusCode::METHOD_NOT_ALLOWED, "GET,HEAD"),
            "{path}"
        );
    }
    for path in ["/", "/v1/check", "/healthz"] {
        let answer = served.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        answer.problem();
    }
}
