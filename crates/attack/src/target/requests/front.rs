//! What stands in front: who is connected, and what the field says that proxies write.

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_policy::{Policy, TrustedProxies};

use crate::act::Who;
use crate::adversary::address;

/// The most proxies that are made up, as many as a policy may trust.
const MOST: u32 = 32;

/// The proxies in front of the limits, and how they say where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Front {
    /// Their addresses, the outermost first; none where clients connect themselves.
    proxies: Vec<IpAddr>,
    /// How often a claim has to stand in the field to be where it is looked for.
    claims: u32,
    field: HeaderName,
}

impl Front {
    /// Returns what may stand in front by a policy, the likeliest first: what the file says, else what it trusts.
    pub(super) fn all(policy: &Policy) -> Vec<Self> {
        let trusted = &policy.trusted;
        let usual = policy.topology.proxies.unwrap_or_else(|| proxies(trusted));
        let direct = policy.gateway.as_ref().is_some_and(|gateway| gateway.proxy_protocol);
        // A balancer that speaks the PROXY protocol is not seen: the peer is whom it names. Proxies may stand before it.
        let counts = if direct { vec![0, usual] } else { vec![usual] };
        counts.into_iter().map(|count| Self::of(trusted, count.min(MOST))).collect()
    }

    fn of(trusted: &TrustedProxies, count: u32) -> Self {
        let hops = trusted.hops().unwrap_or(0);
        Self {
            proxies: (0..count).map(|index| proxy(trusted, index)).collect(),
            claims: hops.saturating_sub(count).max(1),
            field: trusted.client_header(),
        }
    }

    /// Writes the field that says where a request comes from, and returns who is connected.
    pub(super) fn write(&self, who: &Who, headers: &mut HeaderMap) -> IpAddr {
        let single = self.field != "x-forwarded-for" && self.field != http::header::FORWARDED;
        let claims = std::iter::repeat_n(who.forwarded, usize::try_from(self.claims).unwrap_or(1)).flatten();
        let mut named: Vec<IpAddr> = claims.collect();
        if let Some((last, before)) = self.proxies.split_last() {
            // A proxy overwrites a field that holds one address, and appends to one that is a list.
            if single {
                named.clear();
            }
            named.push(who.address);
            named.extend(before.iter().filter(|_| !single));
            self.put(&named, headers);
            return *last;
        }
        if single {
            named.truncate(1);
        }
        self.put(&named, headers);
        who.address
    }

    fn put(&self, named: &[IpAddr], headers: &mut HeaderMap) {
        if named.is_empty() {
            return;
        }
        let is_forwarded = self.field == http::header::FORWARDED;
        let hop = |address: &IpAddr| match address {
            IpAddr::V6(address) if is_forwarded => format!("for=\"[{address}]\""),
            address if is_forwarded => format!("for={address}"),
            address => address.to_string(),
        };
        let text = named.iter().map(hop).collect::<Vec<_>>().join(", ");
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(self.field.clone(), value);
        }
    }
}

/// Returns how many proxies a policy expects in front that does not say how many there are.
fn proxies(trusted: &TrustedProxies) -> u32 {
    let whole = |family| trusted.networks().iter().any(|network| network.prefix_len() == family);
    match trusted.hops() {
        Some(hops) => hops,
        // Where everybody is believed, nobody goes through a proxy to be.
        None => u32::from(!trusted.is_nobody() && !whole(0) && !trusted.trusts(address(0))),
    }
}

/// Returns the address of a proxy: in one of the trusted networks, if any are named.
fn proxy(trusted: &TrustedProxies, index: u32) -> IpAddr {
    let networks = trusted.networks();
    let turn = usize::try_from(index).unwrap_or(0).checked_rem(networks.len());
    let network = turn.and_then(|turn| networks.get(turn)).filter(|network| network.prefix_len() > 0);
    // The first host of a network is its router as a rule; of a single address there is no other.
    let host = network.map(|network| network.hosts().next().unwrap_or(network.addr()));
    host.unwrap_or_else(|| Ipv4Addr::from_bits(0x0a00_0001_u32.wrapping_add(index)).into())
}
