//! Distributed addresses: many machines guess at one account, each within its own limit.
//!
//! A limit by address lets each of them through as often as it lets one. Together they make the fewest of n times what one
//! address may, what the account may, and what everyone together may. Addresses are rented by the thousand; so many exhaust
//! a code as its space has codes for what one address may try while it lives.

use tidegate_policy::Class;
use tidegate_review::{DAY, Guess, spoken_count};

use super::rotation::{MOST_REQUESTS, Order, Rotation, Vary, holds_account, most_on_one_key, went_on};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, OneAddress, Play, at_victim};
use crate::act::Seat;

/// Many addresses take turns at one account.
#[derive(Debug)]
pub(super) struct Addresses;

impl Adversary for Addresses {
    fn name(&self) -> &'static str {
        "many-addresses"
    }

    fn what(&self) -> &'static str {
        "Many addresses take turns at one account, each as often as its own limit lets it."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("{} addresses", spoken_count(means.addresses.into())))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.one_address != Some(OneAddress::Proxy) && aim.guards.iter().any(is_by_address)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = rotation.over(Vary::Address, used(aim, play), Order::InTurn);
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let is_held = aim.guards.iter().any(|guard| holds_account(guard) || guard.keyed.session);
        let (attack, alone) = (beside.attack.guesses, beside.alone.guesses);
        if !is_sign_in(aim.class) || is_held || attack < alone.saturating_mul(2) || attack == 0 {
            return None;
        }
        let exhausting = sources_to_exhaust(aim).map_or_else(String::new, |(sources, life)| {
            format!("; {} addresses try every code {life}", spoken_count(sources))
        });
        let says = format!(
            "{} addresses made {} guesses at one account in {}, where one made {}: nothing counts by account{exhausting}",
            spoken_count(used(aim, beside.play).into()),
            spoken_count(attack.into()),
            went_on(beside),
            spoken_count(alone.into()),
        );
        Some(Exposed { finding: Some("verify-by-address-only"), says })
    }
}

/// Returns how many addresses are used: all there are, as long as together they make no more requests than a play has.
pub(super) fn used(aim: &Aim, play: &Play) -> u32 {
    let each = most_on_one_key(aim, play.length, is_by_address).unwrap_or(1).max(1);
    let affordable = u128::from(MOST_REQUESTS).checked_div(each).unwrap_or(1).max(2);
    play.means.addresses.min(u32::try_from(affordable).unwrap_or(u32::MAX)).max(1)
}

/// Returns how many addresses try every code while one lives, or in a day where codes do not end, and which of the two.
pub(super) fn sources_to_exhaust(aim: &Aim) -> Option<(u128, &'static str)> {
    let code = aim.code.as_ref()?;
    let life = code.life.unwrap_or(DAY);
    let by_address = aim.guards.iter().filter(|guard| is_by_address(guard) && guard.cost > 0);
    let tries = by_address
        .filter_map(|guard| guard.quota.most_from_idle(life).checked_div(guard.cost.into()))
        .min()?;
    let sources = Guess::of(code).ok()?.sources_to_exhaust(tries)?;
    Some((sources, if code.life.is_some() { "while it lives" } else { "in a day" }))
}

/// Returns whether a limit tells addresses apart.
pub(super) fn is_by_address(guard: &Guard) -> bool {
    guard.keyed.address.is_some()
}

/// Returns whether requests of a class guess at who somebody is.
pub(super) fn is_sign_in(class: Class) -> bool {
    matches!(class, Class::Verify | Class::Recovery | Class::Login)
}

#[cfg(test)]
mod tests {
    use super::super::Keyed;
    use super::super::siege::{ACCOUNT, ADDRESS, DAY, EVERYONE, HOUR, Siege, bucket, digits, log};
    use super::*;
    use tidegate_algorithms::Span;

    const MINUTE: Span = Span::from_secs(60);
    const TEN_MINUTES: Span = Span::from_secs(600);

    fn met(siege: &Siege) -> (u64, u64) {
        let measured = siege.met(&Addresses);
        (measured.admitted, measured.refused())
    }

    /// Guards against addresses that wait for each other, and against a limit that they share and do not: together they make the
    /// fewest of n times what an address may, what the account may and what everyone may, and not one request in vain.
    #[test]
    fn together_they_make_the_fewest_of_what_addresses_account_and_everyone_may() {
        let mut by_address = Siege::of([(log(5, MINUTE), ADDRESS)]).lasting(TEN_MINUTES);
        assert_eq!(met(&by_address), (100 * 50, 0));
        by_address.play.means.addresses = 3;
        assert_eq!(met(&by_address), (3 * 50, 0));
        let account = bucket(4, 1, Span::from_secs(10));
        let on_account = Siege::of([(log(5, MINUTE), ADDRESS), (account, ACCOUNT)]).lasting(TEN_MINUTES);
        assert_eq!(met(&on_account), (4 + 59, 0));
        let global =
            Siege::of([(log(5, MINUTE), ADDRESS), (log(300, MINUTE), EVERYONE)]).lasting(TEN_MINUTES);
        assert_eq!(met(&global), (10 * 300, 0));
    }

    /// Guards against instances that are passed by: each counts by itself, so four let four times as much through.
    #[test]
    fn instances_that_share_nothing_multiply_what_they_make() {
        let mut siege = Siege::of([(log(5, MINUTE), ADDRESS)]).lasting(TEN_MINUTES);
        (siege.aim.setting.instances, siege.aim.setting.shared) = (4, false);
        siege.play.means.addresses = 3;
        assert_eq!(met(&siege), (4 * 3 * 50, 0));
    }

    /// Guards against another number of addresses than the one that was published of a service: 360 an hour and 30 at once,
    /// on a code of an hour, are 390 tries each, so that 2,565 addresses try all, and 100 have a chance of 3.9 %.
    #[test]
    fn thirty_at_once_and_360_an_hour_take_2565_addresses() {
        let mut code = digits(1);
        code.life = Some(HOUR);
        let length = Span::from_micros(HOUR.as_micros() + 1);
        let mut siege = Siege::of([(bucket(30, 360, HOUR), ADDRESS)]).lasting(length).guessing(code);
        siege.play.means.addresses = 10;
        assert_eq!(sources_to_exhaust(&siege.aim), Some((2_565, "while it lives")));
        let (admitted, refused) = met(&siege);
        // The last of the ten begins some milliseconds later than the first.
        assert_eq!((admitted, refused), (10 * 390 - 9, 0));
        let hundred = Guess::new(10, 6, 1).unwrap().chance_without_repeats(u128::from(admitted) * 10);
        assert!((hundred - 0.039).abs() < 1e-3);
        let instagram = Siege::of([(log(200, TEN_MINUTES), ADDRESS)]).guessing(digits(1));
        // A closed ten minutes holds both its ends, and a log is free again at the second.
        assert_eq!(sources_to_exhaust(&instagram.aim).map(|(sources, _)| sources), Some(1_000_000 / 400));
    }

    /// Guards against a finding where the account is counted, and against one without figures where it is not.
    #[test]
    fn limits_by_address_only_are_exposed_and_those_beside_one_on_the_account_are_not() {
        let guarded =
            Siege::of([(log(30, HOUR), ADDRESS), (log(9, DAY), ACCOUNT)]).guessing(digits(1)).lasting(HOUR);
        assert_eq!(guarded.exposed(&Addresses), None);
        let bare = Siege::of([(log(30, HOUR), ADDRESS)]).guessing(digits(1)).lasting(HOUR);
        let exposed = bare.exposed(&Addresses).unwrap();
        assert_eq!(exposed.finding, Some("verify-by-address-only"));
        assert_eq!(
            exposed.says,
            "100 addresses made 3,000 guesses at one account in 1h, where one made 30: nothing counts by account; 33,334 \
             addresses try every code while it lives"
        );
    }

    /// Guards against a day's play of a quick limit that would take all night: so many addresses are used as can be paid for.
    #[test]
    fn no_more_addresses_are_used_than_a_play_has_requests_for() {
        let siege = Siege::of([(log(5_000, HOUR), ADDRESS)]);
        assert_eq!(used(&siege.aim, &siege.play), 12, "each makes 125,000 in a closed day");
        let siege = siege.lasting(HOUR);
        assert_eq!(used(&siege.aim, &siege.play), 100);
    }

    /// Guards against machines that all stand in one network, which a limit by /24 would hold as one: rented ones do not.
    #[test]
    fn addresses_are_of_different_networks() {
        let by_network = Keyed { address: Some((24, 64)), ..EVERYONE };
        let mut siege = Siege::of([(log(5, HOUR), by_network)]).lasting(HOUR);
        assert_eq!(siege.met(&Addresses).admitted, 500);
        siege.play.means.addresses = 600;
        assert_eq!(siege.met(&Addresses).admitted, 512 * 5, "there are 512 such networks");
    }

    /// Guards against an adversary who is put off for good, or floods, when his requests miss the instants he aims at.
    #[test]
    fn requests_that_arrive_off_their_instants_are_made_again() {
        let mut siege = Siege::of([(log(5, MINUTE), ADDRESS)]).lasting(TEN_MINUTES);
        (siege.play.means.addresses, siege.play.jitter) = (3, Span::from_millis(50));
        let measured = siege.met(&Addresses);
        // Each window begins some tens of milliseconds later than the one before.
        assert_eq!(measured.admitted, 3 * 50);
        assert!((1..100).contains(&measured.refused()), "{} came too early", measured.refused());
    }
}
