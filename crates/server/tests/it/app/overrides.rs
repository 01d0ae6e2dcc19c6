//! The three-in-the-morning switch: `/v1/overrides` of the operator's endpoint, over real sockets and a real Redis.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_redis_kit::Server;
use tidegate_server::app::{Addresses, App};
use tidegate_server::reload::Reloader;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::support::{Raw, field, moment, soon, status};
use crate::tls::Folder;

const RULES: &str = r#"
keys:
  account: { header: x-account, normalize: [trim, lowercase] }
rules:
  - name: verify
    class: login
    on_store_failure: deny
    client_sees: all
    match: { path: /verify }
    limits:
      - { name: per-account, says: "3 at once, then 1 an hour, per account.", key: account, token_bucket: { capacity: 3, refill: 1 per 1h } }
  - name: sell
    class: api
    match: { path: /sell }
    limits:
      - { name: log, says: "Never more than 2 in any day, for everyone.", key: global, sliding_log: { limit: 2, window: 24h } }
      - { name: pair, says: "Up to 90 a minute, per account and route.", key: [account, route], sliding_counter: { limit: 90, window: 1m } }
"#;

/// One application; it ends with this.
struct Instance {
    at: Addresses,
    folder: Folder,
    file: PathBuf,
    reloader: Reloader,
    _stop: oneshot::Sender<()>,
}

impl Instance {
    /// Starts one that counts in its own memory.
    async fn alone() -> Self {
        Self::start("", RULES).await
    }

    /// Starts one of several on a server.
    async fn on(redis: &Server) -> Self {
        Self::start(&on(redis.port()), RULES).await
    }

    async fn start(store: &str, rules: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = Folder::new(&format!("overrides-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        folder.write("secret", "a secret that all instances share");
        let file = folder.write("policy.yaml", text(store, rules));
        let path = file.clone();
        let load = move || tidegate::files::load(&path);
        let loaded = load().unwrap_or_else(|wrong| panic!("{wrong}"));
        let app = App::bind_loaded(loaded, Box::new(load)).await.unwrap();
        let (at, reloader) = (app.addresses().unwrap(), app.reloader());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, folder, file, reloader, _stop: stop }
    }

    async fn admin(&self, method: &str, call: &Value) -> (u16, Value) {
        ask(self.at.admin.unwrap(), method, "/v1/overrides", &call.to_string(), "").await
    }

    async fn put(&self, call: Value) -> Value {
        let (status, answer) = self.admin("PUT", &call).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn list(&self) -> Vec<Value> {
        let (status, answer) = self.admin("GET", &json!({})).await;
        assert_eq!(status, 200, "{answer}");
        answer["overrides"].as_array().unwrap().clone()
    }

    /// Asks about a path and an account, and returns the answer.
    async fn check(&self, path: &str, account: &str) -> Value {
        let call = json!({ "method": "GET", "path": path, "keys": { "account": account } });
        let (status, answer) = ask(self.at.api.unwrap(), "POST", "/v1/check", &call.to_string(), "").await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn allows(&self, path: &str, account: &str) -> bool {
        self.check(path, account).await["allowed"].as_bool().unwrap()
    }

    /// Waits until an account would be allowed on a path or would not. It looks, and uses up nothing.
    async fn until(&self, path: &str, account: &str, allowed: bool) {
        let call = json!({ "method": "GET", "path": path, "keys": { "account": account }, "peek": true });
        soon(async {
            loop {
                let (status, answer) =
                    ask(self.at.api.unwrap(), "POST", "/v1/check", &call.to_string(), "").await;
                assert_eq!(status, 200, "{answer}");
                if answer["allowed"] == allowed {
                    break;
                }
                moment().await;
            }
        })
        .await;
    }

    async fn metric(&self, name: &str) -> Option<String> {
        let mut client = Raw::new(TcpStream::connect(self.at.admin.unwrap()).await.unwrap());
        client.send("GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        let text = client.read_to_close().await;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned))
    }
}

fn on(port: u16) -> String {
    format!(
        "key_secret_file: secret\nstore: {{ redis: {{ url: \"redis://127.0.0.1:{port}\", timeout: 2s }} }}\n"
    )
}

fn text(store: &str, rules: &str) -> String {
    format!(
        "tidegate: 1\n{store}api: {{ listen: 127.0.0.1:0 }}\nadmin: {{ listen: 127.0.0.1:0 }}\n\
         health: {{ listen: 127.0.0.1:0 }}\n{rules}"
    )
}

async fn ask(to: SocketAddr, method: &str, path: &str, body: &str, headers: &str) -> (u16, Value) {
    let mut client = Raw::new(TcpStream::connect(to).await.unwrap());
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    client.send(format!("{head}{body}")).await;
    let head = client.read_head().await;
    let length = field(&head, "content-length").unwrap().parse().unwrap();
    (status(&head), serde_json::from_slice(&client.read_exact(length).await).unwrap())
}

fn refuse(limit: &str) -> Value {
    json!({ "limit": limit, "mode": "refuse", "for": "1h", "because": "it burns" })
}

/// Guards the whole purpose: another number without a file, in force at once, with what was counted kept, its words told to
/// whoever is refused, and the file's terms back when it is removed, with nothing refilled.
#[tokio::test]
async fn a_number_is_in_force_at_once_and_the_files_comes_back_with_all_counts_kept() {
    let one = Instance::alone().await;
    for expected in [true, true] {
        assert_eq!(one.allows("/verify", "ada").await, expected);
    }
    let call = json!({ "limit": "verify/per-account", "number": 6, "for": "2h", "because": "a campaign" });
    let answer = one.put(call.clone()).await;
    assert_eq!(answer["replaced"], false);
    let over = &answer["override"];
    assert_eq!(
        over["in_force"],
        json!([{ "says": "6 requests at once, then 1 every 30 minutes, per account.",
                 "numbers": "token_bucket: capacity 6, refill 1 per 30m" }])
    );
    assert_eq!(
        (&over["by"], &over["applies"], &over["key"]),
        (&json!("127.0.0.1"), &json!(true), &Value::Null)
    );
    assert!((7_190..=7_200).contains(&over["ends_in_seconds"].as_u64().unwrap()), "{over}");
    assert_eq!(one.put(call).await["replaced"], true, "the same again is the same");
    assert_eq!(one.list().await.len(), 1);
    // One was left of three and is of six; nothing is given.
    assert!(one.allows("/verify", "ada").await && !one.allows("/verify", "ada").await);
    for allowed in [true, true, true, true, true, true, false] {
        assert_eq!(one.allows("/verify", "bob").await, allowed);
    }
    let told = one.check("/verify", "bob").await.to_string();
    assert!(told.contains("6 requests at once, then 1 every 30 minutes, per account."), "{told}");
    let gone = one.admin("DELETE", &json!({ "limit": "verify/per-account" })).await;
    assert_eq!((gone.0, &gone.1["removed"]["number"]), (200, &json!(6)));
    assert_eq!(one.admin("DELETE", &json!({ "limit": "verify/per-account" })).await.0, 404);
    assert!(
        !one.allows("/verify", "ada").await && !one.allows("/verify", "bob").await,
        "nothing is refilled"
    );
    for allowed in [true, true, true, false] {
        assert_eq!(one.allows("/verify", "eve").await, allowed, "three again");
    }
}

/// Each mode does what it says, for everybody and for one key, and what was counted before is found after.
#[tokio::test]
async fn modes_hold_for_everybody_or_for_one_key_alone() {
    let one = Instance::alone().await;
    let limit = "verify/per-account";
    assert!(one.allows("/verify", "ada").await);
    let mode = |mode: &str, keys: Value| json!({ "limit": limit, "keys": keys, "mode": mode, "for": "1h", "because": "night" });
    let ada = json!({ "account": " ADA " });
    let told = one.put(mode("refuse", ada.clone())).await;
    let name = told["override"]["key"].as_str().unwrap().to_owned();
    assert!(name.starts_with("hmac:"), "{told}");
    assert!(!one.allows("/verify", "ada").await && one.allows("/verify", "bob").await);
    let refused = one.check("/verify", "ada").await;
    assert_eq!(refused["retry_after"], Value::Null, "never, and so no time is told: {refused}");
    one.put(mode("off", json!({}))).await;
    assert!(!one.allows("/verify", "ada").await, "a key goes before everybody");
    for _ in 0..9 {
        assert!(one.allows("/verify", "bob").await, "nobody looks");
    }
    // By the name that logs and answers have, as well.
    let by_name = json!({ "limit": limit, "key": name });
    assert_eq!(one.admin("DELETE", &by_name).await.0, 200);
    assert!(one.allows("/verify", "ada").await, "off as all others");
    assert_eq!(one.admin("DELETE", &json!({ "limit": limit })).await.0, 200);
    // One was used before the night, by ada and by bob, and none since.
    for name in ["ada", "bob"] {
        for allowed in [true, true, false] {
            assert_eq!(one.allows("/verify", name).await, allowed, "{name}");
        }
    }
    one.put(mode("shadow", json!({ "account": "ada" }))).await;
    assert!(one.allows("/verify", "ada").await && !one.allows("/verify", "bob").await);
    let checked = one.check("/verify", "ada").await.to_string();
    assert!(checked.contains("\"shadow\":true"), "{checked}");
}

/// Guards against an exception that nobody sees again: everything that tells of the policy tells of it.
#[tokio::test]
async fn whoever_looks_sees_that_something_is_overridden() {
    let one = Instance::alone().await;
    let health = |one: &Instance| one.at.health.unwrap();
    let (_, ready) = ask(health(&one), "GET", "/readyz", "", "").await;
    assert_eq!(ready["overrides"], Value::Null);
    one.put(refuse("sell/log")).await;
    let keyed = json!({ "limit": "verify/per-account", "key": "ada", "number": 1, "for": "1h", "because": "seen \u{1b}[31m" });
    one.put(keyed).await;
    let (_, ready) = ask(health(&one), "GET", "/readyz", "", "").await;
    assert_eq!(ready["overrides"], 2);
    assert_eq!(one.metric("tidegate_overrides{limit=\"sell/log\"}").await.as_deref(), Some("1"));
    assert_eq!(one.metric("tidegate_overrides{limit=\"verify/per-account\"}").await.as_deref(), Some("1"));
    assert_eq!(one.metric("tidegate_overrides_idle").await.as_deref(), Some("0"));
    let (_, policy) = ask(one.at.api.unwrap(), "GET", "/v1/policy", "", "").await;
    let limit = &policy["rules"][1]["limits"][0];
    assert_eq!(
        (&limit["exceptions"][0]["sets"], &limit["exceptions"][0]["because"]),
        (&json!("mode refuse"), &json!("it burns"))
    );
    assert_eq!(limit["quota"]["limit"], 0, "{limit}");
    let call = json!({ "method": "GET", "path": "/verify", "keys": { "account": "ada" } });
    let (_, why) = ask(one.at.api.unwrap(), "POST", "/v1/why", &call.to_string(), "").await;
    let notes = why["rules"][0]["limits"][0]["notes"].to_string();
    assert!(notes.contains("overridden for this key until") && notes.contains("limit 1, because"), "{notes}");
    assert!(
        notes.contains("seen \\\\\\\\u{1b}[31m") || notes.contains("seen \\\\u{1b}[31m"),
        "escaped: {notes}"
    );
    let other = json!({ "method": "GET", "path": "/verify", "keys": { "account": "bob" } });
    let (_, why) = ask(one.at.api.unwrap(), "POST", "/v1/why", &other.to_string(), "").await;
    assert_eq!(why["rules"][0]["limits"][0]["notes"], json!([]));
}

/// An override ends by itself, and the file's terms are back within a second, without anybody asking.
#[tokio::test]
async fn an_override_ends_by_itself() {
    let one = Instance::alone().await;
    let call = json!({ "limit": "sell/log", "mode": "refuse", "for": "1s", "because": "a second" });
    one.put(call).await;
    assert!(!one.allows("/sell", "ada").await);
    one.until("/sell", "ada", true).await;
    assert_eq!(one.list().await, [] as [Value; 0]);
}

/// Whatever cannot be is refused with what can, and changes nothing.
#[tokio::test]
async fn what_cannot_be_is_refused_with_the_remedy() {
    let one = Instance::alone().await;
    let limit = "verify/per-account";
    for (call, code, says) in [
        (
            json!({ "limit": "verify/per-acount", "number": 1, "for": "1h", "because": "x" }),
            404,
            "did you mean \"verify/per-account\"?",
        ),
        (
            json!({ "limit": "verify/per-acount", "key": "ada", "number": 1, "for": "1h", "because": "x" }),
            404,
            "verify/per-account",
        ),
        (json!({ "limit": limit, "number": 1, "for": "1h", "because": " " }), 422, "`because`: say why"),
        (
            json!({ "limit": limit, "number": 1, "for": "1h", "because": "x".repeat(501) }),
            422,
            "`because`: has 501",
        ),
        (json!({ "limit": limit, "number": 1, "for": "1h" }), 422, "because"),
        (json!({ "limit": limit, "number": 1, "because": "x" }), 422, "for"),
        (
            json!({ "limit": limit, "number": 1, "for": "31d", "because": "x" }),
            422,
            "`for`: an override holds from 1s to 30d",
        ),
        (json!({ "limit": limit, "number": 1, "for": "999ms", "because": "x" }), 422, "`for`:"),
        (
            json!({ "limit": limit, "number": 1, "for": "99999999999999999999d", "because": "x" }),
            422,
            "`for`:",
        ),
        (json!({ "limit": limit, "number": 1, "for": "2", "because": "x" }), 422, "did you mean 2s?"),
        (
            json!({ "limit": limit, "number": 0, "for": "1h", "because": "x" }),
            422,
            "`number`: a token_bucket of 0 is none",
        ),
        (json!({ "limit": limit, "number": -1, "for": "1h", "because": "x" }), 422, "number"),
        (
            json!({ "limit": limit, "for": "1h", "because": "x" }),
            422,
            "give one of `number`, `terms` and `mode`",
        ),
        (
            json!({ "limit": limit, "number": 1, "mode": "off", "for": "1h", "because": "x" }),
            422,
            "changes one thing",
        ),
        (
            json!({ "limit": limit, "mode": "on", "for": "1h", "because": "x" }),
            422,
            "write one of shadow, off, refuse",
        ),
        (
            json!({ "limit": limit, "terms": "tokn_bucket: {}", "for": "1h", "because": "x" }),
            422,
            "did you mean \"token_bucket\"?",
        ),
        (
            json!({ "limit": limit, "terms": "x".repeat(501), "for": "1h", "because": "x" }),
            422,
            "`terms`: is longer",
        ),
        (
            json!({ "limit": limit, "keys": { "user": "ada" }, "number": 1, "for": "1h", "because": "x" }),
            422,
            "it reads account",
        ),
        (
            json!({ "limit": limit, "key": "ada", "keys": { "account": "ada" }, "number": 1, "for": "1h", "because": "x" }),
            422,
            "one of the two",
        ),
        (
            json!({ "limit": "sell/pair", "key": "ada", "number": 1, "for": "1h", "because": "x" }),
            422,
            "give them in `keys`: account, route",
        ),
        (
            json!({ "limit": "sell/log", "key": "ada", "number": 1, "for": "1h", "because": "x" }),
            422,
            "counts everyone together",
        ),
        (
            json!({ "limit": "sell/log", "key": format!("hmac:{:032}", 0), "number": 1, "for": "1h", "because": "x" }),
            422,
            "has no such key",
        ),
        (json!({ "limit": limit, "number": 1, "for": "1h", "because": "x", "who": "me" }), 422, "who"),
    ] {
        let (status, problem) = one.admin("PUT", &call).await;
        let detail = problem["detail"].as_str().unwrap();
        assert_eq!(status, code, "{call}: {problem}");
        assert!(detail.contains(says), "{call}: {detail}");
    }
    let put = refuse("sell/log").to_string();
    let admin = one.at.admin.unwrap();
    assert_eq!(ask(admin, "PUT", "/v1/overrides", &put, "origin: http://evil.example\r\n").await.0, 403);
    assert_eq!(ask(admin, "PUT", "/v1/overrides", "[1]", "").await.0, 422);
    assert_eq!(ask(admin, "PUT", "/v1/overrides", "{", "").await.0, 400);
    assert_eq!(ask(admin, "POST", "/v1/overrides", &put, "").await.0, 405);
    assert_eq!(one.list().await, [] as [Value; 0]);
    assert!(one.allows("/sell", "ada").await);
}

/// Guards against a reload that drops the exceptions, and against one that the file has left without a limit being lost or
/// in the way: it is told, and holds again once the limit is back.
#[tokio::test]
async fn a_reload_keeps_overrides_on_top_and_tells_which_apply_to_nothing() {
    let one = Instance::alone().await;
    let call = json!({ "limit": "verify/per-account", "number": 1, "for": "1h", "because": "slow" });
    one.put(call).await;
    one.put(refuse("sell/log")).await;
    let rules = RULES.replace("3 at once", "4 at once").replace("capacity: 3", "capacity: 4");
    let without = rules.replace("name: log,", "name: journal,");
    std::fs::write(&one.file, text("", &without)).unwrap();
    soon(one.reloader.reload()).await.unwrap();
    assert!(one.allows("/verify", "ada").await && !one.allows("/verify", "ada").await, "one at once still");
    let list = one.list().await;
    let of = |name: &str| list.iter().find(|one| one["limit"] == name).unwrap().clone();
    assert_eq!(
        of("verify/per-account")["in_force"][0]["numbers"],
        "token_bucket: capacity 1, refill 1 per 4h",
        "of four now"
    );
    assert_eq!(of("sell/log")["applies"], false);
    assert!(of("sell/log")["problem"].as_str().unwrap().contains("no limit is called \"sell/log\""));
    assert_eq!(one.metric("tidegate_overrides_idle").await.as_deref(), Some("1"));
    assert!(one.allows("/sell", "ada").await);
    std::fs::write(&one.file, text("", &rules)).unwrap();
    soon(one.reloader.reload()).await.unwrap();
    assert!(!one.allows("/sell", "ada").await, "refused again");
    assert_eq!(one.admin("DELETE", &json!({ "limit": "verify/per-account" })).await.0, 200);
    for allowed in [true, true, true, true, false] {
        assert_eq!(one.allows("/verify", "eve").await, allowed, "the file's own, as it is by now");
    }
}

/// Guards against a change that is lost when several come at once, with reloads among them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_once_are_all_kept() {
    let one = std::sync::Arc::new(Instance::alone().await);
    let mut tasks = tokio::task::JoinSet::new();
    for account in 0..12 {
        let one = std::sync::Arc::clone(&one);
        tasks.spawn(async move {
            let call = json!({ "limit": "verify/per-account", "key": format!("a{account}"), "mode": "refuse", "for": "1h", "because": "x" });
            one.put(call).await;
            soon(one.reloader.reload()).await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(one.list().await.len(), 12);
    for account in 0..12 {
        assert!(!one.allows("/verify", &format!("a{account}")).await, "{account}");
    }
    assert!(one.allows("/verify", "b").await);
}

/// An end that comes while reloads do is an end, and no reload brings back what it had read before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_override_that_ends_during_reloads_stays_ended() {
    let one = Instance::alone().await;
    one.put(json!({ "limit": "sell/log", "mode": "refuse", "for": "1s", "because": "short" })).await;
    soon(async {
        while !one.list().await.is_empty() {
            one.reloader.reload().await.unwrap();
        }
    })
    .await;
    for _ in 0..3 {
        soon(one.reloader.reload()).await.unwrap();
    }
    assert!(one.allows("/sell", "ada").await);
}

/// Whatever somebody else writes into the hash is nobody's override, and keeps none from being read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn junk_in_the_store_is_passed_over() {
    let redis = Server::start(&[]);
    for (field, value) in [
        ("a", "junk"),
        ("b", "9999999999999999:junk"),
        ("c", "4000000000000000:{}"),
        ("d", "4000000000000000:[]"),
    ] {
        redis.ask(&format!("HSET tg:overrides {field} {value}"));
    }
    let one = Instance::on(&redis).await;
    one.put(refuse("sell/log")).await;
    assert!(!one.allows("/sell", "ada").await);
    assert_eq!(one.list().await.len(), 1);
    let two = Instance::on(&redis).await;
    two.until("/sell", "ada", false).await;
    assert_eq!(two.list().await.len(), 1);
}

/// Guards the reason for keeping them in the store: what one instance is told every other does within a second, and one that
/// is started anew does from its first request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_instance_on_one_redis_sees_a_change_within_a_second() {
    let redis = Server::start(&[]);
    let (one, two) = (Instance::on(&redis).await, Instance::on(&redis).await);
    assert!(one.allows("/sell", "ada").await && two.allows("/verify", "ada").await);
    let began = Instant::now();
    one.put(refuse("sell/log")).await;
    one.put(json!({ "limit": "verify/per-account", "key": "ADA", "mode": "refuse", "for": "1h", "because": "bot" })).await;
    two.until("/sell", "ada", false).await;
    two.until("/verify", "ada", false).await;
    let took = began.elapsed();
    // On a machine that runs all tests at once everything takes longer; that it is no matter of minutes shows all the same.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(two.allows("/verify", "bob").await);
    assert_eq!(two.list().await.len(), 2);
    let third = Instance::on(&redis).await;
    assert!(!third.allows("/sell", "ada").await && !third.allows("/verify", "ada").await);
    let (status, _) = two.admin("DELETE", &json!({ "limit": "sell/log" })).await;
    assert_eq!(status, 200);
    one.until("/sell", "ada", true).await;
    third.until("/sell", "ada", true).await;
}

/// Guards against an outage of the store that ends an exception, or that one is made in and lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_killed_leaves_overrides_in_force_and_takes_no_new_ones() {
    let mut redis = Server::start(&[]);
    let local = RULES.replace("class: api\n", "class: api\n    on_store_failure: local\n");
    let one = Instance::start(&on(redis.port()), &local).await;
    one.put(refuse("sell/log")).await;
    one.put(json!({ "limit": "sell/pair", "mode": "off", "for": "3s", "because": "short" })).await;
    redis.kill();
    let (status, problem) = one.admin("PUT", &refuse("verify/per-account")).await;
    assert_eq!(status, 503, "{problem}");
    let (status, problem) = one.admin("DELETE", &json!({ "limit": "sell/log" })).await;
    assert_eq!(status, 503, "{problem}");
    assert!(!one.allows("/sell", "ada").await);
    // It ends by this machine's clock, with nobody to ask.
    soon(async {
        while one.list().await.len() > 1 {
            moment().await;
        }
    })
    .await;
    assert_eq!(one.list().await[0]["limit"], "sell/log");
    redis.restart();
    soon(async {
        while one.admin("PUT", &refuse("verify/per-account")).await.0 != 200 {
            moment().await;
        }
    })
    .await;
    assert!(!one.allows("/verify", "ada").await);
}

/// One instance may have another policy than the other, while a new one is rolled out: what it has not it skips.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_with_another_policy_skips_what_it_does_not_have() {
    let redis = Server::start(&[]);
    let one = Instance::on(&redis).await;
    let other = RULES.replace("name: log,", "name: journal,");
    let two = Instance::start(&on(redis.port()), &other).await;
    one.put(refuse("sell/log")).await;
    one.put(refuse("verify/per-account")).await;
    two.until("/verify", "ada", false).await;
    assert!(two.allows("/sell", "ada").await && !one.allows("/sell", "ada").await);
    assert_eq!(two.metric("tidegate_overrides_idle").await.as_deref(), Some("1"));
    // It can be removed there as well.
    assert_eq!(two.admin("DELETE", &json!({ "limit": "sell/log" })).await.0, 200);
}

/// A user of Redis that may not write the hash limits as before, and whoever asks is told which right it lacks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_permits_no_overrides_decides_all_the_same() {
    let redis = Server::start(&[]);
    redis.ask(&format!("ACL SETUSER limiter reset on >word ~tg:* {}", tidegate_store_redis::RIGHTS));
    let store = format!(
        "key_secret_file: secret\nstore: {{ redis: {{ url: \"redis://127.0.0.1:{}\", timeout: 2s, username: limiter, password_file: word }} }}\n",
        redis.port()
    );
    let folder = Folder::new("overrides-word");
    let word = folder.write("word", "word");
    let one =
        Instance::start(&store.replace("file: word", &format!("file: {}", word.display())), RULES).await;
    assert!(one.allows("/sell", "ada").await);
    let (status, problem) = one.admin("PUT", &refuse("sell/log")).await;
    assert_eq!(status, 503);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("hgetall") && detail.contains("+hset +hget +hgetall +hdel"), "{detail}");
    assert!(one.allows("/sell", "ada").await);
}

/// What a limit remembers of a key is told in numbers, by any spelling, and nothing is charged for it.
#[tokio::test]
async fn a_look_at_a_key_tells_what_is_counted_and_takes_nothing() {
    let one = Instance::alone().await;
    let inspect =
        async |call: Value| ask(one.at.admin.unwrap(), "POST", "/inspect", &call.to_string(), "").await;
    let ada = json!({ "limit": "verify/per-account", "keys": { "account": " Ada" } });
    let (status, nothing) = inspect(ada.clone()).await;
    assert_eq!((status, &nothing["counted"], &nothing["states"]), (200, &json!(false), &json!([])));
    assert!(one.allows("/verify", "ada").await && one.allows("/verify", "ada").await);
    for _ in 0..3 {
        let (_, seen) = inspect(ada.clone()).await;
        let state = &seen["states"][0];
        assert_eq!((&state["used"], &state["remaining"], &state["limit"]), (&json!(2), &json!(1), &json!(3)));
        assert_eq!(state["numbers"], "token_bucket: capacity 3, refill 1 per 1h");
        assert!(state["reset_after_micros"].as_u64().unwrap() > 7_000_000_000, "{seen}");
    }
    let by_value = json!({ "limit": "verify/per-account", "key": "ADA" });
    assert_eq!(inspect(by_value).await.1["states"][0]["used"], 2);
    assert_eq!(inspect(json!({ "limit": "verify/nothing" })).await.0, 404);
    assert_eq!(inspect(json!({ "limit": "verify/per-account" })).await.0, 422);
    drop(one.folder);
}
