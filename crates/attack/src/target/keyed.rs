//! Limits whose keys are coordinates: what a policy's keys tell apart, without a policy around them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use tidegate::{BuildError, Counts, Limit, Limiter, Prepared, Snapshot, Store};
use tidegate_policy::Class;
use tidegate_review::USUAL_BUDGET;

use super::Target;
use crate::act::Who;
use crate::adversary::{Aim, Guard, Keyed, OneAddress};
use crate::world::Setting;

/// How coordinates are read before they become keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Whether the address that a request itself claims is believed from anybody.
    pub believes_anybody: bool,
    /// Whether all spellings of somebody are one key.
    pub one_spelling: bool,
    /// Whether all clients have one address, that of a proxy.
    pub one_address: bool,
}

impl Default for Reading {
    /// Nobody is believed, spellings are brought together, and clients have addresses of their own.
    fn default() -> Self {
        Self { believes_anybody: false, one_spelling: true, one_address: false }
    }
}

/// What a request is counted on: the coordinates that a limit's keys tell apart, and none of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountedOn {
    /// Whom it is about, with the spelling where spellings are told apart.
    subject: Option<(u32, u8)>,
    /// The block of ten thousand that it is of.
    range: Option<u32>,
    /// The client's network.
    address: Option<IpAddr>,
    session: Option<u32>,
}

/// A block of numbers has so many: all but the last four digits are its own.
const IN_RANGE: u32 = 10_000;

impl CountedOn {
    /// Returns what somebody's request is counted on. All numbers are of one country.
    pub fn of(keyed: Keyed, reading: Reading, who: &Who) -> Self {
        let spelling = if reading.one_spelling { 0 } else { who.spelling };
        let claimed = who.forwarded.filter(|_| reading.believes_anybody);
        let own = if reading.one_address { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { who.address };
        let client = claimed.unwrap_or(own);
        Self {
            subject: keyed.subject.then_some((who.subject, spelling)),
            range: keyed.range.then_some(who.subject / IN_RANGE),
            address: keyed.address.map(|prefixes| network(client, prefixes)),
            session: keyed.session.then_some(who.session),
        }
    }

    /// Returns it as the bytes of a store's key, which are equal for nothing else.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32);
        if let Some((subject, spelling)) = self.subject {
            bytes.push(b'w');
            bytes.extend(subject.to_be_bytes());
            bytes.push(spelling);
        }
        if let Some(range) = self.range {
            bytes.push(b'r');
            bytes.extend(range.to_be_bytes());
        }
        match self.address {
            Some(IpAddr::V4(address)) => {
                bytes.push(b'4');
                bytes.extend(address.octets());
            }
            Some(IpAddr::V6(address)) => {
                bytes.push(b'6');
                bytes.extend(address.octets());
            }
            None => {}
        }
        if let Some(session) = self.session {
            bytes.push(b's');
            bytes.extend(session.to_be_bytes());
        }
        bytes
    }
}

/// Returns the network of an address, by prefixes of so many bits of IPv4 and IPv6.
fn network(address: IpAddr, (ipv4, ipv6): (u8, u8)) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(ipv4.into())).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(ipv6.into())).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// Limits that every request has to pass, each counted on the coordinates that its keys tell apart.
#[derive(Debug, Clone)]
pub struct KeyedLimits {
    limits: Vec<(Limit, Keyed)>,
    reading: Reading,
}

impl KeyedLimits {
    /// Takes limits that are asked together, each with what tells its keys apart.
    pub fn new(limits: impl IntoIterator<Item = (Limit, Keyed)>) -> Self {
        Self { limits: limits.into_iter().collect(), reading: Reading::default() }
    }

    /// Takes the address that a request itself claims for the client's, whoever sends it.
    #[must_use]
    pub fn believing_anybody(mut self) -> Self {
        self.reading.believes_anybody = true;
        self
    }

    /// Tells spellings of one somebody apart.
    #[must_use]
    pub fn telling_spellings_apart(mut self) -> Self {
        self.reading.one_spelling = false;
        self
    }

    /// Sees of all clients one address, as that of a proxy that nobody trusts.
    #[must_use]
    pub fn seeing_one_address(mut self) -> Self {
        self.reading.one_address = true;
        self
    }

    /// Returns what an adversary who has read the limits knows of them, as those of an endpoint of a kind.
    pub fn aim(&self, class: Class) -> Aim {
        let refusing = self.limits.iter().filter(|(limit, _)| !limit.is_shadow());
        let guards = refusing.map(|(limit, keyed)| Guard {
            name: limit.name().to_owned(),
            quota: *limit.quota(),
            cost: limit.cost(),
            keyed: *keyed,
            failures: match limit.counts() {
                Counts::Every => None,
                Counts::Failures { on_success, .. } => Some(*on_success),
            },
            on_store_failure: limit.store_failure(),
        });
        Aim {
            rule: "limits".to_owned(),
            class,
            code: None,
            borne: USUAL_BUDGET,
            price: None,
            guards: guards.collect(),
            focus: 0,
            setting: Setting::default(),
            believes_anybody: self.reading.believes_anybody,
            why_believed: "trusts-everybody",
            one_spelling: self.reading.one_spelling,
            senders: Vec::new(),
            one_address: self.reading.one_address.then_some(OneAddress::Proxy),
        }
    }
}

impl Target for KeyedLimits {
    fn limiter(&self, store: Arc<dyn Store>) -> Result<Limiter, BuildError> {
        Limiter::new(store, self.limits.iter().map(|(limit, _)| limit.clone()))
    }

    fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Option<Prepared> {
        let keys = self
            .limits
            .iter()
            .map(|(limit, keyed)| (limit.name(), CountedOn::of(*keyed, self.reading, who).bytes()));
        // The limits are those that the snapshot was made of.
        snapshot.prepare_keys(keys, None).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::{address, ipv6_address};

    const BY_CLIENT: Keyed =
        Keyed { subject: false, address: Some((24, 64)), session: false, range: false, country: false };
    const BY_ALL: Keyed =
        Keyed { subject: true, address: Some((32, 128)), session: true, range: false, country: true };

    fn key(keyed: Keyed, who: Who) -> Vec<u8> {
        CountedOn::of(keyed, Reading::default(), &who).bytes()
    }

    /// Guards against networks that are cut at the wrong bit, or an address in IPv6's clothes that counts as another.
    #[test]
    fn clients_of_one_network_are_one_key_and_those_of_another_are_not() {
        let of = |address: &str| key(BY_CLIENT, Who::new(0, address.parse().unwrap()));
        assert_eq!(of("198.51.100.1"), of("198.51.100.255"));
        assert_ne!(of("198.51.100.1"), of("198.51.101.1"));
        assert_eq!(of("198.51.100.1"), of("::ffff:198.51.100.9"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        let everybody = Keyed { address: Some((0, 0)), ..BY_CLIENT };
        assert_eq!(key(everybody, Who::new(0, address(1))), key(everybody, Who::new(0, address(70_000))));
    }

    /// Guards against a coordinate that no key sees, and against two requests of different coordinates with one key.
    #[test]
    fn each_coordinate_that_is_told_apart_makes_another_key() {
        let plain = Who::new(7, address(0));
        let others = [
            plain,
            Who { subject: 8, ..plain },
            Who { session: 1, ..plain },
            Who { address: address(1), ..plain },
            Who { address: ipv6_address(0, 1), ..plain },
        ];
        let keys: std::collections::BTreeSet<_> = others.map(|who| key(BY_ALL, who)).into();
        assert_eq!(keys.len(), others.len());
        let odd = Who { spelling: 3, forwarded: Some(address(5)), ..plain };
        assert_eq!(key(BY_ALL, odd), key(BY_ALL, plain), "nobody is believed, and spellings are one");
        let loose = Reading { believes_anybody: true, one_spelling: false, one_address: false };
        let of = |who: Who| CountedOn::of(BY_ALL, loose, &who);
        assert_ne!(of(Who { spelling: 3, ..plain }), of(plain));
        assert_ne!(of(Who { forwarded: Some(address(5)), ..plain }), of(plain));
        let by_range = Keyed { range: true, ..Keyed::default() };
        let range = |subject| key(by_range, Who::new(subject, address(0)));
        assert_eq!(range(0), range(9_999));
        assert_ne!(range(0), range(10_000));
    }
}
