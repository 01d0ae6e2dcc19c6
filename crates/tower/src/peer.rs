//! Who is connected: what whoever accepts connections says of it.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Once};

use http::HeaderMap;
use http::header::FORWARDED;
use http::request::Parts;
use tidegate::policy_file::TrustedProxies;

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

/// Who asks: who is connected, or whom a trusted proxy names.
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    pub(crate) peer: PeerSource,
    pub(crate) trusted: TrustedProxies,
    /// Whether it has been said already that a proxy is not trusted.
    said: Arc<Once>,
}

impl Default for Clients {
    fn default() -> Self {
        Self { peer: PeerSource::default(), trusted: TrustedProxies::NOBODY, said: Arc::new(Once::new()) }
    }
}

impl Clients {
    /// Returns a request's client, when anybody has told who is connected.
    pub(crate) fn of(&self, head: &Parts) -> Option<IpAddr> {
        let client = self.trusted.client(self.peer.of(head)?, &head.headers);
        if !client.peer_trusted && is_private(client.address) && is_forwarded(&head.headers) {
            self.said.call_once(|| {
                tracing::warn!(
                    peer = %client.address,
                    "a private peer sends forwarding headers but is not trusted: everybody behind it shares one key; \
                     if it is your proxy, name it with `trusting`"
                );
            });
        }
        Some(client.address)
    }
}

fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key("x-forwarded-for") || headers.contains_key(FORWARDED)
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
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

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// Guards against a proxy that nobody was told of, behind which everybody shares one key, and against warning of every
    /// client that writes such a header itself.
    #[test]
    fn a_private_peer_that_forwards_and_is_not_trusted_is_told_of() {
        let ask = |trusted: TrustedProxies, peer: &str, header: &str| {
            let clients = Clients { trusted, ..Clients::default() };
            let request = Request::builder().header(header, "203.0.113.7");
            let (mut head, ()) = request.body(()).unwrap().into_parts();
            head.extensions.insert(PeerAddr(peer.parse().unwrap()));
            (clients.of(&head).unwrap().to_string(), clients.said.is_completed())
        };
        let ours = || TrustedProxies::in_networks(["10.0.0.0/8"]).unwrap();
        let nobody = TrustedProxies::NOBODY;
        let own = |address: &str, told| (address.to_owned(), told);
        assert_eq!(ask(nobody.clone(), "10.0.0.9", "x-forwarded-for"), own("10.0.0.9", true));
        assert_eq!(ask(nobody.clone(), "fd00::9", "forwarded"), own("fd00::9", true));
        assert_eq!(ask(nobody.clone(), "198.51.100.2", "x-forwarded-for"), own("198.51.100.2", false));
        assert_eq!(ask(nobody, "10.0.0.9", "accept"), own("10.0.0.9", false));
        assert_eq!(ask(ours(), "10.0.0.9", "x-forwarded-for"), own("203.0.113.7", false));
    }
}
