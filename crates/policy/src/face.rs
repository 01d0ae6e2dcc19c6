//! Faces: where the process listens, and what stands behind the gateway.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use tidegate_algorithms::Span;

/// The reverse proxy's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where requests go: `http`, a host, perhaps a port, no path.
    pub upstream: http::Uri,
    /// The certificate it shows, for TLS on the listener.
    pub tls: Option<TlsFiles>,
    /// Whether connections open with a PROXY protocol header.
    pub proxy_protocol: bool,
    /// The most bytes of a body that are held to read a key from it.
    pub max_key_body: usize,
    /// The most bytes of a request's header section.
    pub max_header_bytes: usize,
    /// The most connections open at once.
    pub max_connections: usize,
    /// How long a connection may stay without a request.
    pub idle_timeout: Duration,
    /// How long the upstream may take to begin its answer.
    pub upstream_timeout: Duration,
    /// How long requests under way may take once a stop is asked for.
    pub drain_timeout: Duration,
    /// Whether the upstream is spoken to in HTTP/2 (with prior knowledge over plain text).
    pub upstream_http2: bool,
}

/// A certificate chain and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's certificate first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The decision API's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// Where it listens; off loopback only with a token.
    pub listen: SocketAddr,
    /// The file that holds the bearer token.
    pub token_file: Option<PathBuf>,
    /// How proxies that ask before they forward are answered.
    pub forward_auth: ForwardAuth,
}

/// How proxies are answered that ask about a request before they forward it. They are asked for nothing unless they are
/// trusted proxies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForwardAuth {
    /// The header by which a proxy names a request, the same when it asks again about the same one (an internal redirect),
    /// so that it is charged once. The proxy has to set it itself: one that a client may choose would be a way past.
    pub request_id: Option<HeaderName>,
}

/// Envoy's rate-limit service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envoy {
    /// Where it listens; off loopback only with a token.
    pub listen: SocketAddr,
    /// The file that holds the bearer token.
    pub token_file: Option<PathBuf>,
    /// What it answers when the store is gone and a rule denies then.
    pub on_deny: OnDeny,
    /// How long an answer may take; Envoy waits 20 ms unless it is told otherwise, and lets pass what comes later.
    pub timeout: Span,
    /// How several descriptors are counted.
    pub counting: Counting,
}

/// What Envoy is answered when the store is gone and a rule denies then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDeny {
    /// `OVER_LIMIT`, with a body that says why.
    OverLimit,
    /// The status `UNAVAILABLE`, which Envoy lets pass unless it was told `failure_mode_deny: true`.
    Unavailable,
}

/// How the descriptors of one call are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counting {
    /// All of them or none.
    AllOrNothing,
    /// Each by itself, and what is refused uses up what is left, as envoyproxy/ratelimit counts.
    Each,
}

/// The listener for clients that speak a Redis server's protocol, for `CL.THROTTLE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resp {
    /// Where it listens; off loopback only with a password.
    pub listen: SocketAddr,
    /// The file that holds the password of `AUTH`.
    pub token_file: Option<PathBuf>,
}

/// The operator's endpoint: metrics, and reloading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens; off loopback only with a token.
    pub listen: SocketAddr,
    /// The file that holds the bearer token.
    pub token_file: Option<PathBuf>,
}

/// The health endpoint's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Where it listens.
    pub listen: SocketAddr,
}
