//! The three-in-the-morning switch: `/v1/overrides` of the operator's endpoint, over real sockets and a real Redis.

mod holds;
mod refused;
mod shared;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

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
