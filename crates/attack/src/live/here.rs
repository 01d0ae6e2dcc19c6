//! Who makes requests from this machine: the coordinates of a simulation, moved to addresses that can be sent from and to
//! accounts, sessions and addresses that nobody has used.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use super::FOR_ENVOY;
use super::Place;
use crate::act::Who;
use crate::target::{Requests, Wire};

/// The address that stands for this machine where a gateway on another one sees requests come from.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// Subjects are moved by whole blocks, so that neighbouring numbers stay neighbours; there are so many.
const BLOCKS: u64 = 50_000;
const BLOCK: u32 = 10_000;

/// The addresses that requests can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    /// All of 127.0.0.0/8: every one of them is this machine.
    Loopback,
    /// One alone.
    One(IpAddr),
}

impl Sources {
    /// Finds out from where a gateway can be asked.
    pub(super) fn to(place: &Place) -> Self {
        let (gateway, another) = (place.address().ip(), Ipv4Addr::new(127, 77, 0, 1));
        // Some systems have but the one loopback address.
        let has_all = || TcpListener::bind(SocketAddr::from((another, 0))).is_ok();
        match gateway {
            IpAddr::V4(_) if gateway.is_loopback() && has_all() => Self::Loopback,
            _ if gateway.is_loopback() => Self::One(gateway),
            _ => Self::One(ELSEWHERE),
        }
    }
}

/// A rule's requests as this machine can make them in one attack.
#[derive(Debug, Clone)]
pub(super) struct Here {
    requests: Requests,
    sources: Sources,
    /// What is added to every subject and every session.
    shift: u32,
    /// What is added to the last three bytes of every address.
    network: u32,
}

impl Here {
    /// Takes a rule's requests for the `nth` attack of a seed: another of either asks about other accounts, in other sessions,
    /// and from other addresses where there are several.
    ///
    /// # Errors
    /// In words, when this machine cannot make the requests.
    pub(super) fn new(requests: Requests, sources: Sources, (seed, nth): (u64, u64)) -> Result<Self, String> {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Blocks follow each other, so that no two attacks of a seed are about one account.
        let block = (mixed >> 40).wrapping_add(nth.wrapping_mul(16)) % BLOCKS;
        let block = u32::try_from(block).unwrap_or(0).saturating_add(1);
        let host = (mixed >> 20) % 254 + 1;
        let network = (mixed >> 32).wrapping_add(nth.wrapping_mul(512)) & 0xffff;
        let network = u32::try_from(network << 8 | host).unwrap_or(0);
        let here = Self { requests, sources, shift: block.saturating_mul(BLOCK), network };
        let first = here.who(&crate::adversary::at_victim());
        let Some(wire) = here.wire(&first) else {
            return Err(FOR_ENVOY.to_owned());
        };
        if let Some((key, _)) = wire.ready.first_key_value() {
            return Err(format!("what its key \"{key}\" reads, nobody can write who only sends requests"));
        }
        // A proxy on this machine can be played, since all of its addresses are ours.
        if wire.peer != first.address && !(sources == Sources::Loopback && wire.peer.is_loopback()) {
            return Err(format!(
                "its requests come through a proxy at {}, which this machine cannot send from",
                wire.peer
            ));
        }
        Ok(here)
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Returns the coordinates of somebody as this machine can be him.
    pub(super) fn who(&self, who: &Who) -> Who {
        let address = match (self.sources, who.address) {
            (Sources::One(address), _) => address,
            (Sources::Loopback, IpAddr::V4(address)) => self.loopback(address),
            (Sources::Loopback, IpAddr::V6(address)) => {
                // What tells networks apart are the last 32 bits of their first half.
                let network = u32::try_from(address.to_bits() >> 64 & 0xffff_ffff).unwrap_or(0);
                self.loopback(Ipv4Addr::from_bits(network))
            }
        };
        Who {
            subject: who.subject.wrapping_add(self.shift),
            session: who.session.wrapping_add(self.shift),
            address,
            forwarded: who.forwarded.map(|address| self.claimed(address)),
            ..*who
        }
    }

    /// Returns the address of 127.0.0.0/8 that stands for one: neighbours stay neighbours, and the first network is left to
    /// others.
    fn loopback(&self, address: Ipv4Addr) -> IpAddr {
        let low = self.moved(address);
        let low = if low < 0x1_0000 { low | 0x4d_0000 } else { low };
        Ipv4Addr::from_bits(0x7f00_0000 | low).into()
    }

    /// Returns the address that is claimed instead of one, as fresh as those that requests come from.
    fn claimed(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & 0xff00_0000 | self.moved(address)).into()
            }
            IpAddr::V6(_) => address,
        }
    }

    fn moved(&self, address: Ipv4Addr) -> u32 {
        address.to_bits().wrapping_add(self.network) & 0xff_ffff
    }

    /// Makes somebody's request.
    pub(super) fn wire(&self, who: &Who) -> Option<Wire> {
        self.requests.wire(who)
    }
}
