//! Limits that count failures, before a service whose answer decides.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use tidegate::{CheckOptions, Limiter, MemoryOptions, MemoryStore, StoreError};
use tidegate_store::faulty::Faulty;
use tidegate_tower::{LimitLayer, NeverForwarded, ReplayedBody, problem_response};
use tokio::sync::Semaphore;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::world::{anybody, by, by_on, field, get, one_limit};

const NINE: &str = "sliding_log: { limit: 9, window: 24h }";

/// Nine failures a day for everyone together.
fn nine(success: &str, on_success: &str) -> String {
    let count = format!("count: {{ failures: true, success: {success}, on_success: {on_success} }}");
    one_limit(&format!("{count}\n        {NINE}"), "    client_sees: all\n")
}

/// Waits for something that must happen; only a hang takes that long.
async fn soon<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(std::time::Duration::from_secs(20), what).await.expect("should have happened by now")
}

async fn left(limiter: &Limiter) -> u32 {
    let headers = HeaderMap::new();
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    limiter.check_with(&anybody(&headers), None, peek).await.decisions()[0].decision.remaining
}

/// A service that answers with the status its path names, and with the request's own `location`.
async fn told<B>(request: Request<ReplayedBody<B>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = request.uri().path().trim_start_matches('/').parse().unwrap();
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if let Some(location) = request.headers().get("location") {
        response.headers_mut().insert("location", location.clone());
    }
    Ok(response)
}

/// Sends a request through the layer to [`told`].
async fn pass(limiter: &Limiter, request: Request<Full<Bytes>>) -> (StatusCode, HeaderMap) {
    let mut service = LimitLayer::new(limiter.clone()).layer(service_fn(told));
    let response = service.ready().await.unwrap().call(request).await.unwrap();
    (response.status(), response.headers().clone())
}

#[tokio::test]
async fn a_success_is_given_back_before_the_client_sees_it_and_a_failure_is_not() {
    let limiter = by(&nine("{ status: 200 }", "refund"));
    for (path, remaining) in [("/200", 9), ("/401", 8), ("/200", 8), ("/500", 7), ("/204", 6), ("/200", 6)] {
        let (status, headers) = pass(&limiter, get(path)).await;
        assert_eq!(format!("/{}", status.as_str()), path);
        assert_eq!(left(&limiter).await, remaining, "after {path}");
        let shown = field(&headers, "ratelimit").unwrap();
        assert!(shown.starts_with(&format!("\"r/l\";r={remaining}")), "{path}: {shown}");
    }
    for _ in 0..6 {
        pass(&limiter, get("/401")).await;
    }
    assert_eq!(pass(&limiter, get("/200")).await.0, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_reset_forgets_the_failures_before_it() {
    let limiter = by(&nine("{ status: 2xx }", "reset"));
    for _ in 0..8 {
        pass(&limiter, get("/401")).await;
    }
    assert_eq!(left(&limiter).await, 1);
    let (_, headers) = pass(&limiter, get("/204")).await;
    assert_eq!(left(&limiter).await, 9);
    assert!(field(&headers, "ratelimit").unwrap().starts_with("\"r/l\";r=9"), "{headers:?}");
}

/// A login that answers 302 either way, and tells by where it sends the browser.
#[tokio::test]
async fn a_redirect_is_told_by_its_field() {
    let limiter = by(&nine("{ status: 302, header: { name: location, value: /account } }", "refund"));
    for (location, remaining) in [("/login?wrong", 8), ("/account", 8), ("/account/", 7)] {
        let mut request = get("/302");
        request.headers_mut().insert("location", location.parse().unwrap());
        pass(&limiter, request).await;
        assert_eq!(left(&limiter).await, remaining, "to {location}");
    }
}

/// Guards against a request that nobody looked at and that counts as a right code.
#[tokio::test]
async fn trouble_on_the_way_is_no_success_whatever_its_status() {
    let limiter = by(&nine("{ status: [2xx, 5xx] }", "refund"));
    let layer = LimitLayer::new(limiter.clone());
    let mut service = layer.layer(service_fn(async |_: Request<ReplayedBody<Full<Bytes>>>| {
        Ok::<_, Infallible>(problem_response::<Full<Bytes>>(StatusCode::BAD_GATEWAY, "nobody there"))
    }));
    service.ready().await.unwrap().call(get("/")).await.unwrap();
    assert_eq!(left(&limiter).await, 8);
    pass(&limiter, get("/502")).await;
    assert_eq!(left(&limiter).await, 8, "the service's own 502 is what the policy calls a success");
}

/// Guards against an outage behind the layer that counts as failures, and against one that forgets earlier failures.
#[tokio::test]
async fn a_request_that_nobody_saw_gets_its_own_charge_back_and_no_more() {
    let limiter = by(&nine("{ status: 2xx }", "reset"));
    pass(&limiter, get("/401")).await;
    let layer = LimitLayer::new(limiter.clone());
    let mut service = layer.layer(service_fn(async |_: Request<ReplayedBody<Full<Bytes>>>| {
        let mut response = problem_response::<Full<Bytes>>(StatusCode::BAD_GATEWAY, "nobody there");
        response.extensions_mut().insert(NeverForwarded);
        Ok::<_, Infallible>(response)
    }));
    let response = service.ready().await.unwrap().call(get("/")).await.unwrap();
    assert_eq!(left(&limiter).await, 8);
    assert!(field(response.headers(), "ratelimit").unwrap().starts_with("\"r/l\";r=8"));
}

#[tokio::test]
async fn a_service_that_fails_leaves_the_charge() {
    let limiter = by(&nine("{ status: 2xx }", "refund"));
    let mut service =
        LimitLayer::new(limiter.clone()).layer(service_fn(async |_: Request<ReplayedBody<Full<Bytes>>>| {
            Err::<Response<Full<Bytes>>, _>(std::io::Error::other("broken pipe"))
        }));
    assert!(service.ready().await.unwrap().call(get("/")).await.is_err());
    assert_eq!(left(&limiter).await, 8);
}

/// Guards against guesses whose charge goes away with whoever made them.
#[tokio::test]
async fn a_client_that_leaves_before_the_answer_is_charged_once() {
    let limiter = by(&nine("{ status: 2xx }", "refund"));
    let (arrived, answer) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let service = LimitLayer::new(limiter.clone()).layer(service_fn({
        let (arrived, answer) = (Arc::clone(&arrived), Arc::clone(&answer));
        move |_: Request<ReplayedBody<Full<Bytes>>>| {
            let (arrived, answer) = (Arc::clone(&arrived), Arc::clone(&answer));
            async move {
                arrived.add_permits(1);
                answer.acquire().await.unwrap().forget();
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            }
        }
    }));
    let client = tokio::spawn(service.clone().oneshot(get("/")));
    arrived.acquire().await.unwrap().forget();
    assert_eq!(left(&limiter).await, 8);
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    assert_eq!(left(&limiter).await, 8);
    answer.add_permits(1);
    service.oneshot(get("/")).await.unwrap();
    assert_eq!(left(&limiter).await, 8, "what the next one gives back is its own");
}

/// Guards against a refund that dies with its client, or is made by two.
#[tokio::test]
async fn a_client_that_leaves_after_the_answer_stops_no_refund_and_there_is_one() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = by_on(Arc::<Faulty<MemoryStore>>::clone(&store), &nine("{ status: 2xx }", "refund"));
    let keep = by_keeping(&limiter, &store);
    let client = tokio::spawn(keep.oneshot(get("/")));
    // The check is the first call; the second is the refund, which the store keeps waiting.
    soon(async {
        while store.calls() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    store.release();
    soon(async {
        while left(&limiter).await != 9 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (arrived, peeks) = (store.calls(), 3);
    for _ in 0..peeks {
        tokio::task::yield_now().await;
        assert_eq!(left(&limiter).await, 9);
    }
    assert_eq!(store.calls() - arrived, peeks, "nothing else is asked of the store");
}

/// A service that answers 200, and makes the store wait from then on.
fn by_keeping(
    limiter: &Limiter,
    store: &Arc<Faulty<MemoryStore>>,
) -> impl Service<
    Request<Full<Bytes>>,
    Response = Response<tidegate_tower::AnswerBody<Full<Bytes>>>,
    Error = Infallible,
    Future: Send,
> + Send
+ 'static {
    let store = Arc::clone(store);
    LimitLayer::new(limiter.clone()).layer(service_fn(move |_: Request<ReplayedBody<Full<Bytes>>>| {
        store.hold();
        std::future::ready(Ok(Response::new(Full::<Bytes>::default())))
    }))
}

/// Guards against a success that fails because the limiter's store does.
#[tokio::test]
async fn a_store_that_fails_meanwhile_keeps_the_charge_and_the_answer_passes() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = by_on(Arc::<Faulty<MemoryStore>>::clone(&store), &nine("{ status: 2xx }", "refund"));
    let breaks = Arc::clone(&store);
    let service =
        LimitLayer::new(limiter.clone()).layer(service_fn(move |_: Request<ReplayedBody<Full<Bytes>>>| {
            breaks.fail(StoreError::unavailable("pulled the plug"));
            std::future::ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
        }));
    let answer = service.oneshot(get("/")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(field(answer.headers(), "ratelimit").unwrap().starts_with("\"r/l\";r=8"), "{answer:?}");
    store.heal();
    assert_eq!(left(&limiter).await, 8);
}

/// A leaky bucket holds the request first; its slot is used up, and the failure that was none is not.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_held_is_settled_as_any_other() {
    let limiter = by(&format!(
        "{}      - name: even\n        says: Five every second, with up to ten waiting, for everyone together.\n        \
         key: global\n        leaky_bucket: {{ rate: 5 per 1s, queue: 10 }}\n",
        nine("{ status: 2xx }", "refund")
    ));
    let begun = tokio::time::Instant::now();
    pass(&limiter, get("/200")).await;
    pass(&limiter, get("/200")).await;
    assert!(!begun.elapsed().is_zero(), "the second one waited for its slot");
    assert_eq!(left(&limiter).await, 9);
    pass(&limiter, get("/401")).await;
    assert_eq!(left(&limiter).await, 8);
}

/// Guards against guesses made at once that all see the same count.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_guesses_at_once_the_service_sees_as_many_as_the_limit_says() {
    let limiter = by(&nine("{ status: 2xx }", "refund"));
    let seen = Arc::new(AtomicUsize::new(0));
    let service = LimitLayer::new(limiter).layer(service_fn({
        let seen = Arc::clone(&seen);
        move |request: Request<ReplayedBody<Full<Bytes>>>| {
            seen.fetch_add(1, Ordering::Relaxed);
            told(request)
        }
    }));
    let mut guesses = tokio::task::JoinSet::new();
    for _ in 0..64 {
        guesses.spawn(service.clone().oneshot(get("/401")));
    }
    guesses.join_all().await;
    assert_eq!(seen.load(Ordering::Relaxed), 9);
}

/// Guards the count against a layer behind whose store is gone, and which has not looked at the code: whatever its status,
/// nobody found it right.
#[tokio::test]
async fn an_answer_of_a_layer_behind_is_no_success() {
    let outer = by(&nine("{ status: [200, 503] }", "refund"));
    let store = Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap());
    store.fail(StoreError::unavailable("pulled the plug"));
    let inner = by_on(Arc::new(store), &one_limit(NINE, "    on_store_failure: deny\n"));
    let behind = LimitLayer::new(inner).layer(service_fn(told));
    let mut service = LimitLayer::new(outer.clone()).layer(behind);
    let response = service.ready().await.unwrap().call(get("/200")).await.unwrap();
    assert_eq!((response.status(), left(&outer).await), (StatusCode::SERVICE_UNAVAILABLE, 8));
}
