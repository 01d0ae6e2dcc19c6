//! Limits built in code, over plain tower services.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tidegate::{CheckOptions, Limit, Limiter, OnStoreFailure, Quota, Rate, Span};
use tidegate_store::faulty::Faulty;
use tidegate_store::{MemoryOptions, MemoryStore, StoreError};
use tidegate_tower::{
    AnswerBody, HeaderStyle, Key, KeyedLayer, LimitLayer, OnMissing, PeerAddr, ResetUnit, TrustedProxies,
};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::world::field;

/// So many in an hour: nothing comes back while a test runs.
pub(crate) fn hourly(name: &str, limit: u64) -> Limit {
    Limit::new(name, Quota::sliding_log(limit, Span::from_secs(3_600)).unwrap())
}

pub(crate) fn limiter(limits: impl IntoIterator<Item = Limit>) -> Limiter {
    Limiter::in_memory(limits).unwrap()
}

fn api_key(missing: OnMissing) -> Key {
    Key::header(HeaderName::from_static("x-api-key"), missing)
}

/// A request with a body of no type that a body could have.
fn from(peer: &str, headers: &[(&str, &str)]) -> Request<&'static str> {
    let mut request = Request::builder().uri("/").extension(PeerAddr(peer.parse().unwrap()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body("no body at all").unwrap()
}

async fn send<B: Send + 'static>(layer: &KeyedLayer, request: Request<B>) -> Response<Bytes> {
    let service =
        service_fn(async |_: Request<B>| Ok::<_, Infallible>(Response::new(Full::new(Bytes::new()))));
    let response = layer.layer(service).oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

fn problem(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

/// Guards against stacked limits that each take their part although another refuses.
#[tokio::test]
async fn several_limits_are_charged_together_or_not_at_all() {
    let limiter = limiter([hourly("client", 9), hourly("key", 2)]);
    let layer = LimitLayer::keyed(limiter.clone(), "client", Key::client())
        .unwrap()
        .and("key", api_key(OnMissing::Skip))
        .unwrap();
    for status in [200, 200, 429, 429, 429] {
        assert_eq!(send(&layer, from("192.0.2.7", &[("x-api-key", "a")])).await.status(), status);
    }
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    let seen = limiter.check_keys([("client", "192.0.2.7")], peek).await.unwrap();
    assert_eq!(seen.decisions()[0].decision.remaining, 7);
    // Who leaves the key out is counted by the address.
    let passed = send(&layer, from("192.0.2.7", &[])).await;
    assert_eq!(field(passed.headers(), "ratelimit"), Some("\"client\";r=6;t=3600"));
}

/// Guards against a limit that limits nobody because it does not know its clients.
#[tokio::test]
async fn without_knowing_who_is_connected_nothing_passes() {
    let layer = LimitLayer::keyed(limiter([hourly("client", 1)]), "client", Key::client()).unwrap();
    let refused = send(&layer, Request::new("")).await;
    assert_eq!(refused.status(), 500);
    assert_eq!(problem(&refused)["detail"], "the service has not been told who is connected");
    let told = layer.clone().with_peer(|_| Some([192, 0, 2, 7].into()));
    for status in [200, 429] {
        assert_eq!(send(&told, Request::new("")).await.status(), status);
    }
    // Nobody but the closure is asked: what stands among the extensions is another's word.
    assert_eq!(send(&told, from("198.51.100.2", &[])).await.status(), 429);
    let shared = Key::client().on_missing(OnMissing::Share);
    let together = LimitLayer::keyed(limiter([hourly("client", 1)]), "client", shared).unwrap();
    for status in [200, 429] {
        assert_eq!(send(&together, Request::new("")).await.status(), status);
    }
}

#[tokio::test]
async fn a_request_without_a_key_that_is_required_is_a_bad_one() {
    let layer = LimitLayer::keyed(limiter([hourly("key", 5)]), "key", api_key(OnMissing::Refuse)).unwrap();
    let refused = send(&layer, Request::new("")).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(problem(&refused)["detail"], "the key of the limit key cannot be read: it is missing");
}

/// Guards against clients who name themselves, and against everybody behind a proxy sharing one count.
#[tokio::test]
async fn a_trusted_proxy_names_the_client_and_nobody_else_does() {
    let proxies = TrustedProxies::in_networks(["10.0.0.0/8"]).unwrap();
    let layer =
        LimitLayer::keyed(limiter([hourly("client", 1)]), "client", Key::client()).unwrap().trusting(proxies);
    let said = |peer, list| from(peer, &[("x-forwarded-for", list)]);
    for (peer, list, status) in [
        ("10.0.0.9", "203.0.113.7", 200),
        // What the client itself wrote stands to the left.
        ("10.0.0.9", "1.1.1.1, 203.0.113.7", 429),
        ("10.0.0.9", "203.0.113.8", 200),
        ("198.51.100.2", "203.0.113.9", 200),
        ("198.51.100.2", "203.0.113.10", 429),
    ] {
        assert_eq!(send(&layer, said(peer, list)).await.status(), status, "{peer} {list}");
    }
}

#[tokio::test]
async fn a_cost_is_the_limit_s_that_was_named_before() {
    let limiter = limiter([hourly("requests", 10), hourly("tokens", 100)]);
    let layer = LimitLayer::keyed(limiter, "requests", Key::global())
        .unwrap()
        .and("tokens", Key::global())
        .unwrap()
        .cost(|head| head.headers.get("x-tokens").map_or(1, |units| units.to_str().unwrap().parse().unwrap()))
        .fields([HeaderStyle::XRateLimit(ResetUnit::Delta), HeaderStyle::Ietf]);
    let passed = send(&layer, from("192.0.2.7", &[("x-tokens", "60")])).await;
    let standing = field(passed.headers(), "ratelimit").unwrap();
    assert!(standing.contains("\"requests\";r=9") && standing.contains("\"tokens\";r=40"), "{standing}");
    assert_eq!(field(passed.headers(), "x-ratelimit-remaining"), Some("9"));
    assert_eq!(send(&layer, from("192.0.2.7", &[("x-tokens", "60")])).await.status(), 429);
    assert_eq!(send(&layer, from("192.0.2.7", &[("x-tokens", "40")])).await.status(), 200);
    let never = send(&layer, from("192.0.2.7", &[("x-tokens", "101")])).await;
    assert_eq!(
        (never.status(), field(never.headers(), "retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, None)
    );
}

#[tokio::test]
async fn fields_can_be_left_out_and_a_refusal_still_says_when() {
    let layer = LimitLayer::keyed(limiter([hourly("all", 1)]), "all", Key::global()).unwrap().fields([]);
    let passed = send(&layer, Request::new("")).await;
    assert!(passed.headers().is_empty(), "{:?}", passed.headers());
    let refused = send(&layer, Request::new("")).await;
    assert_eq!(field(refused.headers(), "ratelimit"), None);
    assert_eq!(field(refused.headers(), "retry-after"), Some("3600"));
}

#[tokio::test]
async fn a_refusal_can_be_the_service_s_own() {
    let layer = LimitLayer::keyed(limiter([hourly("all", 1)]), "all", Key::global()).unwrap().on_refusal(
        |verdict, head| {
            let mut response = Response::new(Bytes::from(format!("{}: {verdict}", head.uri.path())));
            *response.status_mut() = StatusCode::IM_A_TEAPOT;
            response
        },
    );
    send(&layer, Request::new("")).await;
    let refused = send(&layer, Request::new("")).await;
    assert_eq!(refused.status(), 418);
    assert!(refused.body().starts_with(b"/: refused by all: 0 of 1 left"), "{:?}", refused.body());
    assert_eq!(field(refused.headers(), "retry-after"), Some("3600"));
    assert_eq!(field(refused.headers(), "ratelimit"), Some("\"all\";r=0;t=3600"));
}

/// Guards against a bucket that is to space requests out and lets them through together.
#[tokio::test(start_paused = true)]
async fn a_request_is_held_until_its_slot() {
    let one_a_minute = Quota::leaky_bucket(Rate::new(1, Span::from_secs(60)).unwrap(), 1).unwrap();
    let layer = LimitLayer::keyed(limiter([Limit::new("l", one_a_minute)]), "l", Key::global()).unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(send(&layer, Request::new("")).await.status(), 200);
    assert!(begun.elapsed().is_zero());
    assert_eq!(send(&layer, Request::new("")).await.status(), 200);
    // The store's clock runs on while the runtime's stands still.
    assert!(begun.elapsed() > Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// Guards against an answer that tells two waits, the closure's and the limit's.
#[tokio::test]
async fn what_a_closures_answer_says_of_itself_stands() {
    let layer =
        LimitLayer::keyed(limiter([hourly("all", 1)]), "all", Key::global()).unwrap().on_refusal(|_, _| {
            let own = Response::builder().header("retry-after", "7").header("ratelimit", "\"own\";r=0");
            own.body(Bytes::new()).unwrap()
        });
    send(&layer, Request::new("")).await;
    let refused = send(&layer, Request::new("")).await;
    let lines = |name: &str| refused.headers().get_all(name).iter().cloned().collect::<Vec<_>>();
    assert_eq!(
        (lines("retry-after"), lines("ratelimit")),
        (vec!["7".parse().unwrap()], vec!["\"own\";r=0".parse().unwrap()])
    );
    assert_eq!(field(refused.headers(), "ratelimit-policy"), Some("\"all\";q=1;w=3600"));
}

/// Guards against a limit by a name that nobody has, which is found out when it is too late.
#[test]
fn a_limit_that_is_not_there_is_told_when_the_layer_is_built() {
    let unknown = LimitLayer::keyed(limiter([hourly("a", 1)]), "b", Key::global()).unwrap_err();
    assert_eq!(unknown.to_string(), "no limit is named \"b\"; there are: a");
}

/// Guards against requests that pass unseen once a policy has taken the place of the limits in code.
#[tokio::test]
async fn a_limit_that_is_gone_lets_nothing_pass() {
    let limiter = limiter([hourly("a", 5)]);
    let layer = LimitLayer::keyed(limiter.clone(), "a", Key::global()).unwrap();
    let text = "tidegate: 1\ngateway: { listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }\n";
    let policy = format!("{text}{}", crate::world::one_limit("sliding_log: { limit: 5, window: 1m }", ""));
    limiter.reload(tidegate::policy_file::parse("test.yaml", &policy).unwrap()).unwrap();
    let refused = send(&layer, Request::new("")).await;
    assert_eq!(refused.status(), 500);
    assert_eq!(problem(&refused)["detail"], "a limit of the service is gone");
}

#[tokio::test]
async fn a_lost_store_is_503_unless_the_limit_goes_on_without_it() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limits = [hourly("denies", 9), hourly("allows", 9).with_store_failure(OnStoreFailure::Allow)];
    let limiter = Limiter::new(Arc::clone(&store) as _, limits).unwrap();
    store.fail(StoreError::unavailable("it is away"));
    let by = |name| LimitLayer::keyed(limiter.clone(), name, Key::global()).unwrap();
    let denied = send(&by("denies"), Request::new("")).await;
    assert_eq!(denied.status(), 503);
    assert_eq!(field(denied.headers(), "retry-after"), Some("1"));
    let allowed = send(&by("allows"), Request::new("")).await;
    assert_eq!(allowed.status(), 200);
    assert_eq!(field(allowed.headers(), "tidegate-degraded"), Some("uncounted"));
}

/// A service that counts how often it was asked whether it is ready, and fails when called without.
#[derive(Clone, Default)]
struct Strict {
    ready: bool,
}

impl Service<Request<&'static str>> for Strict {
    type Response = Response<Full<Bytes>>;
    type Error = String;
    type Future = std::future::Ready<Result<Self::Response, String>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), String>> {
        self.ready = true;
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<&'static str>) -> Self::Future {
        let was_ready = std::mem::take(&mut self.ready);
        std::future::ready(match (was_ready, *request.body()) {
            (false, _) => Err("called without being ready".to_owned()),
            (true, "fail") => Err("the service's own".to_owned()),
            (true, _) => Ok(Response::new(Full::default())),
        })
    }
}

/// Guards against calling a clone of the service that was never asked whether it is ready, and against a refusal or an
/// error that turns into something else on its way.
#[tokio::test]
async fn the_service_that_was_ready_is_the_one_that_is_called_and_its_errors_pass() {
    let layer = LimitLayer::keyed(limiter([hourly("all", 3)]), "all", Key::global()).unwrap();
    let mut service = layer.layer(Strict::default());
    for _ in 0..2 {
        let answer = service.ready().await.unwrap().call(Request::new("")).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let error = service.ready().await.unwrap().call(Request::new("fail")).await.unwrap_err();
    assert_eq!(error, "the service's own");
    assert_eq!(service.ready().await.unwrap().call(Request::new("")).await.unwrap().status(), 429);
}

fn is_everything<T: Clone + Send + Sync + 'static>(_: &T) {}
fn is_send<T: Send>(value: T) -> T {
    value
}

/// Guards against a layer that cannot be mounted, or held across threads, where a service of the field stands behind it.
#[tokio::test]
async fn layers_and_services_go_wherever_a_server_sends_them() {
    type Boxed = tower::util::BoxCloneService<Request<String>, Response<Full<Bytes>>, Infallible>;
    let keyed = LimitLayer::keyed(limiter([hourly("all", 1)]), "all", Key::global()).unwrap();
    let by_policy = LimitLayer::new(limiter([]));
    let service = service_fn(async |_: Request<String>| Ok::<_, Infallible>(Response::new(Full::default())));
    is_everything(&keyed);
    is_everything(&by_policy);
    is_everything(&keyed.layer(service));
    is_everything(&by_policy.layer(service));
    // A boxed service is `Send` and not `Sync`, and so is what stands around it; its future can be sent all the same.
    let boxed: Boxed = tower::util::BoxCloneService::new(service);
    let mut limited = is_send(keyed.layer(boxed));
    let answer = is_send(limited.ready().await.unwrap().call(Request::new(String::new()))).await.unwrap();
    let _: AnswerBody<Full<Bytes>> = answer.into_body();
    let refused = limited.ready().await.unwrap().call(Request::new(String::new())).await.unwrap();
    assert_eq!(refused.status(), 429);
}
