//! The application by a policy whose store is a real Redis: what several instances share, and what each does when it is lost.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tidegate_redis_kit::{Proxy, Server};
use tidegate_server::app::{Addresses, App};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::world::get;
use crate::alerts::Receiver;
use crate::support::{Raw, RawServer, answer_all, field, soon, status};
use crate::tls::Folder;

const RULES: &str = "
rules:
  - name: login
    class: login
    match: { path: /login }
    on_store_failure: deny
    limits:
      - { name: l, says: 500 in any hour for everyone., key: global, sliding_log: { limit: 500, window: 1h } }
  - name: read
    class: api
    match: { path: /read }
    on_store_failure: allow
    limits:
      - { name: l, says: A million an hour for everyone., key: global, sliding_counter: { limit: 1000000, window: 1h } }
  - name: send
    class: send
    match: { path: /send }
    on_store_failure: local
    client_sees: all
    limits:
      - { name: l, says: Eight in any hour for everyone., key: global, sliding_log: { limit: 8, window: 1h } }
";

/// One instance of two; it ends with this.
struct Instance {
    at: Addresses,
    _folder: Folder,
    _stop: oneshot::Sender<()>,
}

/// Starts what answers the requests that pass.
async fn upstream() -> SocketAddr {
    let upstream = RawServer::new().await;
    let address = upstream.address;
    answer_all(upstream);
    address
}

impl Instance {
    async fn start(redis: &Server, upstream: SocketAddr) -> Self {
        Self::start_with(redis, upstream, "").await
    }

    async fn start_with(redis: &Server, upstream: SocketAddr, more: &str) -> Self {
        Self::start_at(redis.port(), upstream, more).await
    }

    /// Starts one from files, as an operator does; `more` is more of its policy.
    async fn start_at(redis: u16, upstream: SocketAddr, more: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = Folder::new(&format!("instance-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        folder.write("secret", "a secret that all instances share");
        // A machine that runs all tests at once may be slow without being wrong.
        let text = format!(
            "tidegate: 1\nkey_secret_file: secret\ninstances: 2\n\
             store: {{ redis: {{ url: \"redis://127.0.0.1:{redis}\", timeout: 10s }} }}\n\
             gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{upstream}\" }}\n\
             admin: {{ listen: 127.0.0.1:0 }}\nhealth: {{ listen: 127.0.0.1:0 }}\n{more}{RULES}"
        );
        let file = folder.write("policy.yaml", text);
        let load = move || tidegate::files::load(&file);
        let loaded = load().unwrap_or_else(|wrong| panic!("{wrong}"));
        let app = App::bind_loaded(loaded, Box::new(load)).await.unwrap();
        let at = app.addresses().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, _folder: folder, _stop: stop }
    }

    /// Sends a request, and returns the answer's status and how it says it was decided.
    async fn marked(&self, path: &str) -> (u16, Option<String>) {
        let mut client = Raw::new(TcpStream::connect(self.at.gateway.unwrap()).await.unwrap());
        client.send(get(path, "connection: close\r\n")).await;
        let head = client.read_head().await;
        (status(&head), field(&head, "tidegate-degraded").map(str::to_owned))
    }

    /// Returns one of the metrics, with its labels.
    async fn metric(&self, name: &str) -> u64 {
        let mut client = Raw::new(TcpStream::connect(self.at.admin.unwrap()).await.unwrap());
        client.send(get("/metrics", "connection: close\r\n")).await;
        let text = client.read_to_close().await;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next().unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
    }

    async fn ask(&self, path: &str) -> u16 {
        let mut client = Raw::new(TcpStream::connect(self.at.gateway.unwrap()).await.unwrap());
        client.send(get(path, "connection: close\r\n")).await;
        status(&client.read_head().await)
    }

    async fn ready(&self) -> String {
        let mut client = Raw::new(TcpStream::connect(self.at.health.unwrap()).await.unwrap());
        client.send(get("/readyz", "connection: close\r\n")).await;
        let answer = client.read_to_close().await;
        assert_eq!(status(&answer), 200, "{answer}");
        answer
    }

    /// Waits until it is ready, or degraded.
    async fn until(&self, word: &str) {
        let word = format!("\"status\":\"{word}\"");
        soon(async {
            while !self.ready().await.contains(&word) {
                crate::support::moment().await;
            }
        })
        .await;
    }
}

/// Sends requests on one connection, so many or until told to end, and counts the answers by their status.
async fn client(to: SocketAddr, path: &str, count: usize, done: &AtomicBool) -> BTreeMap<u16, usize> {
    let mut seen = BTreeMap::new();
    let mut client = Raw::new(TcpStream::connect(to).await.unwrap());
    for _ in 0..count {
        if done.load(Ordering::Relaxed) {
            break;
        }
        client.send(get(path, "")).await;
        let head = client.read_head().await;
        let length =
            crate::support::field(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        client.read_exact(length).await;
        *seen.entry(status(&head)).or_default() += 1;
    }
    seen
}

/// Sends from 64 connections to each instance at once, and adds up the answers.
async fn flood(
    instances: &[&Instance],
    path: &'static str,
    each: usize,
    done: Arc<AtomicBool>,
) -> BTreeMap<u16, usize> {
    let mut clients = tokio::task::JoinSet::new();
    for instance in instances {
        for _ in 0..64 {
            let (to, done) = (instance.at.gateway.unwrap(), Arc::clone(&done));
            clients.spawn(async move { client(to, path, each, &done).await });
        }
    }
    let mut all = BTreeMap::new();
    while let Some(seen) = soon(clients.join_next()).await {
        for (status, count) in seen.unwrap() {
            *all.entry(status).or_default() += count;
        }
    }
    all
}

/// Guards the reason for a shared store: each instance by itself would admit the whole limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gateways_on_one_redis_admit_exactly_the_limit_together() {
    let (redis, upstream) = (Server::start(&[]), upstream().await);
    let (one, two) = (Instance::start(&redis, upstream).await, Instance::start(&redis, upstream).await);
    let seen = flood(&[&one, &two], "/login", 10, Arc::default()).await;
    assert_eq!(seen, BTreeMap::from([(200, 500), (429, 780)]));
    for instance in [&one, &two] {
        assert_eq!(instance.metric("tidegate_store_errors_total").await, 0);
        assert!(instance.metric("tidegate_store_calls_total{op=\"script\"}").await > 0);
    }
}

/// Guards each rule's choice when the store dies under load, and the way back without a restart: what fails closed lets
/// nothing through that was not decided, what fails open refuses nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_killed_under_load_leaves_each_rule_to_its_choice_and_may_come_back() {
    let (mut redis, upstream) = (Server::start(&[]), upstream().await);
    let instance = Arc::new(Instance::start(&redis, upstream).await);
    let done = Arc::new(AtomicBool::new(false));
    let floods = ["/login", "/read"].map(|path| {
        let (instance, done) = (Arc::clone(&instance), Arc::clone(&done));
        tokio::spawn(async move { flood(&[&*instance], path, usize::MAX, done).await })
    });
    // The limit is used up, so every later 200 of this path would be one that nobody decided.
    soon(async { while instance.ask("/login").await != 429 {} }).await;
    redis.kill();
    instance.until("degraded").await;
    soon(async { while instance.ask("/login").await != 503 {} }).await;
    assert_eq!(instance.marked("/read").await, (200, Some("uncounted".to_owned())));
    done.store(true, Ordering::Relaxed);
    let [login, read] = floods;
    let (login, read) = (login.await.unwrap(), read.await.unwrap());
    assert!(login.keys().all(|status| [200, 429, 503].contains(status)), "{login:?}");
    // A charge whose answer was lost with the server was refused, so there may be fewer.
    assert!(login[&200] <= 500 && login[&503] > 0, "{login:?}");
    assert_eq!(read.keys().collect::<Vec<_>>(), [&200], "{read:?}");

    redis.restart();
    instance.until("ready").await;
    soon(async { while instance.ask("/login").await != 200 {} }).await;
}

/// Guards what an instance goes on with by itself: its share of the limit and not the whole, said to be so, and ended by
/// the store's return.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_goes_on_without_redis_admits_this_instances_share() {
    let (mut redis, upstream) = (Server::start(&[]), upstream().await);
    let instance = Instance::start(&redis, upstream).await;
    assert_eq!(instance.marked("/send").await, (200, None));
    redis.kill();
    instance.until("degraded").await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(instance.marked("/send").await);
    }
    let local = |status| (status, Some("local".to_owned()));
    assert_eq!(seen, [local(200), local(200), local(200), local(200), local(429), local(429)]);
    assert_eq!(instance.metric("tidegate_without_store_total{mode=\"local\"}").await, 6);
    redis.restart();
    instance.until("ready").await;
    soon(async { while instance.marked("/send").await != (200, None) {} }).await;
}

/// Guards a pager against an outage that is told over and over, and against one whose end nobody tells; readiness, metrics
/// and alerts are one fact.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_is_one_alert_and_its_return_the_end_of_it() {
    let (mut redis, upstream) = (Server::start(&[]), upstream().await);
    let mut receiver = Receiver::start().await;
    let alerts = format!("alerts: {{ webhook: \"{}\", every: 1h }}\n", receiver.url());
    let instance = Instance::start_with(&redis, upstream, &alerts).await;
    assert_eq!(instance.marked("/login").await, (200, None));
    assert_eq!(instance.metric("tidegate_store_breaker_open").await, 0);
    for (outage, was) in [(1, "first"), (2, "second")] {
        redis.kill();
        instance.until("degraded").await;
        assert_eq!(instance.metric("tidegate_store_breaker_open").await, 1);
        for _ in 0..20 {
            assert_eq!(instance.ask("/login").await, 503);
        }
        let lost = receiver.next().await;
        assert_eq!(
            (lost[0]["labels"]["alertname"].as_str(), lost[0].get("endsAt")),
            (Some("TidegateStoreDown"), None)
        );
        redis.restart();
        instance.until("ready").await;
        let found = receiver.next().await;
        assert_eq!(found[0]["startsAt"], lost[0]["startsAt"], "the {was} end is of the {was} outage");
        assert!(found[0]["endsAt"].is_string(), "{found}");
        assert_eq!(instance.metric("tidegate_store_breaker_open").await, 0);
        assert_eq!(instance.metric("tidegate_store_outages_total").await, outage);
    }
    assert!(instance.metric("tidegate_without_store_total{mode=\"deny\"}").await >= 40);
}

/// Guards a start before the store's, which an orchestrator may well arrange.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_may_start_before_its_redis() {
    let (mut redis, upstream) = (Server::start(&[]), upstream().await);
    redis.kill();
    let instance = Instance::start(&redis, upstream).await;
    instance.until("degraded").await;
    assert_eq!((instance.ask("/login").await, instance.ask("/read").await), (503, 200));
    redis.restart();
    instance.until("ready").await;
    soon(async { while instance.ask("/login").await != 200 {} }).await;
}

/// Guards a pager against a Redis that answers and takes no writes: it answers `PING`, and every outage that this ended
/// began anew at once, sixty times in five seconds, each a line in the log and an alert.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_is_one_outage_until_it_has_room() {
    let (redis, upstream) = (Server::start(&["--maxmemory-policy", "noeviction"]), upstream().await);
    let instance = Instance::start(&redis, upstream).await;
    assert_eq!(instance.ask("/login").await, 200);
    tokio::task::block_in_place(|| redis.ask("CONFIG SET maxmemory 1"));
    instance.until("degraded").await;
    let pings = "tidegate_store_calls_total{op=\"ping\"}";
    let before = instance.metric(pings).await;
    // The one that watches has asked some times meanwhile, and has not taken an answer for the end.
    soon(async {
        while instance.metric(pings).await < before + 5 {
            assert_eq!(instance.ask("/login").await, 503);
        }
    })
    .await;
    assert!(instance.ready().await.contains("degraded"));
    tokio::task::block_in_place(|| redis.ask("CONFIG SET maxmemory 0"));
    instance.until("ready").await;
    assert_eq!(instance.metric("tidegate_store_outages_total").await, 1);
    assert_eq!(instance.ask("/login").await, 200);
}

/// Guards against a charge whose answer was lost being made again, or given back: more would pass than the limit says. What
/// was lost was charged at most, so that a few less may pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_lost_let_nobody_through_twice() {
    let (redis, upstream) = (Server::start(&[]), upstream().await);
    let proxy = Proxy::before(redis.port());
    let instance = Instance::start_at(proxy.port(), upstream, "").await;
    instance.until("ready").await;
    let mut passed = 0;
    for round in 0..12 {
        // Somewhere in the answers to the next calls.
        proxy.cut_after(200 + round * 61);
        let seen = flood(&[&instance], "/login", 2, Arc::default()).await;
        assert!(seen.keys().all(|status| [200, 429, 503].contains(status)), "{seen:?}");
        passed += seen.get(&200).copied().unwrap_or_default();
        proxy.mend();
        soon(async { while instance.marked("/read").await != (200, None) {} }).await;
    }
    assert!(instance.metric("tidegate_store_call_errors_total{kind=\"lost\"}").await > 0);
    let last = flood(&[&instance], "/login", 10, Arc::default()).await;
    assert_eq!(last.keys().filter(|status| ![200, 429].contains(*status)).count(), 0, "{last:?}");
    passed += last.get(&200).copied().unwrap_or_default();
    assert!(passed <= 500 && last[&429] > 0, "{passed} passed, and {last:?} at the end");
}
