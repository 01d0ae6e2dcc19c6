//! One request asked about several times.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::Request;
use tidegate::{Limiter, MemoryOptions, MemoryStore};
use tidegate_server::api;
use tidegate_store::faulty::Faulty;
use tidegate_tower::PeerAddr;
use tokio::task::yield_now;
use tower::ServiceExt as _;

use super::world::{Answer, Api, Client, parsed, policy};

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

async fn ask(api: &Api, id: &str, uri: &str) -> Answer {
    let fields = format!(
        "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: {uri}\r\nX-Forwarded-For: 192.0.2.7\r\nX-Request-ID: {id}\r\n"
    );
    Client::from(LOOPBACK, api.address()).await.send("GET", "/auth", &fields, "").await
}

#[tokio::test]
async fn the_same_request_is_charged_once_and_told_the_same() {
    let api = Api::by(&policy(), None).await;
    assert_eq!(ask(&api, "a", "/").await.remaining(), 19);
    assert_eq!(ask(&api, "a", "/").await.remaining(), 19);
    assert_eq!(ask(&api, "a", "/other").await.remaining(), 18, "another request under the same id is one");
    assert_eq!(ask(&api, "b", "/").await.remaining(), 17);
    for number in 0..17 {
        assert_eq!(ask(&api, &format!("more-{number}"), "/").await.status(), 200);
    }
    let refused = ask(&api, "late", "/").await;
    let again = ask(&api, "late", "/").await;
    assert_eq!((refused.status(), again.status()), (429, 429));
    assert_eq!(refused.body, again.body, "a refusal is remembered as well");
    assert_eq!(ask(&api, "a", "/").await.status(), 200, "and so is what was admitted");
}

/// The routes, over a store that keeps whoever asks waiting.
fn held() -> (Arc<Faulty<MemoryStore>>, Router) {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = Limiter::from_policy_with(parsed(&policy()), Arc::clone(&store) as _).unwrap();
    store.hold();
    (store, api::router(limiter, None))
}

/// Asks about one request under an id, and returns what is left for its client.
fn left(routes: &Router, id: &str) -> impl Future<Output = String> + use<> {
    let call = Request::get("/auth").header("x-forwarded-method", "GET").header("x-forwarded-uri", "/");
    let call = call.header("x-request-id", id).extension(PeerAddr(LOOPBACK));
    let answer = routes.clone().oneshot(call.body(Body::empty()).unwrap());
    async move {
        let answer = answer.await.unwrap();
        let standing = answer.headers()["ratelimit"].to_str().unwrap();
        standing.split(';').find_map(|part| part.strip_prefix("r=")).unwrap().to_owned()
    }
}

/// Guards against a proxy's calls that come at once, each of which would find nothing remembered.
#[tokio::test]
async fn calls_at_the_same_time_wait_for_the_first() {
    let (store, routes) = held();
    let before = store.calls();
    // Asked in this order, all of them before the store answers the first.
    let answer_all = async {
        while store.calls() == before {
            yield_now().await;
        }
        store.release();
    };
    let call = || left(&routes, "once");
    let (a, b, c, d, ()) = tokio::join!(call(), call(), call(), call(), answer_all);
    assert_eq!([a, b, c, d], ["19"; 4]);
    assert_eq!(left(&routes, "next").await, "18");
}

/// Guards against a request that is charged again because its proxy lost patience before the store answered.
#[tokio::test]
async fn who_gives_up_and_asks_again_is_told_what_was_decided_meanwhile() {
    let (store, routes) = held();
    let before = store.calls();
    tokio::select! {
        biased;
        _ = left(&routes, "once") => panic!("the store does not answer"),
        () = async { while store.calls() == before { yield_now().await } } => {}
    }
    store.release();
    assert_eq!(left(&routes, "once").await, "19");
    assert_eq!(left(&routes, "next").await, "18");
}

/// Guards against clients that choose the id themselves, where no proxy sets it.
#[tokio::test]
async fn an_id_means_nothing_unless_the_policy_names_its_field() {
    let without = policy().replace(", forward_auth: { request_id: x-request-id }", "");
    let api = Api::by(&without, None).await;
    for left in [19, 18, 17] {
        assert_eq!(ask(&api, "a", "/").await.remaining(), left);
    }
}
