//! IPv6 rotation: one customer's network, of which every request has an address of its own.
//!
//! Every customer holds at least a /64, that is 2^64 hosts, and many a /56 or a /48, that is 256 or 65,536 networks of that
//! size. Counted by /128 they meet no limit at all; counted by /64 whoever holds a /48 has 65,536 keys. Where an account is
//! counted as well, rotation leads around what was to hold one machine that tries everybody, so the guesses go to many.

use tidegate_review::spoken_count;

use super::addresses::is_by_address;
use super::rotation::{
    MOST_REQUESTS, Order, Rotation, Vary, at_full_rate, holds_account, holds_address, most_beside, went_on,
};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, OneAddress, Play, VICTIM, ipv6_address};
use crate::act::{Seat, Who};

/// Every customer has a network of so many bits.
const CUSTOMER: u8 = 64;
/// The adversary's network has at least so many bits: an allocation's.
const SHORTEST: u8 = 32;

/// One IPv6 customer goes through the addresses of his network.
#[derive(Debug)]
pub(super) struct Ipv6;

impl Adversary for Ipv6 {
    fn name(&self) -> &'static str {
        "ipv6-rotation"
    }

    fn what(&self) -> &'static str {
        "One IPv6 customer sends each request from another host, or another /64, of his network."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Ipv6Network]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("a /{}", means.ipv6_prefix))
    }

    fn most_requests(&self, aim: &Aim, play: &Play) -> u64 {
        enough(aim, play)
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.one_address != Some(OneAddress::Proxy) && aim.guards.iter().any(is_by_address)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let held = play.means.ipv6_prefix.max(SHORTEST);
        let prefixes = aim.guards.iter().filter_map(|guard| guard.keyed.address.map(|(_, ipv6)| ipv6));
        // A new value of the widest key that he has several of is a new value of all narrower ones.
        let step = prefixes.filter(|prefix| *prefix > held).min();
        let rotation = Rotation::new(aim, play, Who::new(VICTIM, ipv6_address(0, 0)));
        let rotation = match step {
            Some(step) => {
                let spare = u32::from(step.saturating_sub(held));
                let keys = 1_u32.checked_shl(spare).unwrap_or(u32::MAX);
                rotation.over(Vary::Network(step), keys, Order::InTurn)
            }
            None => rotation,
        };
        vec![Seat::adversary(around_accounts(rotation, aim, play)).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let is_narrow = |guard: &Guard| guard.keyed.address.is_some_and(|(_, ipv6)| ipv6 > CUSTOMER);
        let one = most_beside(aim, beside, is_narrow)?;
        let prefix =
            aim.guards.iter().filter(|guard| is_narrow(guard)).find_map(|guard| guard.keyed.address)?.1;
        let admitted = beside.attack.admitted;
        (u128::from(admitted) >= one.saturating_mul(2)).then(|| Exposed {
            finding: Some("ipv6-too-narrow"),
            says: format!(
                "one IPv6 customer made {} requests in {}, each from another address of his, where the limits let one address \
                 make {}: they count by /{prefix}",
                spoken_count(admitted.into()),
                went_on(beside),
                spoken_count(one),
            ),
        })
    }
}

/// Lets somebody whose address holds him no longer go around limits on accounts too, by trying many.
pub(super) fn around_accounts(rotation: Rotation, aim: &Aim, play: &Play) -> Rotation {
    if aim.guards.iter().any(is_on_account) {
        let all = Vary::Subject { count: play.means.subjects.max(1), first: VICTIM, step: 1 };
        rotation.over(all, play.means.subjects, Order::InTurn)
    } else {
        rotation
    }
}

/// Returns how many requests show what it comes to: a minute's at the full rate, unless accounts run out.
pub(super) fn enough(aim: &Aim, play: &Play) -> u64 {
    if aim.guards.iter().any(is_on_account) { MOST_REQUESTS } else { at_full_rate(play) }
}

/// Returns whether a limit holds one account of many.
fn is_on_account(guard: &Guard) -> bool {
    holds_account(guard) && !holds_address(guard)
}

#[cfg(test)]
mod tests {
    use super::super::Keyed;
    use super::super::siege::{ACCOUNT, ADDRESS, DAY, EVERYONE, HOUR, Siege, log};
    use super::*;
    use tidegate_algorithms::Span;

    const BY_HOST: Keyed = Keyed { address: Some((32, 128)), ..EVERYONE };

    /// Guards against a rotation that comes round to hosts it has used: by /128 nothing is ever refused.
    #[test]
    fn counted_by_host_nothing_holds_whoever_has_one_network() {
        let mut siege = Siege::of([(log(1, DAY), BY_HOST)]);
        siege.play.means.ipv6_prefix = 64;
        siege.play.means.rate = 200;
        let measured = siege.met(&Ipv6);
        assert_eq!((measured.admitted, measured.refused()), (12_000, 0), "a minute at full rate");
        assert_eq!(measured.went_on(DAY), Span::from_micros(60_000_000 - 5_000));
    }

    /// Guards against networks that are passed by or counted twice: a /56 has 256 of 64 bits, a /48 has 65,536.
    #[test]
    fn counted_by_64_bits_whoever_holds_a_shorter_prefix_has_a_key_for_each_such_network() {
        let mut siege = Siege::of([(log(3, HOUR), ADDRESS)]).lasting(HOUR);
        siege.play.means.ipv6_prefix = 56;
        assert_eq!(siege.met(&Ipv6).admitted, 256 * 3);
        siege.play.means.ipv6_prefix = 64;
        assert_eq!(siege.met(&Ipv6).admitted, 3);
        siege.play.means.ipv6_prefix = 48;
        siege.play.means.rate = 100;
        assert_eq!(siege.met(&Ipv6).admitted, 6_000, "at most 65,536 · 3, which takes longer than is shown");
    }

    /// Guards against a hole that hides behind a limit on the account: it still lets one machine try everybody.
    #[test]
    fn a_key_of_128_bits_is_exposed_also_beside_a_limit_on_the_account() {
        let mut siege = Siege::of([(log(9, DAY), ACCOUNT), (log(30, HOUR), BY_HOST)]).lasting(HOUR);
        (siege.play.means.rate, siege.play.means.subjects) = (100, 400);
        let exposed = siege.exposed(&Ipv6).unwrap();
        assert_eq!(exposed.finding, Some("ipv6-too-narrow"));
        assert_eq!(
            exposed.says,
            "one IPv6 customer made 3,600 requests in 1h, each from another address of his, where the limits let one \
             address make 60: they count by /128"
        );
        let mut by_network = Siege::of([(log(9, DAY), ACCOUNT), (log(30, HOUR), ADDRESS)]).lasting(HOUR);
        by_network.play.means.subjects = 400;
        assert_eq!(by_network.exposed(&Ipv6), None);
    }
}
