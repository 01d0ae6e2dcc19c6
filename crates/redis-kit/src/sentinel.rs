//! A primary with a replica, watched by three sentinels.

use std::collections::HashMap;
use std::fs;

use crate::server::{Server, soon};

/// The name under which the sentinels watch the primary.
const NAME: &str = "limits";

/// A primary, a replica and three sentinels.
#[derive(Debug)]
pub struct Watched {
    /// The primary at the start.
    pub primary: Server,
    /// Its replica.
    pub replica: Server,
    /// The sentinels.
    pub sentinels: Vec<Server>,
}

impl Watched {
    /// Starts them; a primary is taken for dead after half a second.
    pub fn start() -> Self {
        let primary = Server::start(&[]);
        let port = primary.port().to_string();
        let replica = Server::start(&["--replicaof", "127.0.0.1", &port, "--repl-diskless-sync-delay", "0"]);
        let sentinels: Vec<Server> = (0..3).map(|_| sentinel(&port)).collect();
        let watched = Self { primary, replica, sentinels };
        soon("the replica", || (watched.primary.info("connected_slaves") == Some(1)).then_some(()));
        for sentinel in &watched.sentinels {
            soon("the sentinels know each other and the replica", || {
                let all: redis::RedisResult<HashMap<String, String>> =
                    redis::cmd("SENTINEL").arg("MASTER").arg(NAME).query(&mut sentinel.connection());
                let all = all.ok()?;
                let number = |field: &str| all.get(field).and_then(|number| number.parse::<u32>().ok());
                (number("num-slaves") == Some(1) && number("num-other-sentinels") == Some(2)).then_some(())
            });
        }
        watched
    }

    /// Returns the name the primary goes by.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Returns the sentinels' addresses.
    pub fn addresses(&self) -> Vec<(String, u16)> {
        self.sentinels.iter().map(|sentinel| ("127.0.0.1".to_owned(), sentinel.port())).collect()
    }
}

fn sentinel(primary: &str) -> Server {
    // A sentinel writes into its configuration, which therefore is a file.
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("tidegate-sentinel-{}-{number}.conf", std::process::id()));
    let text = format!(
        "sentinel monitor {NAME} 127.0.0.1 {primary} 2\nsentinel down-after-milliseconds {NAME} 500\n\
         sentinel failover-timeout {NAME} 3000\nsentinel parallel-syncs {NAME} 1\n"
    );
    fs::write(&path, text).unwrap();
    Server::start_sentinel(&path)
}
