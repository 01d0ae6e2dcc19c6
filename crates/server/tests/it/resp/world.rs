//! An application with a listener for `CL.THROTTLE`, and a client that speaks plain bytes.

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate::policy_file::Policy;
use tidegate::{MemoryOptions, MemoryStore, Store, Timestamp};
use tidegate_server::app::App;
use tidegate_store::clocked::Clocked;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::support::Raw;

/// A running application.
pub(super) struct Throttled {
    pub(super) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

/// A memory store whose clock stands at a round second.
pub(super) fn clocked() -> Arc<Clocked> {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    Arc::new(Clocked::new(store, Timestamp::saturating_from_micros(1_700_000_000_000_000)))
}

/// Sets a clock forward.
pub(super) fn pass(store: &Clocked, seconds: u64) {
    let now = store.instant().as_micros() + seconds * 1_000_000;
    store.set(Timestamp::saturating_from_micros(now));
}

/// A policy of this face alone; `more` is more of it.
fn policy(more: &str) -> Policy {
    let text = format!("tidegate: 1\nresp: {{ listen: 127.0.0.1:0{more} }}\n");
    tidegate_policy::parse("test.yaml", &text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

impl Throttled {
    /// Starts one over a store; `more` is more of its face.
    pub(super) async fn start(store: Arc<dyn Store>, more: &str) -> Self {
        Self::run(App::bind_on(policy(more), store, None).await.unwrap())
    }

    /// Starts one over a store of its own, whose clock is the machine's.
    pub(super) async fn on_its_own() -> Self {
        Self::run(App::bind(policy("")).await.unwrap())
    }

    fn run(app: App) -> Self {
        let address = app.addresses().unwrap().resp.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { address, _stop: stop }
    }

    /// Starts one in memory.
    pub(super) async fn in_memory() -> Self {
        Self::start(clocked(), "").await
    }

    /// Opens a connection.
    pub(super) async fn client(&self) -> Client {
        Client::to(self.address).await
    }
}

/// A client's side of a connection.
pub(super) struct Client(pub(super) Raw<TcpStream>);

impl Client {
    /// Opens a connection.
    pub(super) async fn to(address: SocketAddr) -> Self {
        Self(Raw::new(TcpStream::connect(address).await.unwrap()))
    }

    /// Sends a line of words and returns the reply, its lines joined by spaces.
    pub(super) async fn ask(&mut self, line: &str) -> String {
        self.0.send(format!("{line}\r\n")).await;
        self.reply().await
    }

    async fn line(&mut self) -> String {
        let line = self.0.read_until("\r\n").await;
        line.strip_suffix("\r\n").unwrap_or(&line).to_owned()
    }

    /// Returns the next reply, its lines joined by spaces.
    pub(super) async fn reply(&mut self) -> String {
        let first = self.line().await;
        let (mark, rest) = first.split_at(1);
        match mark {
            "$" if rest != "-1" => self.line().await,
            "*" | "%" => {
                let lines = rest.parse::<usize>().unwrap() * if mark == "%" { 2 } else { 1 };
                let mut items = vec![first.clone()];
                for _ in 0..lines {
                    items.push(Box::pin(self.reply()).await);
                }
                items.join(" ")
            }
            _ => first,
        }
    }
}
