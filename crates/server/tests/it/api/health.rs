//! Liveness and readiness.

use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::json;
use tidegate::StoreError;
use tidegate_server::health;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::check::VERIFY;
use super::world::{Served, faulty, limiter, limiter_on};

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
    let store = faulty();
    let limiter = limiter_on(store.clone(), VERIFY);
    let served = Served::start(health::router(limiter, CancellationToken::new())).await;
    store.fail(StoreError::unavailable("unplugged"));
    let ready = served.get("/readyz").await;
    assert_eq!((ready.status, &ready.json()["status"]), (StatusCode::OK, &json!("degraded")));
    assert_ne!(ready.json()["store"], "ok");
    assert_eq!(served.get("/livez").await.json(), json!({ "status": "alive" }));
    store.heal();
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
        let told = format!("there is nothing at {path}; this listener has /livez and /readyz (health)");
        assert_eq!(answer.problem()["detail"], told);
    }
}

// Time is the test's: it goes on as soon as everybody waits.
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_does_not_hang_readiness() {
    let store = faulty();
    let router = health::router(limiter_on(store.clone(), VERIFY), CancellationToken::new());
    store.hold();
    let response = router.oneshot(Request::get("/readyz").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["status"], &body["store"]), (&json!("degraded"), &json!("does not answer in time")));
}
