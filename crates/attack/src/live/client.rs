//! Sending requests to a gateway, over connections that are kept and come from the addresses that requests are to come from.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tidegate_algorithms::{Span, Timestamp};
use tokio::net::TcpSocket;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::drive::now;
use super::place::Place;
use crate::target::Wire;

/// How long a gateway may take to answer: longer than a queue makes a request wait, as far as one is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

type Sender = SendRequest<Full<Bytes>>;

/// Connections to one gateway, by the address they come from.
pub(super) struct Client<'p> {
    place: &'p Place,
    idle: Mutex<HashMap<IpAddr, Vec<Sender>>>,
}

/// An answer, with the instants at which its request was sent and it came.
pub(super) struct Response {
    pub(super) sent: Timestamp,
    pub(super) received: Timestamp,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl Response {
    /// Returns whether the gateway let the request through to what stands behind it.
    pub(super) fn is_admitted(&self) -> bool {
        !matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_REQUEST
        )
    }

    pub(super) fn retry_after(&self) -> Option<Span> {
        let text = self.headers.get(RETRY_AFTER)?.to_str().ok()?;
        text.parse().ok().map(Span::from_secs)
    }
}

impl<'p> Client<'p> {
    pub(super) fn new(place: &'p Place) -> Self {
        Self { place, idle: Mutex::default() }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// In words, when the gateway cannot be reached or does not answer.
    pub(super) async fn send(&self, wire: &Wire) -> Result<Response, String> {
        let kept = self.idle.lock().await.get_mut(&wire.peer).and_then(Vec::pop);
        let mut sender = match kept.filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => self.connect(wire.peer).await?,
        };
        let request = self.request(wire)?;
        let lost = |error: &dyn std::error::Error| format!("{}: no answer: {error}", self.place);
        sender.ready().await.map_err(|error| lost(&error))?;
        let sent = now();
        let answer = timeout(PATIENCE, async {
            let response = sender.send_request(request).await?;
            let (parts, body) = response.into_parts();
            let received = now();
            body.collect().await?;
            Ok::<_, hyper::Error>((parts, received))
        });
        let (parts, received) = answer.await.map_err(|error| lost(&error))?.map_err(|error| lost(&error))?;
        if !sender.is_closed() {
            self.idle.lock().await.entry(wire.peer).or_default().push(sender);
        }
        Ok(Response { sent, received, status: parts.status, headers: parts.headers })
    }

    /// Opens a connection from an address of this machine.
    async fn connect(&self, from: IpAddr) -> Result<Sender, String> {
        let address = self.place.address();
        let failed = |error: std::io::Error| format!("{}: cannot connect from {from}: {error}", self.place);
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.map_err(failed)?;
        if self.place.is_loopback() && from.is_ipv4() == address.is_ipv4() {
            socket.bind(SocketAddr::new(from, 0)).map_err(failed)?;
        }
        let stream = socket.connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|error| format!("{}: {error}", self.place))?;
        // It ends with the gateway's or the client's end of it; there is nobody to tell.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn request(&self, wire: &Wire) -> Result<http::Request<Full<Bytes>>, String> {
        let target = match &wire.query {
            Some(query) => format!("{}?{query}", wire.path),
            None => wire.path.clone(),
        };
        let host = wire.host.as_deref().unwrap_or(self.place.host());
        let mut request = http::Request::builder()
            .method(wire.method.as_str())
            .uri(target)
            .body(Full::new(Bytes::from(wire.body.clone())))
            .map_err(|error| format!("no request can be made of the policy: {error}"))?;
        *request.headers_mut() = wire.headers.clone();
        let host = HeaderValue::from_str(host).map_err(|error| format!("{host}: {error}"))?;
        request.headers_mut().insert(HOST, host);
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(wire.body.len()));
        Ok(request)
    }
}
