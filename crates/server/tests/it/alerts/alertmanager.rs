//! A real Alertmanager, on a port of its own choice.

use std::env;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::support::soon;
use crate::tls::Folder;

const PROGRAM: &str = "TIDEGATE_ALERTMANAGER";

/// A running Alertmanager that tells nobody of anything; it ends with this.
pub(super) struct Alertmanager {
    pub(super) address: SocketAddr,
    _process: Child,
    _folder: Folder,
}

impl Alertmanager {
    pub(super) async fn start(name: &str) -> Self {
        let program = env::var_os(PROGRAM).filter(|program| Path::new(program).is_file());
        let program = program
            .unwrap_or_else(|| panic!("{PROGRAM} has to name an Alertmanager: run ./test, which gets one"));
        let folder = Folder::new(&format!("alertmanager-{name}"));
        let config = folder.write("config.yml", "route: { receiver: none }\nreceivers: [{ name: none }]\n");
        let mut process = Command::new(program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", folder.path("data").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--cluster.listen-address="])
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = soon(async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, address)) = line.split_once("msg=\"Listening on\" address=") {
                    return address.trim().parse().unwrap();
                }
            }
            panic!("Alertmanager ended before it listened");
        })
        .await;
        // It would wait for somebody to read what it logs.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { address, _process: process, _folder: folder }
    }

    /// Waits until what it shows is as expected.
    pub(super) async fn until(&self, is: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        soon(async {
            loop {
                let alerts = self.alerts().await;
                if is(&alerts) {
                    return alerts;
                }
                crate::support::moment().await;
            }
        })
        .await
    }

    /// Returns the alerts that it shows as going on.
    async fn alerts(&self) -> Vec<Value> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get("/api/v2/alerts").header("host", "test").body(Empty::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }
}
