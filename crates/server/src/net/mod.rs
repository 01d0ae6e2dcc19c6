//! Listeners: from a bound socket to requests handed to a tower service, and back down to nothing on shutdown.
//!
//! [`serve`] accepts ([`ServeOptions::max_connections`]), reads a PROXY protocol header where one is expected, does
//! TLS, tells HTTP/1.1 from HTTP/2, refuses requests that two readers could understand differently, and hands the
//! rest to the service with a [`PeerInfo`] in their extensions, and a [`TunnelScope`] where one asks for
//! an upgrade. It knows nothing of limits or upstreams.

mod activity;
mod admit;
mod connection;
mod framing;
mod fullness;
mod header_time;
mod linger;
mod listener;
mod options;
mod peer;
mod proxy_protocol;
mod request;
mod rewind;
mod seldom;
mod serve;
mod stall;
mod streams;
pub mod tls;
mod tunnels;

pub(crate) use connection::{Outcome, Signals};
pub(crate) use listener::{Accepted, Listener};
pub use options::{Networks, ProxyProtocol, RequestLimits, ServeOptions};
pub use peer::PeerInfo;
pub(crate) use serve::serve_each;
pub use serve::{DrainReport, serve};
pub use tunnels::TunnelScope;

/// Any error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
