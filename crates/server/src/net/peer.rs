//! Who is at the other end of a connection.

use std::net::{IpAddr, SocketAddr};

/// Facts about the connection a request came in on, put into the request's extensions by the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// The other end: the socket's peer, or the source named by a PROXY protocol header from a trusted peer.
    pub peer: SocketAddr,
    /// Our own end of the socket.
    pub local: SocketAddr,
    /// True when the connection is encrypted.
    pub tls: bool,
}

impl PeerInfo {
    /// Returns the peer's address with an IPv4 address mapped into IPv6 turned back into IPv4.
    pub fn ip(&self) -> IpAddr {
        self.peer.ip().to_canonical()
    }

    /// Returns `https` or `http`, as the client spoke to us.
    pub fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }
}
