//! IPv6 rotation: one customer's network, of which every request has an address of its own.
//!
//! Every customer holds at least a /64, that is 2^64 hosts, and many a /56 or a /48, that is 256 or 65,536 networks of that
//! size. Counted by /128 they meet no limit at all; counted by /64 whoever holds a /48 has 65,536 keys. Where an account is
//! counted as well, rotation leads around what was to hold one machine that tries everybody, so the guesses go to many.

use tidegate_review::spoken_count;

use super::addresses::{counts_by_address_only, exhausting};
use super::exposed::counted;
use super::schedule::rotation::{
    Order, Rotation, Vary, around_accounts, most_beside, until_accounts_run_out,
};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, Play, VICTIM, ipv6_address};
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
        until_accounts_run_out(aim, play)
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        !aim.sees_one_address() && aim.tells_addresses_apart()
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
        let Some(one) = most_beside(aim, beside, is_narrow) else { return by_address_only(aim, beside) };
        let prefix =
            aim.guards.iter().filter(|guard| is_narrow(guard)).find_map(|guard| guard.keyed.address)?.1;
        let admitted = beside.attack.admitted;
        (u128::from(admitted) >= one.saturating_mul(2)).then(|| Exposed {
            finding: Some("ipv6-too-narrow"),
            says: format!(
                "one IPv6 customer made {} in {} from ever other addresses of his, where the limits let one address make {}: \
                 they count by /{prefix}",
                counted(admitted, "request"),
                beside.went_on(),
                spoken_count(one),
            ),
        })
    }
}

/// Returns that an account is guessed at from network after network, each of which has a limit of its own, and nothing holds
/// the account.
fn by_address_only(aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
    let one = most_beside(aim, beside, Guard::is_by_address).filter(|_| counts_by_address_only(aim))?;
    let guesses = beside.attack.guesses;
    (u128::from(guesses) >= one.saturating_mul(2)).then(|| Exposed {
        finding: Some("verify-by-address-only"),
        says: format!(
            "one IPv6 customer with a /{} made {} at one account in {}, where the limits let one network of his make {}: nothing \
             counts by account{}",
            beside.play.means.ipv6_prefix,
            counted(guesses, "guess"),
            beside.went_on(),
            spoken_count(one),
            exhausting(aim),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Keyed;
    use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, EVERYONE, HOUR, Testbed, digits, log};
    use super::*;
    use tidegate_algorithms::Span;

    const BY_HOST: Keyed = Keyed { address: Some((32, 128)), ..EVERYONE };

    /// Guards against a rotation that comes round to hosts it has used: by /128 nothing is ever refused.
    #[test]
    fn counted_by_host_nothing_holds_whoever_has_one_network() {
        let mut testbed = Testbed::of([(log(1, DAY), BY_HOST)]);
        testbed.play.means.ipv6_prefix = 64;
        testbed.play.means.rate = 200;
        let measured = testbed.met(&Ipv6);
        assert_eq!((measured.admitted, measured.refused()), (12_000, 0), "a minute at full rate");
        assert_eq!(measured.went_on(DAY), Span::from_micros(60_000_000 - 5_000));
    }

    /// Guards against networks that are passed by or counted twice: a /56 has 256 of 64 bits, a /48 has 65,536.
    #[test]
    fn counted_by_64_bits_whoever_holds_a_shorter_prefix_has_a_key_for_each_such_network() {
        let mut testbed = Testbed::of([(log(3, HOUR), ADDRESS)]).lasting(HOUR);
        testbed.play.means.ipv6_prefix = 56;
        assert_eq!(testbed.met(&Ipv6).admitted, 256 * 3);
        testbed.play.means.ipv6_prefix = 64;
        assert_eq!(testbed.met(&Ipv6).admitted, 3);
        testbed.play.means.ipv6_prefix = 48;
        testbed.play.means.rate = 100;
        assert_eq!(
            testbed.met(&Ipv6).admitted,
            6_000,
            "at most 65,536 · 3, which takes longer than is shown"
        );
    }

    /// Guards against a rotation that leads around the narrower of two keys only.
    #[test]
    fn a_new_network_is_a_new_host_as_well() {
        let mut testbed = Testbed::of([(log(3, HOUR), BY_HOST), (log(3, HOUR), ADDRESS)]).lasting(HOUR);
        testbed.play.means.ipv6_prefix = 56;
        assert_eq!(testbed.met(&Ipv6).admitted, 256 * 3);
    }

    /// Guards against the worst attack on a limit by address that no sentence names: nobody rents addresses who has a network.
    #[test]
    fn networks_of_one_customer_are_exposed_where_nothing_counts_by_account() {
        let mut testbed = Testbed::of([(log(30, HOUR), ADDRESS)]).guessing(digits(1));
        testbed.play.means.rate = 100;
        let exposed = testbed.exposed(&Ipv6).unwrap();
        assert_eq!(exposed.finding, Some("verify-by-address-only"));
        assert_eq!(
            exposed.says,
            "one IPv6 customer with a /48 made 6,000 guesses at one account in 1m, where the limits let one network of his make \
             30: nothing counts by account; 33,334 addresses try every code while it lives"
        );
        testbed.play.means.ipv6_prefix = 64;
        assert_eq!(testbed.exposed(&Ipv6), None, "one network is one key");
        let held =
            Testbed::of([(log(30, HOUR), ADDRESS), (log(9, DAY), ACCOUNT)]).lasting(Span::from_secs(60));
        assert_eq!(held.exposed(&Ipv6), None);
    }

    /// Guards against a hole that hides behind a limit on the account: it still lets one machine try everybody.
    #[test]
    fn a_key_of_128_bits_is_exposed_also_beside_a_limit_on_the_account() {
        let mut testbed = Testbed::of([(log(9, DAY), ACCOUNT), (log(30, HOUR), BY_HOST)]).lasting(HOUR);
        (testbed.play.means.rate, testbed.play.means.subjects) = (100, 400);
        let exposed = testbed.exposed(&Ipv6).unwrap();
        assert_eq!(exposed.finding, Some("ipv6-too-narrow"));
        assert_eq!(
            exposed.says,
            "one IPv6 customer made 3,600 requests in 1h from ever other addresses of his, where the limits let one address \
             make 60: they count by /128"
        );
        let mut by_network = Testbed::of([(log(9, DAY), ACCOUNT), (log(30, HOUR), ADDRESS)]).lasting(HOUR);
        by_network.play.means.subjects = 400;
        assert_eq!(by_network.exposed(&Ipv6), None);
    }
}
