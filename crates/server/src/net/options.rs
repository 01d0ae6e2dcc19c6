//! The settings of one listener.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio_rustls::TlsAcceptor;

/// Everything a listener may be told.
///
/// The defaults suit a gateway on the open network, and where a policy can set the same thing they are the policy's
/// own. Health is served with them as they stand.
#[derive(Clone)]
pub struct ServeOptions {
    /// Encrypts the listener; see [`super::tls::acceptor`]. None by default: cleartext.
    pub tls: Option<TlsAcceptor>,
    /// Expects a PROXY protocol header on every connection. None by default: never looked for.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// The most connections held at once, tunnels included. At the limit accepting waits, so that newcomers queue in
    /// the kernel's backlog rather than being turned away. Default 10,000.
    pub max_connections: usize,
    /// What a single request may be.
    pub request: RequestLimits,
    /// The longest a new connection may take over everything before HTTP: the PROXY protocol header, which has less
    /// ([`ProxyProtocol::timeout`]), the TLS handshake, or without TLS the bytes that tell HTTP/2 from HTTP/1.1.
    /// Default 30 s.
    pub handshake_timeout: Duration,
    /// The longest an HTTP/1.1 client may take over a request's header, from its first byte to its last. Default 30 s.
    pub header_timeout: Duration,
    /// How long a connection may stay open with no request on it. An HTTP/2 client that is told so and does not close
    /// has [`Self::header_timeout`] more. Default 75 s.
    pub idle_timeout: Duration,
    /// The most HTTP/2 streams one connection may have open. Default 256.
    pub http2_max_streams: u32,
    /// How often an HTTP/2 connection is pinged; unanswered for as long again, it is closed. Default 30 s.
    pub http2_keep_alive: Duration,
    /// How long a client may take none of what it is sent. A connection that takes nothing is cut off by the kernel, on
    /// Linux; elsewhere after ten times as long. An HTTP/2 stream whose answer is not taken is reset, while others of
    /// its connection go on. Default 60 s.
    pub send_timeout: Duration,
    /// How long requests under way may take to finish once shutdown has begun. Default 30 s.
    pub drain_timeout: Duration,
    /// How long an idle HTTP/1.1 connection may still bring a request once shutdown has begun: one that is on its way when
    /// the connection closes would be lost. Its answer closes the connection. Default 500 ms.
    pub last_request: Duration,
    /// Whether answers are short and nearly always made without waiting, as a decision in memory is: the streams that an
    /// HTTP/2 connection has read together are then answered together, without a task for each. Default false.
    pub answers_at_once: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            tls: None,
            proxy_protocol: None,
            max_connections: 10_000,
            request: RequestLimits::default(),
            handshake_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            http2_max_streams: 256,
            http2_keep_alive: Duration::from_secs(30),
            send_timeout: Duration::from_mins(1),
            drain_timeout: Duration::from_secs(30),
            last_request: Duration::from_millis(500),
            answers_at_once: false,
        }
    }
}

impl ServeOptions {
    /// Returns the defaults for a listener that answers with decisions.
    pub(crate) fn for_decisions() -> Self {
        Self { answers_at_once: true, ..Self::default() }
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("tls", &self.tls.is_some())
            .field("proxy_protocol", &self.proxy_protocol)
            .field("max_connections", &self.max_connections)
            .field("request", &self.request)
            .field("handshake_timeout", &self.handshake_timeout)
            .field("header_timeout", &self.header_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("drain_timeout", &self.drain_timeout)
            .finish_non_exhaustive()
    }
}

/// Bounds on one request's header, whatever the protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The most bytes of request line and header together; more is answered 431. Default 32 KiB, at least 8 KiB.
    pub max_header_bytes: usize,
    /// The most header fields; more is answered 431. Default 100, for which HTTP/1.1 makes no list on the heap.
    pub max_headers: usize,
    /// The longest request target in bytes; more is answered 414. Default 8 KiB.
    pub max_target_bytes: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { max_header_bytes: 32 * 1024, max_headers: 100, max_target_bytes: 8 * 1024 }
    }
}

/// Networks that can be replaced while a listener asks for them. Clones are the same networks.
#[derive(Clone, Debug, Default)]
pub struct Networks(Arc<ArcSwap<Vec<IpNet>>>);

impl Networks {
    /// Returns whether an address is in one of them.
    pub(crate) fn contain(&self, address: &IpAddr) -> bool {
        self.0.load().iter().any(|network| network.contains(address))
    }

    /// Puts other networks in the place of these.
    pub fn replace(&self, networks: Vec<IpNet>) {
        self.0.store(Arc::new(networks));
    }
}

impl From<Vec<IpNet>> for Networks {
    fn from(networks: Vec<IpNet>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(networks)))
    }
}

/// Who may speak the PROXY protocol to a listener, and how fast.
#[derive(Clone, Debug)]
pub struct ProxyProtocol {
    /// The load balancers; a connection from anywhere else is closed unread.
    pub trusted: Networks,
    /// The longest the header may take. Default 3 s, the least the protocol asks for.
    pub timeout: Duration,
}

impl Default for ProxyProtocol {
    fn default() -> Self {
        Self { trusted: Networks::default(), timeout: Duration::from_secs(3) }
    }
}
