//! A real redis-server on a free port, which keeps nothing on the disk.

use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::support::{Raw, soon};
use crate::tls::Folder;

/// A running server; it ends with this.
pub(super) struct Redis {
    pub(super) address: SocketAddr,
    process: Child,
    folder: Folder,
}

impl Redis {
    pub(super) async fn start(name: &str) -> Self {
        let folder = Folder::new(&format!("redis-{name}"));
        loop {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let mut process = spawn(address, &folder);
            if answers(address, &mut process).await {
                return Self { address, process, folder };
            }
        }
    }

    /// Ends it at once, as a machine that loses its power does.
    pub(super) fn kill(&mut self) {
        self.process.start_kill().unwrap();
    }

    /// Starts it anew on the same port, empty.
    pub(super) async fn restart(&mut self) {
        soon(self.process.wait()).await.unwrap();
        soon(async {
            loop {
                self.process = spawn(self.address, &self.folder);
                if answers(self.address, &mut self.process).await {
                    return;
                }
            }
        })
        .await;
    }
}

fn spawn(address: SocketAddr, folder: &Folder) -> Child {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
        .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
        .arg("--dir")
        .arg(folder.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("redis-server has to be installed: run ./test, which does that")
}

/// Waits until it answers; false when it ended instead, as when somebody else took the port.
async fn answers(address: SocketAddr, process: &mut Child) -> bool {
    soon(async {
        loop {
            if process.try_wait().unwrap().is_some() {
                return false;
            }
            if let Ok(stream) = TcpStream::connect(address).await {
                let mut raw = Raw::new(stream);
                raw.send("PING\r\n").await;
                return raw.read_until("\r\n").await == "+PONG\r\n";
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
