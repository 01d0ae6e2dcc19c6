//! Who a request comes from: the connection's other end, or whom trusted proxies name.
//!
//! Only one header is read, the one the file chooses, and only when the peer is trusted. A list is walked from
//! its right end across trusted hops; what cannot be parsed stops the walk and is never skipped, since whoever
//! wrote it could have put anything to its left.

mod forwarded;
mod node;

use std::fmt;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net};

use crate::matcher::joined;

/// The most bytes of a list that are looked at, from its right end.
const MAX_BYTES: usize = 8 * 1024;
/// The most hops that are walked.
pub(crate) const MAX_HOPS: usize = 32;

/// The name of the field that most proxies write.
static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Whose word about a client's address is taken, and in which header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxies {
    pub(crate) who: Trust,
    pub(crate) header: ClientHeader,
}

/// Which hops are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those in these networks; nobody when empty.
    Networks(Vec<IpNet>),
    /// So many, counted from the right, whoever they are.
    Hops(u32),
}

/// The header that names the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientHeader {
    /// `X-Forwarded-For`, a list.
    XForwardedFor,
    /// `Forwarded` (RFC 7239), a list.
    Forwarded,
    /// A header with one address that the proxy in front overwrites.
    Single(HeaderName),
}

/// Whom a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The address, an IPv4 one whenever it stands for one.
    pub address: IpAddr,
    /// Whether the peer's word was taken.
    pub peer_trusted: bool,
    /// Whether the walk stopped at a hop that names no address.
    pub opaque_hop: bool,
    /// Whether every hop was trusted, so that the client itself is one of ours.
    pub internal: bool,
}

impl Client {
    fn untrusted(address: IpAddr) -> Self {
        Self { address, peer_trusted: false, opaque_hop: false, internal: false }
    }

    fn at(address: IpAddr) -> Self {
        Self { peer_trusted: true, ..Self::untrusted(address) }
    }

    fn opaque(address: IpAddr) -> Self {
        Self { opaque_hop: true, ..Self::at(address) }
    }
}

/// Networks that cannot be trusted as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadNetwork(String);

impl fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadNetwork {}

/// Reads a network, or an address alone.
fn network(text: &str) -> Result<IpNet, BadNetwork> {
    let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let read = text.parse::<IpNet>().ok().or_else(single);
    let network = read.ok_or_else(|| {
        BadNetwork(format!("\"{text}\" is no network; write one such as 10.0.0.0/8 or 2001:db8::/32"))
    })?;
    if network.addr() != network.network() {
        let meant = network.trunc();
        return Err(BadNetwork(format!("{network} has bits beyond its prefix; did you mean {meant}?")));
    }
    Ok(canonical_net(network))
}

impl fmt::Display for TrustedProxies {
    /// Writes who is trusted, and in which header: `10.0.0.0/8 in x-forwarded-for`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.who {
            Trust::Networks(networks) if networks.is_empty() => f.write_str("nobody")?,
            Trust::Networks(networks) => f.write_str(&joined(networks))?,
            Trust::Hops(1) => f.write_str("one hop")?,
            Trust::Hops(hops) => write!(f, "{hops} hops")?,
        }
        write!(f, " in {}", self.client_header())
    }
}

impl TrustedProxies {
    /// Trusts nobody: a client is who is connected.
    pub const NOBODY: Self = Self { who: Trust::Networks(Vec::new()), header: ClientHeader::XForwardedFor };

    /// Trusts the word of whoever connects from these networks (`10.0.0.0/8`, or one address), in `X-Forwarded-For` unless
    /// [`TrustedProxies::in_header`] says otherwise.
    ///
    /// # Errors
    /// When one is no network, has bits beyond its prefix, or they are everyone together: every client could then name any
    /// address.
    ///
    /// ```
    /// use tidegate_policy::TrustedProxies;
    ///
    /// let ours = TrustedProxies::in_networks(["10.0.0.0/8", "2001:db8:5::/48"])?;
    /// assert!(ours.trusts("10.1.2.3".parse()?));
    /// assert!(TrustedProxies::in_networks(["0.0.0.0/0"]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_networks<'a>(networks: impl IntoIterator<Item = &'a str>) -> Result<Self, BadNetwork> {
        let networks = networks.into_iter().map(network).collect::<Result<Vec<_>, _>>()?;
        if IpNet::aggregate(&networks).iter().any(|net| net.prefix_len() == 0) {
            return Err(BadNetwork("these networks are everyone; name those of the proxies".to_owned()));
        }
        Ok(Self { who: Trust::Networks(networks), header: ClientHeader::XForwardedFor })
    }

    /// Reads the client from another header: `forwarded` (RFC 7239), or one with a single address that the proxy in front
    /// overwrites.
    #[must_use]
    pub fn in_header(self, name: HeaderName) -> Self {
        let header = match name.as_str() {
            "x-forwarded-for" => ClientHeader::XForwardedFor,
            "forwarded" => ClientHeader::Forwarded,
            _ => ClientHeader::Single(name),
        };
        Self { header, ..self }
    }

    /// Returns the trusted networks; none when hops are counted instead.
    pub fn networks(&self) -> &[IpNet] {
        match &self.who {
            Trust::Networks(networks) => networks,
            Trust::Hops(_) => &[],
        }
    }

    /// Returns whether nobody's word is taken, so that a client is who is connected.
    pub fn is_nobody(&self) -> bool {
        matches!(&self.who, Trust::Networks(networks) if networks.is_empty())
    }

    /// Returns how many hops are trusted, whoever they are; `None` where networks are named.
    pub fn hops(&self) -> Option<u32> {
        match self.who {
            Trust::Hops(hops) => Some(hops),
            Trust::Networks(_) => None,
        }
    }

    /// Returns the name of the header in which a trusted peer names the client.
    pub fn client_header(&self) -> HeaderName {
        match &self.header {
            ClientHeader::XForwardedFor => X_FORWARDED_FOR.clone(),
            ClientHeader::Forwarded => http::header::FORWARDED,
            ClientHeader::Single(name) => name.clone(),
        }
    }

    /// Returns whether the word of this peer is taken.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        match &self.who {
            Trust::Networks(networks) => {
                let address = canonical(peer);
                networks.iter().any(|network| network.contains(&address))
            }
            Trust::Hops(hops) => *hops > 0,
        }
    }

    /// Returns the client of a request that `peer` sent with `headers`.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let peer = canonical(peer);
        if !self.trusts(peer) {
            return Client::untrusted(peer);
        }
        match &self.header {
            ClientHeader::XForwardedFor => self.walk(peer, headers, &X_FORWARDED_FOR, node::list),
            ClientHeader::Forwarded => self.walk(peer, headers, &http::header::FORWARDED, forwarded::list),
            ClientHeader::Single(name) => single(peer, headers, name),
        }
    }

    /// Walks a list header from its right end; `split` calls back for each hop of one line, from the right, with
    /// its address or `None` for an opaque one, until told to stop.
    fn walk(&self, peer: IpAddr, headers: &HeaderMap, name: &HeaderName, split: Split) -> Client {
        let mut walk = Walk { trusted: self, last: peer, hops: 0, bytes: MAX_BYTES, found: None };
        for line in headers.get_all(name).iter().rev() {
            let bytes = line.as_bytes();
            let cut = bytes.len() > walk.bytes;
            let from = bytes.len().saturating_sub(walk.bytes);
            walk.bytes = walk.bytes.saturating_sub(bytes.len());
            split(bytes.get(from..).unwrap_or_default(), cut, &mut |hop| walk.step(hop));
            if walk.found.is_some() || walk.bytes == 0 {
                break;
            }
        }
        walk.end(peer)
    }
}

/// Calls back for each hop of one line, from the right, until the callback returns false. The flag says that the
/// line's beginning was cut off, so that its leftmost hop may be half of one.
type Split = fn(&[u8], bool, &mut dyn FnMut(Option<IpAddr>) -> bool);

struct Walk<'a> {
    trusted: &'a TrustedProxies,
    /// The address reached so far.
    last: IpAddr,
    hops: usize,
    /// How many bytes may still be looked at.
    bytes: usize,
    found: Option<Client>,
}

impl Walk<'_> {
    /// Takes one hop; returns whether to go on.
    fn step(&mut self, hop: Option<IpAddr>) -> bool {
        self.hops = self.hops.saturating_add(1);
        self.found = match (hop, &self.trusted.who) {
            (None, Trust::Networks(_)) => Some(Client::opaque(self.last)),
            (Some(address), Trust::Networks(_)) => self.reach(canonical(address)),
            (hop, Trust::Hops(wanted)) => {
                let reached = usize::try_from(*wanted).is_ok_and(|wanted| self.hops >= wanted);
                match hop {
                    Some(address) if reached => Some(Client::at(canonical(address))),
                    None if reached => Some(Client::opaque(self.last)),
                    _ => None,
                }
            }
        };
        self.found.is_none() && self.hops < MAX_HOPS
    }

    /// Arrives at an address; returns the client when the walk ends there.
    fn reach(&mut self, address: IpAddr) -> Option<Client> {
        let trusted = self.trusted.trusts(address);
        if !trusted && is_link_local(address) {
            return Some(Client::opaque(self.last));
        }
        self.last = address;
        (!trusted).then(|| Client::at(address))
    }

    fn end(self, peer: IpAddr) -> Client {
        match (self.found, &self.trusted.who) {
            (Some(client), _) => client,
            (None, Trust::Hops(_)) => Client::at(peer),
            (None, Trust::Networks(_)) if self.hops == 0 => Client::at(peer),
            (None, Trust::Networks(_)) => Client { internal: true, ..Client::at(self.last) },
        }
    }
}

/// Reads a header that holds one address; anything else leaves the peer.
fn single(peer: IpAddr, headers: &HeaderMap, name: &HeaderName) -> Client {
    let mut lines = headers.get_all(name).iter();
    let (first, more) = (lines.next(), lines.next().is_some());
    match first {
        None => Client::at(peer),
        Some(line) if !more => match node::address(line.as_bytes().trim_ascii()) {
            Some(address) => Client::at(canonical(address)),
            None => Client::opaque(peer),
        },
        Some(_) => Client::opaque(peer),
    }
}

/// Returns the IPv4 address an IPv6 one stands for, decided by its bits.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// Returns a network with an IPv4-mapped one unmapped, so that `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
pub(crate) fn canonical_net(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network.trunc() };
    let mapped = v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(96));
    match mapped.and_then(|(address, prefix)| Ipv4Net::new(address, prefix).ok()) {
        Some(v4) => IpNet::V4(v4.trunc()),
        None => network.trunc(),
    }
}

/// Returns an address with all but its first `prefix` bits cleared.
pub(crate) fn aggregate(address: IpAddr, ipv4: u8, ipv6: u8) -> IpAddr {
    let network = match address {
        IpAddr::V4(_) => IpNet::new(address, ipv4),
        IpAddr::V6(_) => IpNet::new(address, ipv6),
    };
    network.map_or(address, |network| network.network())
}

/// Returns whether an address can only be meant on one link, so that it names nobody across interfaces.
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

#[cfg(test)]
mod tests;
