//! Who makes requests from this machine: the coordinates of a simulation, moved to addresses that can be sent from and to
//! accounts that nobody has been asked about.

use std::net::{IpAddr, Ipv4Addr};

use super::place::Place;
use crate::act::Who;
use crate::target::{Requests, Wire};

/// The address that stands for this machine where a gateway on another one sees requests come from.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// A rule's requests as this machine can make them.
pub(super) struct Here {
    requests: Requests,
    /// What is added to every subject; a multiple of ten thousand, so that neighbouring numbers stay neighbours.
    shift: u32,
    is_loopback: bool,
}

impl Here {
    /// Takes a rule's requests; another `seed` asks about other accounts.
    ///
    /// # Errors
    /// In words, when requests come through a proxy that this machine cannot send from.
    pub(super) fn new(requests: Requests, place: &Place, seed: u64) -> Result<Self, String> {
        let blocks = u32::try_from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).unwrap_or(0) % 50_000;
        let here = Self { requests, shift: (blocks + 1) * 10_000, is_loopback: place.is_loopback() };
        let first = here.who(&crate::adversary::at_victim());
        let peer = here.wire(&first).peer;
        if peer != first.address {
            return Err(format!(
                "its requests come through a proxy at {peer}, which this machine cannot send from"
            ));
        }
        Ok(here)
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Returns the coordinates of somebody as this machine can be him.
    pub(super) fn who(&self, who: &Who) -> Who {
        let subject = who.subject.wrapping_add(self.shift);
        let address = match who.address {
            _ if !self.is_loopback => ELSEWHERE,
            // Every address of 127.0.0.0/8 is this machine; the first is left to others.
            IpAddr::V4(address) => {
                let [_, _, high, low] = address.octets();
                Ipv4Addr::new(127, 77, high, low).into()
            }
            IpAddr::V6(_) => Ipv4Addr::new(127, 77, 0, 0).into(),
        };
        Who { subject, address, ..*who }
    }

    pub(super) fn wire(&self, who: &Who) -> Wire {
        self.requests.wire(who)
    }
}
