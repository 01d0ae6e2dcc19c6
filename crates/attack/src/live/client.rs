//! Sending requests to a gateway, over connections that are kept and come from the addresses that requests are to come from.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tidegate_algorithms::{Span, Timestamp};
use tidegate_policy::ProblemTemplate;
use tokio::net::TcpSocket;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use super::Place;
use super::drive::now;
use super::here::Sources;
use super::kind::Kind;
use crate::target::Wire;

/// How long a gateway may take to answer: longer than a queue makes a request wait, as far as one is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// So many requests are under way at once at most, and so many connections are kept for the next: each takes a descriptor.
const UNDER_WAY: usize = 256;
const KEPT: usize = 256;

/// So many bytes of an answer are read.
const MOST_BODY: usize = 64 << 10;

type Sender = SendRequest<Full<Bytes>>;

/// Connections to one gateway, by the address they come from.
pub(super) struct Client<'p> {
    place: &'p Place,
    sources: Sources,
    template: &'p ProblemTemplate,
    idle: Mutex<HashMap<IpAddr, Vec<Sender>>>,
    /// Taken by every request that is under way.
    places: Semaphore,
}

/// An answer, with the instants at which its request was sent and it came.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) sent: Timestamp,
    pub(super) received: Timestamp,
    pub(super) kind: Kind,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl Response {
    pub(super) fn retry_after(&self) -> Option<Span> {
        let text = self.headers.get(RETRY_AFTER)?.to_str().ok()?;
        text.parse().ok().map(Span::from_secs)
    }
}

impl<'p> Client<'p> {
    /// Takes a gateway, from where it is asked, and what its policy gives refusals.
    pub(super) fn new(place: &'p Place, sources: Sources, template: &'p ProblemTemplate) -> Self {
        Self { place, sources, template, idle: Mutex::default(), places: Semaphore::new(UNDER_WAY) }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// In words, when the gateway cannot be reached or does not answer.
    pub(super) async fn send(&self, wire: &Wire) -> Result<Response, String> {
        let request = self.request(wire)?;
        // It is never closed.
        let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
        let mut sender = self.connection(wire.peer).await?;
        let lost = |error: &dyn std::error::Error| {
            let why = error.source().map_or_else(String::new, |source| format!(" ({source})"));
            format!("{}: it went away: {error}{why}; see its log", self.place)
        };
        let sent = now();
        let answer = timeout(PATIENCE, async {
            let response = sender.send_request(request).await?;
            let (parts, body) = response.into_parts();
            let received = now();
            // A refusal of a gateway is short; what is longer is the service's own, and is not read.
            match Limited::new(body, MOST_BODY).collect().await {
                Ok(body) => Ok((parts, received, Some(body.to_bytes()))),
                Err(error) => match error.downcast::<hyper::Error>() {
                    Ok(error) => Err(*error),
                    Err(_) => Ok((parts, received, None)),
                },
            }
        });
        let silent = |_| format!("{}: no answer in {} seconds; see its log", self.place, PATIENCE.as_secs());
        let (parts, received, body) = answer.await.map_err(silent)?.map_err(|error| lost(&error))?;
        if body.is_some() {
            self.keep(wire.peer, sender).await;
        }
        let kind = Kind::of(parts.status, &parts.headers, &body.unwrap_or_default(), self.template);
        Ok(Response { sent, received, kind, status: parts.status, headers: parts.headers })
    }

    /// Returns a connection that is ready: a kept one, unless the gateway has closed those meanwhile.
    async fn connection(&self, from: IpAddr) -> Result<Sender, String> {
        loop {
            let kept = self.idle.lock().await.get_mut(&from).and_then(Vec::pop);
            let Some(mut sender) = kept else { break };
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        self.connect(from).await
    }

    /// Keeps a connection for the next request from an address.
    async fn keep(&self, from: IpAddr, sender: Sender) {
        let mut idle = self.idle.lock().await;
        if !sender.is_closed() && idle.values().map(Vec::len).sum::<usize>() < KEPT {
            idle.entry(from).or_default().push(sender);
        }
    }

    /// Opens a connection from an address of this machine.
    async fn connect(&self, from: IpAddr) -> Result<Sender, String> {
        let address = self.place.address();
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::ConnectionRefused => format!(
                "{}: nothing listens there; start the gateway with `tidegate serve POLICY`, or name the address it \
                 listens on",
                self.place
            ),
            _ => format!("{}: cannot connect from {from}: {error}", self.place),
        };
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.map_err(failed)?;
        if self.sources == Sources::Loopback {
            socket.bind(SocketAddr::new(from, 0)).map_err(failed)?;
        }
        let connected = timeout(PATIENCE, socket.connect(address)).await;
        let stream = connected.map_err(|_| failed(std::io::ErrorKind::TimedOut.into()))?.map_err(failed)?;
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
