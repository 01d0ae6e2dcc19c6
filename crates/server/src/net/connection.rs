//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::BoxError;
use super::activity::Activity;
use super::framing::{self, Findings};
use super::fullness::Fullness;
use super::linger::Lingering;
use super::listener::Accepted;
use super::options::{ProxyProtocol, ServeOptions};
use super::peer::PeerInfo;
use super::proxy_protocol::{self, HeaderError};
use super::request::Context;
use super::rewind::Rewind;
use super::seldom::Seldom;
use super::streams::{Streams, Together};
use super::tunnels::Tunnels;

/// What every HTTP/2 connection starts with; no HTTP/1.1 method is its beginning.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long a connection that has sent nothing may still do so once draining has begun: enough for bytes that had
/// arrived before to be noticed.
const LAST_CHANCE: Duration = Duration::from_millis(100);
/// How long a connection may be silent before the kernel asks whether the client is still there: in a tunnel, or while
/// a slow answer is awaited, nothing else would notice.
const TCP_KEEPALIVE: Duration = Duration::from_mins(1);
/// hyper refuses to work with less.
const SMALLEST_BUFFER: usize = 8192;
/// The most header fields that hyper takes unless told another number. Told any, also this one, it makes two lists of some
/// kilobytes on the heap for each request.
const HYPERS_HEADERS: usize = 100;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// By itself, or by the client.
    Ended,
    /// By us, with this many requests under way.
    Cut { requests: usize },
}

/// The two steps of a listener's end.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Finish what is under way.
    pub(crate) draining: CancellationToken,
    /// Stop.
    pub(crate) cut: CancellationToken,
}

impl Signals {
    /// Signals that follow these. Each connection polls its own, or all would queue for one lock at every wake-up.
    fn child(&self) -> Self {
        Self { draining: self.draining.child_token(), cut: self.cut.child_token() }
    }
}

/// Everything the connections of a listener have in common.
pub(crate) struct Connector {
    options: ServeOptions,
    http1: http1::Builder,
    signals: Arc<Signals>,
    tunnels: Tunnels,
}

impl Connector {
    pub(crate) fn new(options: ServeOptions, signals: Arc<Signals>, tunnels: Tunnels) -> Self {
        let http1 = http1_builder(&options);
        Self { options, http1, signals, tunnels }
    }

    /// Serves a connection to its end.
    pub(crate) async fn run<S, B>(self: Arc<Self>, accepted: Accepted, service: S) -> Outcome
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.begin(accepted, service).await.unwrap_or(Outcome::Ended)
    }

    /// Goes through everything before HTTP, then serves that; `None` when it does not come so far.
    async fn begin<S, B>(&self, accepted: Accepted, service: S) -> Option<Outcome>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let signals = self.signals.child();
        let Accepted { stream, peer, permit } = accepted;
        let before = BeforeHttp {
            deadline: Instant::now() + self.options.handshake_timeout,
            draining: signals.draining.clone(),
        };
        let (stream, info) = self.open(stream, peer, &before).await?;
        let tunnels = self.tunnels.scope(permit);
        let Some(tls) = &self.options.tls else {
            let (stream, http2) = before.wait(read_version(stream)).await?;
            let context = Context::new(info, tunnels, self.options.request);
            return Some(self.http(stream, http2, (context, signals), service).await);
        };
        let stream = before.wait(tls.accept(stream)).await?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let context = Context::new(PeerInfo { tls: true, ..info }, tunnels, self.options.request);
        Some(self.http(stream, http2, (context, signals), service).await)
    }

    /// Sets the socket up and finds out who is there; `None` when the connection is to be dropped.
    async fn open(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        before: &BeforeHttp,
    ) -> Option<(Rewind<TcpStream>, PeerInfo)> {
        // Without it small answers wait for the client's delayed acknowledgement. A socket that is gone says so later.
        let _ = stream.set_nodelay(true);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(TCP_KEEPALIVE));
        // A client that asks and does not read would hold its connection, and one to the upstream, for ever.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(self.options.send_timeout));
        let local = stream.local_addr().ok()?;
        let (source, rest) = match &self.options.proxy_protocol {
            None => (None, Bytes::new()),
            Some(expected) => before.wait(read_source(&mut stream, peer, expected)).await?,
        };
        let info = PeerInfo { peer: source.unwrap_or(peer), local, tls: false };
        Some((Rewind::new(stream, rest), info))
    }

    async fn http<T, S, B>(
        &self,
        stream: T,
        http2: bool,
        (context, signals): (Context, Signals),
        service: S,
    ) -> Outcome
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let context = Arc::new(context);
        let (activity, stalls) = (Arc::clone(&context.activity), Arc::clone(&context.stalls));
        let ServeOptions { idle_timeout, header_timeout, last_request, send_timeout, .. } = self.options;
        let stream = Fullness::new(stream, Arc::clone(&stalls));
        let stalled = stalls.stalled(send_timeout);
        if http2 {
            // Its clients are told which requests will not be looked at, so there is nothing to wait for.
            let ends = Ends { signals, idle_timeout, last_request: Duration::ZERO };
            // Being told to go takes the client's part, and one that never begins is neither told nor pinged.
            let overdue = either(activity.idle_for(idle_timeout + header_timeout), stalled);
            let handler =
                service_fn(move |request| Arc::clone(&context).handle(service.clone(), request, None));
            let at_once = self.options.answers_at_once;
            let streams = Streams::new(at_once);
            let stream = if at_once { stream.in_one_piece() } else { stream };
            let http2 = http2_builder(&self.options, streams.clone());
            let connection = Together::new(http2.serve_connection(TokioIo::new(stream), handler), streams);
            let shut_down = |it: Pin<&mut Together<_>>| http2::Connection::graceful_shutdown(it.connection());
            return ends.drive(connection, shut_down, &activity, overdue).await;
        }
        let findings = Findings::new();
        let stream = Lingering::new(framing::watched(stream, Arc::clone(&findings)), Arc::clone(&findings));
        let header = Arc::clone(&findings);
        let late = either(header.header_time.overdue(&activity, header_timeout), stalled);
        // The connection on which no header ever begins, which hyper would keep although told to end it.
        let silent = activity.idle_for(header_timeout.max(idle_timeout) + LAST_CHANCE);
        let overdue = either(late, silent);
        let handler = service_fn(move |request| {
            let findings = Arc::clone(&findings);
            Arc::clone(&context).handle(service.clone(), request, Some(findings))
        });
        let connection = self.http1.serve_connection(TokioIo::new(stream), handler).with_upgrades();
        let ends = Ends { signals, idle_timeout, last_request };
        ends.drive(connection, http1::UpgradeableConnection::graceful_shutdown, &activity, overdue).await
    }
}

/// What bounds the steps before HTTP, all of them together.
struct BeforeHttp {
    deadline: Instant,
    draining: CancellationToken,
}

impl BeforeHttp {
    /// Waits for a step, until the deadline and not beyond the start of draining.
    async fn wait<T, E: std::fmt::Display>(&self, step: impl Future<Output = Result<T, E>>) -> Option<T> {
        let last_chance = async {
            self.draining.cancelled().await;
            tokio::time::sleep(LAST_CHANCE).await;
        };
        tokio::select! {
            biased;
            done = step => done.inspect_err(|error| tracing::debug!(%error, "a connection failed before HTTP")).ok(),
            () = tokio::time::sleep_until(self.deadline) => None,
            () = last_chance => None,
        }
    }
}

/// What has come to end a connection.
enum Event {
    /// It is to finish what is under way.
    End,
    /// It has had its time for that.
    Cut,
    /// Its client is late.
    Overdue,
}

/// What can end a connection besides its client.
struct Ends {
    signals: Signals,
    idle_timeout: Duration,
    last_request: Duration,
}

impl Ends {
    /// Polls a connection until it has ended: by itself, for having been idle, by draining, or because something of
    /// the client's is `overdue`.
    async fn drive<C>(
        &self,
        connection: C,
        shut_down: fn(Pin<&mut C>),
        activity: &Activity,
        overdue: impl Future<Output = ()>,
    ) -> Outcome
    where
        C: Future<Output = hyper::Result<()>>,
    {
        let (mut overdue, mut connection) = (pin!(overdue), pin!(connection));
        let mut idle = pin!(activity.idle_for(self.idle_timeout));
        let mut drained = pin!(self.drained(activity));
        let mut is_ending = false;
        loop {
            let goes_on = !is_ending;
            let event = pin!(Seldom::new(async {
                tokio::select! {
                    biased;
                    () = self.signals.cut.cancelled() => Event::Cut,
                    () = &mut overdue => Event::Overdue,
                    () = &mut drained, if goes_on => Event::End,
                    () = &mut idle, if goes_on => Event::End,
                }
            }));
            let event = tokio::select! {
                // The connection first, so that bytes already there count as a request before the end is told.
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended with an error");
                    }
                    return Outcome::Ended;
                }
                event = event => event,
            };
            match (event, activity.under_way()) {
                (Event::End, _) => {}
                (Event::Cut, 0) => return Outcome::Ended,
                (Event::Cut, requests) => return Outcome::Cut { requests },
                (Event::Overdue, _) => {
                    tracing::debug!("a client took too long over a header, an answer or its goodbye");
                    return Outcome::Ended;
                }
            }
            is_ending = true;
            shut_down(connection.as_mut());
        }
    }

    /// Returns once draining has begun and the connection's last request has begun or will not come.
    async fn drained(&self, activity: &Activity) {
        self.signals.draining.cancelled().await;
        tokio::select! {
            biased;
            () = activity.busy() => {}
            () = tokio::time::sleep(self.last_request) => {}
        }
    }
}

/// Returns as soon as one of two has come to its end.
async fn either(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    tokio::select! {
        () = one => {}
        () = other => {}
    }
}

/// Reads a PROXY protocol header from a peer that may send one.
async fn read_source(
    stream: &mut TcpStream,
    peer: SocketAddr,
    expected: &ProxyProtocol,
) -> Result<(Option<SocketAddr>, Bytes), HeaderError> {
    let address = peer.ip().to_canonical();
    if !expected.trusted.contain(&address) {
        return Err(HeaderError::Untrusted(address));
    }
    tokio::time::timeout(expected.timeout, proxy_protocol::read_header(stream))
        .await
        .unwrap_or(Err(HeaderError::Timeout))
}

/// Reads until the bytes are, or are not, HTTP/2's preface; returns the stream as it was, and which it is.
async fn read_version<T: AsyncRead + Unpin>(mut stream: T) -> std::io::Result<(Rewind<T>, bool)> {
    let mut buffer = BytesMut::with_capacity(1024);
    loop {
        let ended = stream.read_buf(&mut buffer).await? == 0;
        let shared = buffer.len().min(HTTP2_PREFACE.len());
        let alike = buffer[..shared] == HTTP2_PREFACE[..shared];
        if ended || !alike || shared == HTTP2_PREFACE.len() {
            return Ok((Rewind::new(stream, buffer.freeze()), alike && !ended));
        }
    }
}

fn http1_builder(options: &ServeOptions) -> http1::Builder {
    let header = options.request.max_header_bytes.max(SMALLEST_BUFFER);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // hyper's timer is set anew by each request. Ours are not, see `header_time` and `activity`.
        .header_read_timeout(None)
        .max_header_size(header)
        // A header of exactly the limit must fit with some of its body behind it.
        .max_buf_size(header + SMALLEST_BUFFER);
    if options.request.max_headers != HYPERS_HEADERS {
        builder.max_headers(options.request.max_headers);
    }
    builder
}

fn http2_builder(options: &ServeOptions, streams: Streams) -> http2::Builder<Streams> {
    let header = u32::try_from(options.request.max_header_bytes).unwrap_or(u32::MAX);
    let mut builder = http2::Builder::new(streams);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(options.http2_max_streams)
        .max_header_list_size(header)
        .keep_alive_interval(options.http2_keep_alive)
        .keep_alive_timeout(options.http2_keep_alive)
        // It is found out by pings and clocks, and what asks for a decision is short.
        .adaptive_window(!options.answers_at_once);
    builder
}

#[cfg(test)]
mod tests;
