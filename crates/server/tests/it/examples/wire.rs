//! Both sides of the gateway: requests as bytes, and a service behind that answers when it is told to.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::Value;
use tidegate::policy_file::suite::{Answered, Described};
use tidegate_server::net::ServeOptions;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tower::service_fn;

use crate::support::{Gateway, Raw, field, status};

/// The field by which a request is known on both sides; no policy reads it.
const NUMBER: &str = "x-request-number";
/// The field that only the service behind sends.
const BEHIND: &str = "x-answered-behind";

/// Writes a request as a load balancer hands it over: the client's address, then the request.
pub(super) fn request(described: &Described, client: IpAddr, number: u64) -> Vec<u8> {
    let request = described.request();
    let (family, own) = if client.is_ipv4() { ("TCP4", "127.0.0.1") } else { ("TCP6", "::1") };
    let query = request.query.map(|query| format!("?{query}")).unwrap_or_default();
    let (method, path, host) = (request.method, request.path, request.host.unwrap_or("example.test"));
    let mut bytes = format!(
        "PROXY {family} {client} {own} 4711 443\r\n{method} {path}{query} HTTP/1.1\r\nhost: {host}\r\n\
         connection: close\r\n{NUMBER}: {number}\r\n"
    )
    .into_bytes();
    for (name, value) in request.headers.iter().filter(|(name, _)| **name != http::header::HOST) {
        bytes.extend_from_slice(format!("{name}: ").as_bytes());
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    if let Some(body) = request.body {
        bytes.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(request.body.unwrap_or_default());
    bytes
}

/// What a client gets.
#[derive(Debug)]
pub(super) struct Reply {
    head: String,
    body: String,
}

impl Reply {
    pub(super) fn status(&self) -> u16 {
        status(&self.head)
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// Returns the number of the request that the service behind answered, if it was that which answered.
    pub(super) fn answered_behind(&self) -> Option<u64> {
        self.field(BEHIND).map(|number| number.parse().unwrap())
    }

    /// Returns a member of a problem's body, nothing for one that is not there.
    pub(super) fn problem(&self, member: &str) -> Value {
        assert_eq!(self.field("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(problem["status"], self.status(), "{self:?}");
        problem[member].clone()
    }

    /// Returns the units that the `RateLimit` field says are left of a limit.
    pub(super) fn remaining(&self, limit: &str) -> Option<u32> {
        let items = self.field("ratelimit")?.split(", ");
        let item = items.into_iter().find_map(|item| item.strip_prefix(&format!("\"{limit}\";r=")))?;
        item.split(';').next()?.parse().ok()
    }
}

/// Sends a request on a connection of its own and reads the answer.
pub(super) async fn exchange(gateway: SocketAddr, request: Vec<u8>) -> Reply {
    let mut connection = Raw::new(TcpStream::connect(gateway).await.unwrap());
    connection.send(request).await;
    let head = connection.read_head().await;
    Reply { head, body: connection.read_to_close().await }
}

/// A request that has come to the service behind, and waits there.
pub(super) struct Arrival {
    pub(super) number: u64,
    pub(super) answer: oneshot::Sender<(StatusCode, HeaderMap)>,
}

/// The service behind the gateway.
pub(super) struct Behind {
    pub(super) server: Gateway,
    pub(super) arrivals: mpsc::UnboundedReceiver<Arrival>,
    reached: Arc<AtomicU64>,
}

impl Behind {
    pub(super) async fn start() -> Self {
        let (tell, arrivals) = mpsc::unbounded_channel();
        let reached = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&reached);
        let service = service_fn(move |request| {
            count.fetch_add(1, Ordering::Relaxed);
            serve(request, tell.clone())
        });
        Self { server: Gateway::around(service, ServeOptions::default()).await, arrivals, reached }
    }

    /// Returns how often it was reached.
    pub(super) fn reached(&self) -> u64 {
        self.reached.load(Ordering::Relaxed)
    }
}

/// Tells of a request and answers it as it is told to.
async fn serve(
    request: Request<Incoming>,
    tell: mpsc::UnboundedSender<Arrival>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let number = request.headers()[NUMBER].clone();
    let (answer, answered) = oneshot::channel();
    let _ = tell.send(Arrival { number: number.to_str().unwrap().parse().unwrap(), answer });
    let mut response = Response::new(Full::default());
    // Whoever is not answered has left.
    if let Ok((status, headers)) = answered.await {
        *response.status_mut() = status;
        *response.headers_mut() = headers;
    }
    response.headers_mut().insert(BEHIND, number);
    Ok(response)
}

impl Arrival {
    pub(super) fn say(answer: oneshot::Sender<(StatusCode, HeaderMap)>, said: &Answered) {
        let _ = answer.send((said.status, said.headers.clone()));
    }
}
