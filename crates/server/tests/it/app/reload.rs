//! The application under reloads: nothing is lost, nothing is half done.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use tidegate_server::app::{Addresses, App};
use tidegate_server::net::ServeOptions;
use tidegate_server::reload::Reloader;
use tokio::sync::oneshot;
use tower::service_fn;

use crate::support::{Gateway, Raw, RawServer, soon};
use crate::tls::{Folder, certify, connect};

/// An application by a policy file of the test's own.
pub(super) struct Served {
    folder: Folder,
    pub(super) file: PathBuf,
    at: Addresses,
    pub(super) reloader: Reloader,
    _stop: oneshot::Sender<()>,
}

impl Served {
    pub(super) async fn by(name: &str, policy: impl FnOnce(&Folder) -> String) -> Self {
        let folder = Folder::new(name);
        let text = policy(&folder);
        let file = folder.write("policy.yaml", text);
        let path = file.clone();
        let loaded = tidegate::files::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let load = Box::new(move || tidegate::files::load(&path));
        let app = App::bind_loaded(loaded, load).await.unwrap();
        let (at, reloader) = (app.addresses().unwrap(), app.reloader());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { folder, file, at, reloader, _stop: stop }
    }

    /// Writes the policy file anew and reloads.
    async fn reload(&self, policy: String) -> Result<(), String> {
        std::fs::write(&self.file, policy).unwrap();
        soon(self.reloader.reload()).await.map(|_| ()).map_err(|error| error.to_string())
    }

    pub(super) async fn admin(&self, method: Method, path: &str) -> (StatusCode, String) {
        let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
        let uri = format!("http://{}{path}", self.at.admin.unwrap());
        let request = Request::builder().method(method).uri(uri).body(Empty::new()).unwrap();
        let response = soon(client.request(request)).await.unwrap();
        let status = response.status();
        let body = soon(response.into_body().collect()).await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

/// A policy of every face; `more` goes into the gateway's mapping.
pub(super) fn policy(upstream: std::net::SocketAddr, more: &str, limit: u64) -> String {
    format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{upstream}\"{more} }}
api: {{ listen: 127.0.0.1:0 }}
admin: {{ listen: 127.0.0.1:0 }}
health: {{ listen: 127.0.0.1:0 }}
rules:
  - name: r
    class: api
    client_sees: all
    match: {{ path: /** }}
    limits:
      - {{ name: l, says: \"{limit} in any day, for everyone.\", key: global, sliding_log: {{ limit: {limit}, window: 24h }} }}
"
    )
}

pub(super) async fn upstream() -> Gateway {
    let answer = service_fn(|_: Request<hyper::body::Incoming>| async {
        Ok::<_, std::convert::Infallible>(Response::new(Empty::<Bytes>::new()))
    });
    Gateway::around(answer, ServeOptions::default()).await
}

/// What came of a flood of requests.
#[derive(Debug, Default)]
struct Flood {
    passed: AtomicU64,
    refused: AtomicU64,
    done: AtomicBool,
}

impl Flood {
    /// Sends requests one after the other until told to end; whatever is neither passed nor refused is a failure.
    async fn run(self: Arc<Self>, gateway: std::net::SocketAddr) {
        let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
        let uri: http::Uri = format!("http://{gateway}/").parse().unwrap();
        while !self.done.load(Ordering::Relaxed) {
            let response = soon(client.get(uri.clone())).await.expect("a request was lost");
            match response.status() {
                StatusCode::OK => self.passed.fetch_add(1, Ordering::Relaxed),
                StatusCode::TOO_MANY_REQUESTS => self.refused.fetch_add(1, Ordering::Relaxed),
                other => panic!("a request came to {other}"),
            };
            let _ = response.into_body().collect().await.expect("an answer broke off");
        }
    }
}

/// Reloads while requests come in on four connections: none is lost, and as many pass as the limit says. Two hundred
/// reloads one after the other; with `TIDEGATE_RELOAD_SECONDS` so long, and at least ten a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_and_no_count_is_lost_under_reloads() {
    const LIMIT: u64 = 1_000;
    let (first, second) = (upstream().await, upstream().await);
    // Of these each reload changes something else: where to, how patiently, and what is limited besides.
    let policies = [
        policy(first.address, "", LIMIT),
        policy(second.address, "", LIMIT),
        policy(second.address, ", upstream_timeout: 20s", LIMIT),
        policy(first.address, "", LIMIT)
            + "  - name: other\n    match: { path: /other }\n    limits: [{ name: l, says: One in any day per client., \
               key: client_ip, sliding_log: { limit: 1, window: 24h } }]\n",
    ];
    let served = Served::by("reloads", |_| policies[0].clone()).await;
    let flood = Arc::new(Flood::default());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        tasks.spawn(Arc::clone(&flood).run(served.at.gateway.unwrap()));
    }
    let seconds = std::env::var("TIDEGATE_RELOAD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let (length, reloads) = (Duration::from_secs(seconds.unwrap_or(0)), seconds.map_or(200, |it| it * 10));
    let begun = Instant::now();
    for (done, text) in (0..).zip(policies.iter().cycle()) {
        if done >= reloads && begun.elapsed() >= length {
            break;
        }
        served.reload(text.clone()).await.unwrap();
    }
    // Past the limit at least as far again, so that a count lost at any reload would have let more pass.
    let enough = || flood.passed.load(Ordering::Relaxed) + flood.refused.load(Ordering::Relaxed) > 2 * LIMIT;
    while !enough() {
        served.reload(policies[1].clone()).await.unwrap();
    }
    flood.done.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_eq!(flood.passed.load(Ordering::Relaxed), LIMIT, "{flood:?}");
    assert!(served.reloader.status().reloads().0 >= reloads);
    assert_eq!(served.reloader.status().reloads().1, 0);
}

/// Guards what is under way against a change of upstream and limits: it ends where and as it began.
#[tokio::test]
async fn a_request_under_way_ends_at_the_old_upstream_under_the_old_policy() {
    let (old, new) = (RawServer::new().await, RawServer::new().await);
    let served = Served::by("under-way", |_| policy(old.address, "", 5)).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri: http::Uri = format!("http://{}/", served.at.gateway.unwrap()).parse().unwrap();
    let slow = tokio::spawn(client.get(uri.clone()));
    let mut slow_server = soon(old.accept()).await;
    slow_server.read_head().await;

    served.reload(policy(new.address, "", 9)).await.unwrap();
    let next = tokio::spawn(client.get(uri));
    let mut quick_server = soon(new.accept()).await;
    quick_server.read_head().await;
    quick_server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let next = soon(next).await.unwrap().unwrap();
    assert_eq!(next.headers()["ratelimit"], "\"r/l\";r=7;t=86400", "the first request counts on");

    slow_server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let slow = soon(slow).await.unwrap().unwrap();
    assert_eq!(slow.headers()["ratelimit"], "\"r/l\";r=4;t=86400");
}

/// Guards against half a reload: what a listener has taken over cannot change, and then nothing else does.
#[tokio::test]
async fn what_needs_a_restart_is_refused_whole_with_every_field_named() {
    let upstream = upstream().await;
    let served = Served::by("restart", |_| policy(upstream.address, "", 5)).await;
    let wanted = policy(upstream.address, ", drain_timeout: 1s, max_connections: 7", 9)
        .replace("gateway: { listen: 127.0.0.1:0", "gateway: { listen: 127.0.0.1:1")
        .replace("api: { listen: 127.0.0.1:0 }\n", "");
    let error = served.reload(wanted).await.unwrap_err();
    assert_eq!(
        error,
        "gateway.max_connections, gateway.drain_timeout, gateway.listen, api changed: that needs a restart; nothing \
         was changed"
    );
    let (_, metrics) = served.admin(Method::GET, "/metrics").await;
    assert!(metrics.contains("tidegate_reloads_total{result=\"refused\"} 1\n"), "{metrics}");
    let status = served.reloader.status();
    assert_eq!(status.error().as_deref(), Some(&*error));
    let (_, api) = (served.at.api.unwrap(), served.at.gateway.unwrap());
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri: http::Uri = format!("http://{api}/").parse().unwrap();
    let answer = soon(client.get(uri)).await.unwrap();
    assert!(answer.headers()["ratelimit-policy"].to_str().unwrap().contains("q=5;"), "{answer:?}");
    served.reload(policy(upstream.address, "", 9)).await.unwrap();
    assert_eq!(status.error(), None);
}

/// Guards against a store, a secret of its keys' names or a webhook that seems changed and is not: all are taken over at the
/// start, and under another secret every count would begin anew.
#[tokio::test]
async fn a_store_its_secret_and_alerts_need_a_restart() {
    let upstream = upstream().await;
    let (mut secret, mut password) = (PathBuf::new(), PathBuf::new());
    let served = Served::by("restart-store", |folder| {
        secret = folder.write("secret", "a secret of this test alone");
        password = folder.write("password", "a password");
        shared(&policy(upstream.address, "", 5), &secret)
    })
    .await;
    let in_force = std::fs::read_to_string(&served.file).unwrap();
    for (field, wanted) in [
        ("store", in_force.replace("127.0.0.1:1/0", "127.0.0.1:1/3")),
        ("store", in_force.replace("instances", "# instances").replace("store: { redis", "# store: { redis")),
        ("alerts", in_force.replace("127.0.0.1:2", "127.0.0.1:3")),
    ] {
        let error = served.reload(wanted).await.unwrap_err();
        assert_eq!(error, format!("{field} changed: that needs a restart; nothing was changed"));
    }
    std::fs::write(&secret, "another secret of this test").unwrap();
    let error = served.reload(in_force.clone()).await.unwrap_err();
    assert_eq!(error, "key_secret_file changed: that needs a restart; nothing was changed");
    std::fs::write(&secret, "a secret of this test alone").unwrap();
    std::fs::write(&password, "another password").unwrap();
    let error = served.reload(in_force.clone()).await.unwrap_err();
    let words = "store: what a password file holds changed: that needs a restart; nothing was changed";
    assert_eq!(error, words, "the policy's own file is as it was");
    std::fs::write(&password, "a password").unwrap();
    served.reload(in_force.replace("limit: 5,", "limit: 9,").replace("5 in any", "9 in any")).await.unwrap();
}

/// The same policy over a Redis that is not there, which no reload asks.
fn shared(policy: &str, secret: &std::path::Path) -> String {
    let store = format!(
        "key_secret_file: \"{}\"\nstore: {{ redis: {{ url: \"redis://127.0.0.1:1/0\", password_file: password }} }}\ninstances: 2\n\
         alerts: {{ webhook: \"http://127.0.0.1:2/api/v2/alerts\" }}\nrules:",
        secret.display()
    );
    policy.replace("rules:", &store)
}

/// Guards renewed certificates: the next handshake shows them, and a pair that does not fit changes nothing.
#[tokio::test]
async fn certificates_are_read_anew() {
    let upstream = upstream().await;
    let mut first = None;
    let served = Served::by("certificates", |folder| {
        let (root, certificate, key) = certify(folder);
        first = Some(root);
        let tls =
            format!(", tls: {{ certificate: \"{}\", key: \"{}\" }}", certificate.display(), key.display());
        policy(upstream.address, &tls, 5)
    })
    .await;
    let gateway = served.at.gateway.unwrap();
    let first = first.unwrap();
    let shows =
        async |certificate: &CertificateDer<'static>| connect(gateway, certificate, &[]).await.is_ok();
    assert!(shows(&first).await);
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let key = std::fs::read_to_string(served.folder.path("key.pem")).unwrap();
    served.folder.write("key.pem", other);
    let error = soon(served.reloader.reload()).await.unwrap_err().to_string();
    assert!(
        error.contains("cannot be used with the key") && error.contains("nothing was changed"),
        "{error}"
    );
    assert!(shows(&first).await);
    served.folder.write("key.pem", key);

    let (second, ..) = certify(&served.folder);
    soon(served.reloader.reload()).await.unwrap();
    assert!(shows(&second).await && !shows(&first).await);
}

/// Guards the operator's endpoint: what was counted is told under the policy's own names, and a reload answers.
#[tokio::test]
async fn metrics_tell_what_was_counted_and_a_call_reloads() {
    let upstream = upstream().await;
    let served = Served::by("metrics", |_| policy(upstream.address, "", 1)).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri: http::Uri = format!("http://{}/secret-path", served.at.gateway.unwrap()).parse().unwrap();
    for status in [StatusCode::OK, StatusCode::TOO_MANY_REQUESTS, StatusCode::TOO_MANY_REQUESTS] {
        assert_eq!(soon(client.get(uri.clone())).await.unwrap().status(), status);
    }
    let (status, metrics) = served.admin(Method::GET, "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    let version = served.reloader.status().version().hash;
    for line in [
        "# TYPE tidegate_decisions counter",
        "tidegate_decisions_total{limit=\"r/l\",outcome=\"admitted\"} 1",
        "tidegate_decisions_total{limit=\"r/l\",outcome=\"refused\"} 2",
        "tidegate_decisions_total{limit=\"r/l\",outcome=\"skipped\"} 0",
        "tidegate_requests_total{ruling=\"allowed\"} 1",
        "tidegate_requests_total{ruling=\"refused\"} 2",
        "tidegate_rule_matches_total{rule=\"r\"} 3",
        "tidegate_store_errors_total 0",
        "tidegate_reloads_total{result=\"applied\"} 0",
        "tidegate_policy_reload_failing 0",
        "tidegate_memory_keys 1",
        "tidegate_warnings_total{cause=\"untrusted_proxy\"} 0",
        &format!("tidegate_policy_info{{hash=\"{version}\",limits=\"1\"}} 1"),
        "# EOF",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    assert!(!metrics.contains("secret-path") && version.len() == 16, "{metrics}");

    std::fs::write(&served.file, policy(upstream.address, "", 2)).unwrap();
    let (status, body) = served.admin(Method::POST, "/reload").await;
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["changed"]), (StatusCode::OK, &serde_json::json!(["r/l"])), "{body}");
    assert_eq!(soon(client.get(uri)).await.unwrap().status(), StatusCode::OK, "the new limit has one more");
    std::fs::write(&served.file, "tidegate: 1\nrulse: []\n").unwrap();
    let (status, body) = served.admin(Method::POST, "/reload").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(body.contains("did you mean \\\"rules\\\"?"), "{body}");
    // An alert on it has to end when the trouble does.
    let failing =
        async || served.admin(Method::GET, "/metrics").await.1.contains("policy_reload_failing 1\n");
    assert!(failing().await);
    served.reload(policy(upstream.address, "", 2)).await.unwrap();
    assert!(!failing().await);
    assert_eq!(served.admin(Method::GET, "/reload").await.0, StatusCode::METHOD_NOT_ALLOWED);
}

/// Guards the operator's endpoint off loopback.
#[tokio::test]
async fn a_token_guards_the_operators_endpoint_and_may_change() {
    let upstream = upstream().await;
    let served = Served::by("token", |folder| {
        let token = folder.write("token", "0123456789abcdef");
        let admin = format!("admin: {{ listen: 127.0.0.1:0, token_file: \"{}\" }}", token.display());
        policy(upstream.address, "", 1).replace("admin: { listen: 127.0.0.1:0 }", &admin)
    })
    .await;
    assert_eq!(served.admin(Method::GET, "/metrics").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(served.admin(Method::POST, "/reload").await.0, StatusCode::UNAUTHORIZED);
    served.reload(policy(upstream.address, "", 1)).await.unwrap();
    assert_eq!(served.admin(Method::GET, "/metrics").await.0, StatusCode::OK);
}

/// Guards the decision API against answering by the keys of a policy that is gone.
#[tokio::test]
async fn the_decision_api_follows_the_policy() {
    let upstream = upstream().await;
    let served = Served::by("api", |_| policy(upstream.address, "", 5)).await;
    let document = async || {
        let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
        let uri = format!("http://{}/openapi.json", served.at.api.unwrap()).parse().unwrap();
        let body = soon(client.get(uri)).await.unwrap().into_body();
        serde_json::from_slice::<serde_json::Value>(&soon(body.collect()).await.unwrap().to_bytes()).unwrap()
    };
    let names = "/components/schemas/CheckRequest/properties/keys/properties/api_key";
    assert!(document().await.pointer(names).is_none());
    let by_key = policy(upstream.address, "", 5)
        .replace("rules:", "keys: { api_key: { header: x-api-key } }\nrules:")
        .replace("for everyone.\", key: global", "per API key.\", key: api_key");
    served.reload(by_key).await.unwrap();
    assert!(document().await.pointer(names).is_some());
}

/// Guards whom the listener takes the PROXY protocol from against a list that changed.
#[tokio::test]
async fn the_proxy_protocol_is_taken_from_whom_the_new_policy_trusts() {
    let upstream = upstream().await;
    let by = |trusted: &str| {
        format!("trusted_proxies: [{trusted}]\n{}", policy(upstream.address, ", proxy_protocol: true", 5))
    };
    let served = Served::by("balancers", |_| by("10.0.0.0/8")).await;
    let ask = async || {
        let stream = tokio::net::TcpStream::connect(served.at.gateway.unwrap()).await.unwrap();
        let mut client = Raw::new(stream);
        client.send("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
        client.read_to_close().await
    };
    assert_eq!(ask().await, "", "nobody here is trusted");
    served.reload(by("127.0.0.0/8")).await.unwrap();
    let answer = ask().await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Guards a reload against whoever asked for it and left: all of it happens, or nothing.
#[tokio::test]
async fn a_reload_goes_on_when_its_caller_leaves() {
    let upstream = upstream().await;
    let served = Served::by("leaves", |_| policy(upstream.address, "", 5)).await;
    std::fs::write(&served.file, policy(upstream.address, "", 9)).unwrap();
    let mut asked = Box::pin(served.reloader.reload());
    // Polled once, and dropped.
    tokio::select! {
        biased;
        done = &mut asked => panic!("{done:?} at once"),
        () = std::future::ready(()) => {}
    }
    drop(asked);
    // The next one waits for the first to end.
    let second = soon(served.reloader.reload()).await.unwrap();
    assert_eq!((second.limits.kept, served.reloader.status().reloads()), (1, (2, 0)));
}
