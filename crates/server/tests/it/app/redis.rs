//! The application over a real Redis: what several instances share, and what each does when it is lost.

mod server;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate_server::app::{Addresses, App};
use tidegate_store_redis::{RedisOptions, RedisStore, Secret, Servers};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::world::get;
use crate::support::{Raw, RawServer, answer_all, soon, status};
use server::Redis;

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
";

/// One instance; it ends with this.
struct Instance {
    at: Addresses,
    _stop: oneshot::Sender<()>,
}

impl Instance {
    async fn start(redis: SocketAddr, upstream: SocketAddr) -> Self {
        let text = format!(
            "tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: \"http://{upstream}\" }}\n\
             health: {{ listen: 127.0.0.1:0 }}{RULES}"
        );
        let policy = tidegate_policy::parse("test.yaml", &text).unwrap_or_else(|wrong| panic!("{wrong}"));
        let servers = Servers::Standalone { host: redis.ip().to_string(), port: redis.port() };
        let mut options = RedisOptions::new(servers, Secret::new(b"a secret of these tests alone".to_vec()));
        // A machine that runs all tests at once may be slow without being wrong.
        options.timeout = Duration::from_secs(2);
        let store = Arc::new(RedisStore::connect(options).unwrap());
        let app = App::bind_on(policy, store, None).await.unwrap();
        let at = app.addresses().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, _stop: stop }
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
                tokio::time::sleep(Duration::from_millis(20)).await;
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
    let redis = Redis::start("shared").await;
    let upstream = RawServer::new().await;
    let address = upstream.address;
    answer_all(upstream);
    let (one, two) =
        (Instance::start(redis.address, address).await, Instance::start(redis.address, address).await);
    one.until("ready").await;
    two.until("ready").await;
    let seen = flood(&[&one, &two], "/login", 10, Arc::default()).await;
    assert_eq!(seen, BTreeMap::from([(200, 500), (429, 780)]));
}

/// Guards each rule's choice when the store dies under load, and the way back without a restart: what fails closed lets
/// nothing through that was not decided, what fails open refuses nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_killed_under_load_leaves_each_rule_to_its_choice_and_may_come_back() {
    let mut redis = Redis::start("killed").await;
    let upstream = RawServer::new().await;
    let address = upstream.address;
    answer_all(upstream);
    let instance = Arc::new(Instance::start(redis.address, address).await);
    instance.until("ready").await;
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
    assert_eq!(instance.ask("/read").await, 200);
    done.store(true, Ordering::Relaxed);
    let [login, read] = floods;
    let (login, read) = (login.await.unwrap(), read.await.unwrap());
    assert!(login.keys().all(|status| [200, 429, 503].contains(status)), "{login:?}");
    // A charge whose answer was lost with the server was refused, so there may be fewer.
    assert!(login[&200] <= 500 && login[&503] > 0, "{login:?}");
    assert_eq!(read.keys().collect::<Vec<_>>(), [&200], "{read:?}");

    redis.restart().await;
    instance.until("ready").await;
    soon(async { while instance.ask("/login").await != 200 {} }).await;
}

/// Guards a start before the store's, which an orchestrator may well arrange.
#[tokio::test]
async fn a_gateway_may_start_before_its_redis() {
    let mut redis = Redis::start("later").await;
    redis.kill();
    let upstream = RawServer::new().await;
    let address = upstream.address;
    answer_all(upstream);
    let instance = Instance::start(redis.address, address).await;
    instance.until("degraded").await;
    assert_eq!((instance.ask("/login").await, instance.ask("/read").await), (503, 200));
    redis.restart().await;
    instance.until("ready").await;
    soon(async { while instance.ask("/login").await != 200 {} }).await;
}
