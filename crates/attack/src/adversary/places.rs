//! Whom attacks are about and where requests come from: subjects and addresses, each of one party alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::act::Who;

/// The subject that attacks on one account are about.
pub const VICTIM: u32 = 0;

/// The first subject of the adversary's own accounts; nobody else has one from there on.
pub const OWN: u32 = 1 << 30;

/// Returns an address of the adversary's, of networks that are nobody's: 198.18.0.0/15, then 240.0.0.0/4. Of the former
/// neighbours are of different /24s, as rented machines are.
pub fn address(index: u32) -> IpAddr {
    if index >= 1 << 17 {
        return Ipv4Addr::from_bits(0xf000_0000_u32.wrapping_add(index)).into();
    }
    let (network, host) = (index & 0x1ff, index >> 9);
    Ipv4Addr::from_bits(0xc612_0000 | (network << 8) | host).into()
}

/// Returns an address in the IPv6 network that the adversary holds: the `host`-th of its `network`-th /64.
pub fn ipv6_address(network: u32, host: u64) -> IpAddr {
    let bits = (0x2001_0db8_u128 << 96) | (u128::from(network) << 64) | u128::from(host);
    Ipv6Addr::from_bits(bits).into()
}

/// Returns an address of a person's own, outside the adversary's networks.
pub fn home(person: u32) -> IpAddr {
    Ipv4Addr::from_bits(0xcb00_0000_u32.wrapping_add(person % (1 << 24))).into()
}

/// Returns the coordinates of the adversary who asks about the victim from his first address.
pub fn at_victim() -> Who {
    Who::new(VICTIM, address(0))
}
