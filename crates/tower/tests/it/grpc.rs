//! Calls of gRPC, by a policy and by limits built in code.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use tidegate::{CheckOptions, Counts, Limit, Limiter, OnSuccess, Quota, Span};
use tidegate_store::faulty::Faulty;
use tidegate_store::{MemoryOptions, MemoryStore, StoreError};
use tidegate_tower::{Key, LimitLayer};
use tower::{Layer, ServiceExt, service_fn};

use crate::bodies::Frames;
use crate::keyed::{hourly, limiter};
use crate::world::{by, field, one_limit, send};

fn call() -> Request<Full<Bytes>> {
    Request::builder()
        .method("POST")
        .uri("/a.B/C")
        .header("content-type", "application/grpc")
        .body(Full::default())
        .unwrap()
}

/// Guards against an answer that a gRPC client takes for a broken connection, and comes straight back after.
#[tokio::test]
async fn a_policy_s_refusal_of_a_call_has_the_code_that_says_so() {
    let limiter =
        by(&one_limit("token_bucket: { capacity: 1, refill: 1 per 10s }", "    client_sees: all\n"));
    assert_eq!(send(&limiter, call()).await.status(), 200);
    let refused = send(&limiter, call()).await;
    let headers = refused.headers();
    assert_eq!((refused.status().as_u16(), field(headers, "grpc-status")), (200, Some("8")));
    assert_eq!(field(headers, "content-type"), Some("application/grpc"));
    let words = "Just so, for everyone together. Try again in 10 seconds.";
    assert_eq!(field(headers, "grpc-message"), Some(words));
    assert_eq!(field(headers, "retry-after"), Some("10"));
    let pushback: u64 = field(headers, "grpc-retry-pushback-ms").unwrap().parse().unwrap();
    assert!((9_000..=10_000).contains(&pushback), "{pushback}");
    assert!(field(headers, "ratelimit").is_some());
    assert!(refused.body().is_empty());
}

#[tokio::test]
async fn what_never_passes_is_never_to_be_tried_again() {
    let limiter = by(&one_limit("fixed_window: { limit: 0, window: 1m }", "    client_sees: all\n"));
    let refused = send(&limiter, call()).await;
    assert_eq!(field(refused.headers(), "grpc-retry-pushback-ms"), Some("-1"));
}

/// Guards against a refusal that tells more to a gRPC client than a rule lets any client know.
#[tokio::test]
async fn what_a_rule_keeps_to_itself_no_call_is_told() {
    let limiter =
        by(&one_limit("token_bucket: { capacity: 1, refill: 1 per 10s }", "    client_sees: nothing\n"));
    send(&limiter, call()).await;
    let refused = send(&limiter, call()).await;
    for name in ["grpc-retry-pushback-ms", "retry-after", "ratelimit", "ratelimit-policy"] {
        assert_eq!(field(refused.headers(), name), None, "{name}");
    }
    assert_eq!(field(refused.headers(), "grpc-message"), Some(""));
}

#[tokio::test]
async fn other_answers_have_codes_of_their_own() {
    let denied = by(
        "rules:\n  - name: r\n    match: { path: /** }\n    refuse: { status: 403, because: Not 100 % here. }\n",
    );
    let denied = send(&denied, call()).await;
    assert_eq!(field(denied.headers(), "grpc-status"), Some("7"));
    assert_eq!(field(denied.headers(), "grpc-message"), Some("Not 100 %25 here."));

    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    store.fail(StoreError::unavailable("it is away"));
    let down = Limiter::new(store, [hourly("all", 1)]).unwrap();
    let layer = LimitLayer::keyed(down, "all", Key::global()).unwrap();
    let service = service_fn(async |_| Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())));
    let lost = layer.layer(service).oneshot(call()).await.unwrap();
    assert_eq!(field(lost.headers(), "grpc-status"), Some("14"));
    assert_eq!(field(lost.headers(), "grpc-retry-pushback-ms"), Some("1000"));

    let layer = LimitLayer::keyed(limiter([hourly("all", 1)]), "all", Key::client()).unwrap();
    let ours = layer.layer(service).oneshot(call()).await.unwrap();
    assert_eq!(field(ours.headers(), "grpc-status"), Some("13"));
}

fn status(code: &str) -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), code.parse().unwrap())])
}

/// Answers a call with a code in its head, where there is no message, or behind one.
async fn outcome(head: Option<&'static str>, trailers: Option<&'static str>) -> u32 {
    let quota = Quota::sliding_log(5, Span::from_secs(3_600)).unwrap();
    let wrong = Limit::new("wrong", quota).with_counts(Counts::failures(OnSuccess::Refund));
    let limiter = limiter([wrong]);
    let service = service_fn(move |_: Request<Full<Bytes>>| {
        let mut frames = VecDeque::new();
        if let Some(code) = trailers {
            frames.push_back(Frame::data(Bytes::from_static(b"message")));
            frames.push_back(Frame::trailers(status(code)));
        }
        let mut response = Response::new(Frames(frames));
        response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
        response.headers_mut().extend(head.map(status).unwrap_or_default());
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let layer = LimitLayer::keyed(limiter.clone(), "wrong", Key::global()).unwrap();
    let answer = layer.layer(service).oneshot(call()).await.unwrap();
    answer.into_body().collect().await.unwrap();
    // What trailers give back is given back by a task.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    limiter.check_keys([("wrong", "")], peek).await.unwrap().decisions()[0].decision.remaining
}

/// Guards against guesses over gRPC that are never counted: every answer of it is HTTP 200.
#[tokio::test]
async fn a_call_that_failed_is_a_failure_whatever_http_says() {
    assert_eq!(outcome(Some("16"), None).await, 4, "UNAUTHENTICATED in the head");
    assert_eq!(outcome(None, Some("16")).await, 4, "UNAUTHENTICATED behind a message");
    assert_eq!(outcome(Some("0"), None).await, 5, "OK in the head");
    assert_eq!(outcome(None, Some("0")).await, 5, "OK behind a message");
    assert_eq!(outcome(None, None).await, 4, "no outcome at all");
}
