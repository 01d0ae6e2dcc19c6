//! Distributed addresses: many machines guess at one account, each within its own limit.
//!
//! A limit by address lets each of them through as often as it lets one. Together they make the fewest of n times what one
//! address may, what the account may, and what everyone together may. Addresses are rented by the thousand; so many exhaust
//! a code as its space has codes for what one address may try while it lives.

use tidegate_review::{DAY, Guess, spoken_count};

use super::exposed::counted;
use super::schedule::rotation::{MOST_REQUESTS, Order, Rotation, Vary};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, Play, at_victim};
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
        Some(counted(means.addresses, "address"))
    }

    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        MOST_REQUESTS
    }

    fn fits(&self, aim: &Aim) -> bool {
        !aim.sees_one_address() && aim.tells_addresses_apart()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = rotation.over(Vary::Address, play.means.addresses, Order::InTurn);
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn is_held_against_one(&self) -> bool {
        true
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let (attack, alone) = (beside.attack.guesses, beside.alone.guesses);
        if !counts_by_address_only(aim) || attack < alone.saturating_mul(2) || attack == 0 {
            return None;
        }
        // An attack that was cut short may not have come round to all of them.
        let turns = beside.attack.requests.div_ceil(aim.setting.stores().max(1).into());
        let sent = u64::from(beside.play.means.addresses.max(1)).min(turns);
        let says = format!(
            "{} made {} at one account in {}, where one made {}: nothing counts by account{}",
            counted(sent, "address"),
            counted(attack, "guess"),
            beside.went_on(),
            spoken_count(alone.into()),
            exhausting(aim),
        );
        Some(Exposed { finding: Some("verify-by-address-only"), says })
    }
}

/// Returns whether limits hold an address, and no account that is guessed at from many.
pub(super) fn counts_by_address_only(aim: &Aim) -> bool {
    let is_held = |guard: &Guard| guard.keyed.holds_account() || guard.is_by_session();
    aim.is_sign_in() && aim.tells_addresses_apart() && !aim.guards.iter().any(is_held)
}

/// Returns in words, as the end of a sentence, how many addresses try every code; nothing where no code is known.
pub(super) fn exhausting(aim: &Aim) -> String {
    sources_to_exhaust(aim).map_or_else(String::new, |(sources, life)| {
        let tries = if sources == 1 { "tries" } else { "try" };
        format!("; {} {tries} every code {life}", counted(sources, "address"))
    })
}

/// Returns how many addresses try every code while one lives, or in a day where codes do not end, and which of the two.
pub(super) fn sources_to_exhaust(aim: &Aim) -> Option<(u128, &'static str)> {
    let code = aim.code.as_ref()?;
    let life = code.life.unwrap_or(DAY);
    let by_address = aim.guards.iter().filter(|guard| guard.is_by_address());
    let tries = by_address.filter_map(|guard| guard.requests(guard.quota.most_from_idle(life))).min()?;
    let tries = tries.saturating_mul(aim.setting.stores().into());
    let sources = Guess::of(code).ok()?.sources_to_exhaust(tries)?;
    Some((sources, if code.life.is_some() { "while it lives" } else { "in a day" }))
}

#[cfg(test)]
mod tests {
    use super::super::Keyed;
    use super::super::testing::testbed::{
        ACCOUNT, ADDRESS, DAY, EVERYONE, HOUR, Testbed, bucket, digits, log,
    };
    use super::*;
    use tidegate_algorithms::Span;
    use tidegate_policy::Code;

    const MINUTE: Span = Span::from_secs(60);
    const TEN_MINUTES: Span = Span::from_secs(600);

    fn met(testbed: &Testbed) -> (u64, u64) {
        let measured = testbed.met(&Addresses);
        (measured.admitted, measured.refused())
    }

    /// Guards against addresses that wait for each other, and against a limit that they share and do not: together they make the
    /// fewest of n times what an address may, what the account may and what everyone may, and not one request in vain.
    #[test]
    fn together_they_make_the_fewest_of_what_addresses_account_and_everyone_may() {
        let mut by_address = Testbed::of([(log(5, MINUTE), ADDRESS)]).lasting(TEN_MINUTES);
        assert_eq!(met(&by_address), (100 * 50, 0));
        by_address.play.means.addresses = 3;
        assert_eq!(met(&by_address), (3 * 50, 0));
        let account = bucket(4, 1, Span::from_secs(10));
        let on_account = Testbed::of([(log(5, MINUTE), ADDRESS), (account, ACCOUNT)]).lasting(TEN_MINUTES);
        assert_eq!(met(&on_account), (4 + 59, 0));
        let global =
            Testbed::of([(log(5, MINUTE), ADDRESS), (log(300, MINUTE), EVERYONE)]).lasting(TEN_MINUTES);
        assert_eq!(met(&global), (10 * 300, 0));
    }

    /// Guards against instances that are passed by: each counts by itself, so four let four times as much through.
    #[test]
    fn instances_that_share_nothing_multiply_what_they_make() {
        let mut testbed = Testbed::of([(log(5, MINUTE), ADDRESS)]).lasting(TEN_MINUTES);
        (testbed.aim.setting.instances, testbed.aim.setting.shared) = (4, false);
        testbed.play.means.addresses = 3;
        assert_eq!(met(&testbed), (4 * 3 * 50, 0));
    }

    /// Guards against another number of addresses than the one that was published of a service: 360 an hour and 30 at once,
    /// on a code of an hour, are 390 tries each, so that 2,565 addresses try all, and 100 have a chance of 3.9 %.
    #[test]
    fn thirty_at_once_and_360_an_hour_take_2565_addresses() {
        let mut code = digits(1);
        code.life = Some(HOUR);
        let length = Span::from_micros(HOUR.as_micros() + 1);
        let mut testbed = Testbed::of([(bucket(30, 360, HOUR), ADDRESS)]).lasting(length).guessing(code);
        testbed.play.means.addresses = 10;
        assert_eq!(sources_to_exhaust(&testbed.aim), Some((2_565, "while it lives")));
        let (admitted, refused) = met(&testbed);
        // The last of the ten begins some milliseconds later than the first.
        assert_eq!((admitted, refused), (10 * 390 - 9, 0));
        let hundred = Guess::new(10, 6, 1).unwrap().chance_without_repeats(u128::from(admitted) * 10);
        assert!((hundred - 0.039).abs() < 1e-3);
        let instagram = Testbed::of([(log(200, TEN_MINUTES), ADDRESS)]).guessing(digits(1));
        // A closed ten minutes holds both its ends, and a log is free again at the second.
        assert_eq!(sources_to_exhaust(&instagram.aim).map(|(sources, _)| sources), Some(1_000_000 / 400));
    }

    /// Guards against a finding where the account is counted, and against one without figures where it is not.
    #[test]
    fn limits_by_address_only_are_exposed_and_those_beside_one_on_the_account_are_not() {
        let guarded =
            Testbed::of([(log(30, HOUR), ADDRESS), (log(9, DAY), ACCOUNT)]).guessing(digits(1)).lasting(HOUR);
        assert_eq!(guarded.exposed(&Addresses), None);
        let bare = Testbed::of([(log(30, HOUR), ADDRESS)]).guessing(digits(1)).lasting(HOUR);
        let exposed = bare.exposed(&Addresses).unwrap();
        assert_eq!(exposed.finding, Some("verify-by-address-only"));
        assert_eq!(
            exposed.says,
            "100 addresses made 3,000 guesses at one account in 1h, where one made 30: nothing counts by account; 33,334 \
             addresses try every code while it lives"
        );
    }

    /// Guards against addresses that are told of and have not sent anything.
    #[test]
    fn an_attack_that_is_over_before_all_have_sent_tells_of_those_that_did() {
        let mut testbed = Testbed::of([(log(5, HOUR), ADDRESS)]).lasting(Span::from_secs(5));
        testbed.play.means.rate = 10;
        let says = testbed.exposed(&Addresses).unwrap().says;
        assert!(
            says.starts_with("50 addresses made 50 guesses at one account in 5s, where one made 1: "),
            "{says}"
        );
    }

    /// Guards against an attacker who is made smaller where a play has not requests enough for all of him, so that a row's
    /// figures are of two, and against a lone client who is given more time than the attack took.
    #[test]
    fn an_attack_that_is_cut_short_is_made_by_all_addresses_and_held_against_one_in_its_own_time() {
        let mut testbed = Testbed::of([(log(20, MINUTE), ADDRESS)]);
        for (addresses, told, one) in [(100, "4.03 minutes", 100), (500, "10s", 20)] {
            testbed.play.means.addresses = addresses;
            let says = testbed.exposed_by(&Addresses, 10_000).unwrap().says;
            let begins = format!(
                "{addresses} addresses made 10,000 guesses at one account in {told}, where one made {one}: "
            );
            assert!(says.starts_with(&begins), "{says}");
        }
        let quick = Testbed::of([(log(5_000, HOUR), ADDRESS)]);
        assert_eq!(Addresses.most_requests(&quick.aim, &quick.play), MOST_REQUESTS);
    }

    /// Guards against a number that is taken of one count where several count apart.
    #[test]
    fn where_several_count_apart_so_many_fewer_addresses_try_every_code() {
        let mut testbed =
            Testbed::of([(log(10, MINUTE), ADDRESS)]).guessing(Code { life: None, ..digits(1) });
        assert_eq!(sources_to_exhaust(&testbed.aim), Some((70, "in a day")));
        testbed.aim.setting.regions = 2;
        assert_eq!(sources_to_exhaust(&testbed.aim), Some((35, "in a day")));
        (testbed.aim.setting.instances, testbed.aim.setting.shared) = (2, false);
        assert_eq!(sources_to_exhaust(&testbed.aim), Some((18, "in a day")));
    }

    /// Guards against machines that all stand in one network, which a limit by /24 would hold as one: rented ones do not.
    #[test]
    fn addresses_are_of_different_networks() {
        let by_network = Keyed { address: Some((24, 64)), ..EVERYONE };
        let mut testbed = Testbed::of([(log(5, HOUR), by_network)]).lasting(HOUR);
        assert_eq!(testbed.met(&Addresses).admitted, 500);
        testbed.play.means.addresses = 600;
        assert_eq!(testbed.met(&Addresses).admitted, 512 * 5, "there are 512 such networks");
    }

    /// Guards against an adversary who is put off for good, or floods, when his requests miss the instants he aims at.
    #[test]
    fn requests_that_arrive_off_their_instants_are_made_again() {
        let mut testbed = Testbed::of([(log(5, MINUTE), ADDRESS)]).lasting(TEN_MINUTES);
        (testbed.play.means.addresses, testbed.play.jitter) = (3, Span::from_millis(50));
        let measured = testbed.met(&Addresses);
        // Each window begins some tens of milliseconds later than the one before.
        assert_eq!(measured.admitted, 3 * 50);
        assert!((1..100).contains(&measured.refused()), "{} came too early", measured.refused());
    }
}
