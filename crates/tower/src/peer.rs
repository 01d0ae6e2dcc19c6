//! Who is connected: what whoever accepts connections says of it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;

/// The address of a connection's other end; a request extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(pub IpAddr);

type Tell = dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync;

/// Where a layer learns who is connected.
#[derive(Clone, Default)]
pub(crate) struct PeerSource {
    own: Option<Arc<Tell>>,
}

impl PeerSource {
    /// Asks a closure, and nobody else.
    pub(crate) fn by(tell: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        Self { own: Some(Arc::new(tell)) }
    }

    /// Returns the address of the other end, when anybody has told it.
    pub(crate) fn of(&self, head: &Parts) -> Option<IpAddr> {
        if let Some(tell) = &self.own {
            return tell(head);
        }
        head.extensions.get::<PeerAddr>().map(|peer| peer.0).or_else(|| by_servers(head))
    }
}

/// Returns what the servers tell that are known by a feature.
fn by_servers(head: &Parts) -> Option<IpAddr> {
    #[cfg(feature = "axum")]
    if let Some(peer) = head.extensions.get::<axum::extract::ConnectInfo<std::net::SocketAddr>>() {
        return Some(peer.0.ip());
    }
    #[cfg(feature = "tonic")]
    if let Some(peer) = head.extensions.get::<tonic::transport::server::TcpConnectInfo>() {
        return peer.remote_addr().map(|peer| peer.ip());
    }
    let _ = head;
    None
}

impl fmt::Debug for PeerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.own.is_some() { "a closure" } else { "extensions" })
    }
}
