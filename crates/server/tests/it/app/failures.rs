//! Limits that count failures, in the gateway: guesses made at once, right codes by the thousand, clients that leave.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::Value;
use tidegate::policy_file::{self, ReadyKeys};
use tidegate::{CheckOptions, Limiter, MemoryOptions, MemoryStore, Span};
use tidegate_server::net::ServeOptions;
use tidegate_server::proxy::{Proxy, ProxyOptions};
use tidegate_store::faulty::Faulty;
use tidegate_tower::LimitLayer;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tower::{Layer, service_fn};

use super::world::{Running, get, post};
use crate::support::{Gateway, Raw, RawServer, field, proxy_to, soon, status, under_way};

/// Nine wrong codes a day for each account, by an algorithm.
fn verify(algorithms: &[(&str, &str, &str)]) -> String {
    let limits = algorithms.iter().map(|(name, says, algorithm)| {
        format!(
            "\n      - name: {name}\n        says: {says}\n        key: account\n        \
             count: {{ failures: true, success: {{ status: 200 }} }}\n        {algorithm}"
        )
    });
    format!(
        "keys:\n  account: {{ json: /account }}\nrules:\n  - name: verify\n    class: verify\n    client_sees: all\n    \
         match: {{ method: POST, path: /verify }}\n    on_store_failure: deny\n    limits:{}\n",
        limits.collect::<String>()
    )
}

const LOG: (&str, &str, &str) = (
    "log",
    "Never more than nine failures in any 24 hours, per account.",
    "sliding_log: { limit: 9, window: 24h }",
);

/// What is left of each limit for an account, so much later than now.
async fn left(limiter: &Limiter, account: &str, later: Span) -> Vec<(String, u32)> {
    let headers = http::HeaderMap::new();
    let request = policy_file::Request {
        method: "POST",
        host: None,
        path: "/verify",
        query: None,
        headers: &headers,
        peer: None,
        body: None,
    };
    let keys = ReadyKeys::from([("account".to_owned(), account.to_owned())]);
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    let now = limiter.check_with(&request, Some(&keys), peek).await.at().unwrap();
    let then = CheckOptions { at: Some(now.saturating_add(later)), ..peek };
    let verdict = limiter.check_with(&request, Some(&keys), then).await;
    let left = verdict.decisions().iter().map(|one| (one.limit.name().to_owned(), one.decision.remaining));
    left.collect()
}

/// An upstream that answers 200 to the code 1234 and 401 to any other, counts what it sees, and answers when it may.
#[derive(Clone)]
struct Upstream {
    seen: Arc<AtomicUsize>,
    may_answer: Arc<Semaphore>,
}

impl Upstream {
    fn new(answers: usize) -> Self {
        Self { seen: Arc::default(), may_answer: Arc::new(Semaphore::new(answers)) }
    }

    fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        self.seen.fetch_add(1, Ordering::SeqCst);
        self.may_answer.acquire().await.unwrap().forget();
        let guess: Value = serde_json::from_slice(&body).unwrap();
        let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
        if guess["code"] != "1234" {
            *response.status_mut() = StatusCode::UNAUTHORIZED;
        }
        Ok(response)
    }

    async fn before(self, policy: &str) -> Running {
        let service = service_fn(move |request| self.clone().answer(request));
        Running::before(Gateway::around(service, ServeOptions::default()).await, policy).await
    }
}

async fn connect(running: &Running) -> Raw<TcpStream> {
    Raw::new(TcpStream::connect(running.gateway()).await.unwrap())
}

/// Sends a guess and returns the status of the answer.
async fn guess(client: &mut Raw<TcpStream>, code: &str) -> u16 {
    client.send(post("/verify", format!(r#"{{"account":"ada","code":"{code}"}}"#))).await;
    let head = client.read_head().await;
    let length = field(&head, "content-length").unwrap().parse().unwrap();
    client.read_exact(length).await;
    status(&head)
}

/// Guards against guesses that pass because none before them has been answered yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_wrong_codes_at_once_nine_reach_the_upstream() {
    let upstream = Upstream::new(0);
    let running = upstream.clone().before(&verify(&[LOG])).await;
    let (refused, mut refusals) = tokio::sync::mpsc::unbounded_channel();
    let mut guesses = tokio::task::JoinSet::new();
    for code in 0..64 {
        let (mut client, refused) = (connect(&running).await, refused.clone());
        guesses.spawn(async move {
            let status = guess(&mut client, &format!("wrong{code}")).await;
            if status == 429 {
                refused.send(()).unwrap();
            }
            status
        });
    }
    // No guess is answered by the upstream before all others were refused.
    for _ in 0..64 - 9 {
        soon(refusals.recv()).await.unwrap();
    }
    upstream.may_answer.add_permits(64);
    let statuses = soon(guesses.join_all()).await;
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 9);
    assert_eq!(upstream.seen(), 9);
    assert_eq!(guess(&mut connect(&running).await, "1234").await, 429, "not even the right one, that day");
    assert_eq!(upstream.seen(), 9);
}

/// Every algorithm that may count failures, all on one request.
const ALL: [(&str, &str, &str); 7] = [
    LOG,
    (
        "counter",
        "Up to nine failures every 24 hours, per account.",
        "sliding_counter: { limit: 9, window: 24h }",
    ),
    (
        "clock",
        "Nine failures every 24 hours on the clock, per account.",
        "fixed_window: { limit: 9, window: 24h }",
    ),
    (
        "first-hit",
        "Nine failures in 24 hours from the first, per account.",
        "fixed_window: { limit: 9, window: 24h, anchor: first_hit }",
    ),
    (
        "month",
        "Nine failures a calendar month, per account.",
        "fixed_window: { limit: 9, window: month, anchor: calendar }",
    ),
    (
        "bucket",
        "Nine failures at once, then nine every 24 hours, per account.",
        "token_bucket: { capacity: 9, refill: 9 per 24h }",
    ),
    (
        "lockout",
        "Nine failures in 24 hours, then locked for 30 minutes, per account.",
        "lockout: { attempts: 9, within: 24h, lock: 30m }",
    ),
];

fn all_left(units: u32) -> Vec<(String, u32)> {
    ALL.iter().map(|(name, ..)| (format!("verify/{name}"), units)).collect()
}

/// Guards against a success that leaves a trace: after a thousand an honest user would be locked out.
#[tokio::test]
async fn a_thousand_right_codes_one_after_the_other_consume_nothing() {
    let upstream = Upstream::new(2_000);
    let running = upstream.clone().before(&verify(&ALL)).await;
    let mut client = connect(&running).await;
    for _ in 0..1_000 {
        assert_eq!(guess(&mut client, "1234").await, 200);
    }
    assert_eq!(upstream.seen(), 1_000);
    assert_eq!(left(&running.limiter, "ada", Span::ZERO).await, all_left(9));
    for _ in 0..9 {
        assert_eq!(guess(&mut client, "0000").await, 401);
    }
    assert_eq!(left(&running.limiter, "ada", Span::ZERO).await, all_left(0));
}

/// Eight clients at a time: a bucket does not refill for a unit that is under way, so that the ninth place may be short
/// of the moment that it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_right_codes_at_once_consume_nothing_in_the_end() {
    let upstream = Upstream::new(1_000);
    let running = upstream.clone().before(&verify(&ALL)).await;
    let begun = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut client = connect(&running).await;
        clients.spawn(async move {
            for _ in 0..125 {
                assert_eq!(guess(&mut client, "1234").await, 200);
            }
        });
    }
    soon(clients.join_all()).await;
    assert_eq!(upstream.seen(), 1_000);
    // What it did not refill it catches up with, in the time the requests took together.
    let together = Span::from_micros(u64::try_from(begun.elapsed().as_micros()).unwrap() * 8);
    assert_eq!(left(&running.limiter, "ada", together).await, all_left(9));
}

/// Guards against guesses whose charge goes away with whoever made them.
#[tokio::test]
async fn a_client_that_leaves_mid_request_is_charged_once() {
    let upstream = Upstream::new(0);
    let running = upstream.clone().before(&verify(&[LOG])).await;
    let mut client = connect(&running).await;
    client.send(post("/verify", r#"{"account":"ada","code":"1234"}"#)).await;
    soon(async {
        while upstream.seen() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(client);
    // When the gateway has drained, nothing of that request is under way any more.
    let limiter = running.limiter.clone();
    let report = running.stop().await;
    assert_eq!(report.gateway.unwrap().requests_cut, 0);
    assert_eq!(left(&limiter, "ada", Span::ZERO).await, [("verify/log".to_owned(), 8)]);
}

/// Guards against a refund that dies with its client, and against two.
#[tokio::test]
async fn a_client_that_leaves_after_the_upstream_answered_is_given_back_once() {
    let upstream = RawServer::new().await;
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let text = format!("tidegate: 1\napi: {{ listen: 127.0.0.1:0 }}\n{}", verify(&[LOG]));
    let policy = policy_file::parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let limiter =
        Limiter::from_policy_with(policy, Arc::<Faulty<MemoryStore>>::clone(&store) as Arc<_>).unwrap();
    let service = LimitLayer::new(limiter.clone()).layer(Proxy::new(&proxy_to(upstream.address)).unwrap());
    let gateway = Gateway::around(service, ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    // An honest mistake first: what is given back twice would show.
    for (answer, calls) in [("401 Unauthorized", 1), ("200 OK", 3)] {
        client.send(post("/verify", r#"{"account":"ada","code":"1234"}"#)).await;
        let mut server = upstream.accept().await;
        server.read_until("1234\"}").await;
        if calls == 3 {
            store.hold();
        }
        server.send(format!("HTTP/1.1 {answer}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")).await;
        if calls == 1 {
            assert_eq!(status(&client.read_head().await), 401);
        }
        soon(async {
            while store.calls() < calls {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    drop(client);
    // The request is over for the gateway, which drains, before the store has answered.
    let report = soon(gateway.stop()).await.unwrap();
    assert_eq!(report.requests_cut, 0);
    assert_eq!(store.calls(), 3);
    store.release();
    soon(async {
        while left(&limiter, "ada", Span::ZERO).await != [("verify/log".to_owned(), 8)] {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_rule_that_lets_nothing_through_answers_with_its_status_and_its_words() {
    let running = Running::by(
        "rules:\n  - name: closed\n    match: { path: /internal/** }\n    refuse: { status: 403, because: Not for the public. }\n\
         fallback: { client_sees: all, limits: [{ name: l, says: Nine an hour per client., key: client_ip, \
         sliding_log: { limit: 9, window: 1h } }] }\n",
    )
    .await;
    let mut client = connect(&running).await;
    client.send(get("/internal/metrics", "")).await;
    let head = client.read_head().await;
    assert_eq!(status(&head), 403, "{head}");
    assert_eq!(field(&head, "content-type"), Some("application/problem+json"));
    assert_eq!(field(&head, "cache-control"), Some("no-store"));
    assert!(!head.to_lowercase().contains("ratelimit") && field(&head, "retry-after").is_none(), "{head}");
    let length = field(&head, "content-length").unwrap().parse().unwrap();
    let problem: Value = serde_json::from_slice(&client.read_exact(length).await).unwrap();
    assert_eq!((&problem["status"], &problem["detail"]), (&403.into(), &"Not for the public.".into()));
    client.send(get("/", "")).await;
    let head = client.read_head().await;
    assert_eq!(status(&head), 200);
    assert!(field(&head, "ratelimit").unwrap().contains("r=8"), "the refused one took nothing: {head}");
}

/// A limiter of that policy, and a gateway by it before an upstream.
async fn forwarding(policy: &str, proxy: &ProxyOptions) -> (Limiter, Gateway) {
    let text = format!("tidegate: 1\napi: {{ listen: 127.0.0.1:0 }}\n{policy}");
    let policy = policy_file::parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let limiter = Limiter::from_policy(policy).unwrap();
    let service = LimitLayer::new(limiter.clone()).layer(Proxy::new(proxy).unwrap());
    (limiter, Gateway::around(service, ServeOptions::default()).await)
}

const LOCK: (&str, &str, &str) = (
    "lock",
    "After three failures within half an hour locked for half an hour, per account.",
    "lockout: { attempts: 3, within: 30m, lock: 30m }",
);

/// Guards against an outage of the upstream that locks out everybody who tries to sign in meanwhile.
#[tokio::test]
async fn an_upstream_that_is_stopped_locks_nobody_out() {
    let upstream = RawServer::new().await;
    let proxy = proxy_to(upstream.address);
    drop(upstream);
    let (limiter, gateway) = forwarding(&verify(&[LOCK]), &proxy).await;
    let mut client = gateway.connect().await;
    for _ in 0..4 {
        assert_eq!(guess(&mut client, "0000").await, 502);
    }
    assert_eq!(left(&limiter, "ada", Span::ZERO).await, [("verify/lock".to_owned(), 3)]);
}

/// Guards against a request that waited for a place at the upstream in vain, and counts as a guess.
#[tokio::test]
async fn a_request_that_found_no_place_at_the_upstream_is_no_failure() {
    let upstream = RawServer::new().await;
    let proxy = ProxyOptions {
        max_requests: 1,
        upstream_timeout: Duration::from_millis(50),
        ..proxy_to(upstream.address)
    };
    let (limiter, gateway) = forwarding(&verify(&[LOG]), &proxy).await;
    // An answer whose body goes on holds the only place.
    let (mut first, mut server) = under_way(&gateway, get("/", ""), &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").await;
    first.read_head().await;
    assert_eq!(guess(&mut gateway.connect().await, "0000").await, 504);
    assert_eq!(left(&limiter, "ada", Span::ZERO).await, [("verify/log".to_owned(), 9)]);
    assert!(upstream.is_untouched().await);
}

/// Guards against guesses for nothing: an upstream that got the code and then went away has perhaps looked at it, also
/// where it got it on a connection that had been used before and none can be opened any more.
#[tokio::test]
async fn a_guess_that_was_sent_stays_charged_when_the_upstream_goes_away() {
    let upstream = RawServer::new().await;
    let (limiter, gateway) = forwarding(&verify(&[LOG]), &proxy_to(upstream.address)).await;
    let (mut client, mut server) = under_way(&gateway, get("/", ""), &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 200);
    client.send(post("/verify", r#"{"account":"ada","code":"0000"}"#)).await;
    server.read_until("0000\"}").await;
    drop((upstream, server));
    assert_eq!(status(&client.read_head().await), 502);
    assert_eq!(left(&limiter, "ada", Span::ZERO).await, [("verify/log".to_owned(), 8)]);
}
