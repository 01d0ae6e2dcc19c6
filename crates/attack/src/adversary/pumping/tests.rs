//! What is sent in an hour is the least of what each part may, and what that costs.

use std::sync::Arc;

use tidegate::Limit;
use tidegate_algorithms::{Quota, Rate, Span};
use tidegate_policy::Price;

use super::super::testing::testbed::{ACCOUNT, ADDRESS, EVERYONE, HOUR, RANGE, log};
use super::super::testing::trial;
use super::*;
use crate::measure::Measured;
use crate::stage::Stage;
use crate::target::KeyedLimits;

/// Twenty addresses, five hundred numbers, ten requests a second.
const MEANS: (u32, u32, u32) = (20, 500, 10);

/// An adversary at limits with means, and what he sends in an hour.
type Case<'a> = (&'a dyn Adversary, &'a [(Quota, Keyed)], (u32, u32, u32), u64);

fn play(hours: u64, (addresses, subjects, rate): (u32, u32, u32)) -> Play {
    let means = Means { addresses, rate, subjects, ..Means::default() };
    Play { means, ..trial::play(Span::ZERO, Span::from_secs(3_600 * hours)) }
}

fn an_hour(limit: u64) -> Quota {
    log(limit, HOUR)
}

/// Plays an adversary at limits on what is sent, each message at 25 cents, and returns what it came to and shows.
fn sent_by(adversary: &dyn Adversary, limits: &[(Quota, Keyed)], play: &Play) -> (Measured, Option<Exposed>) {
    let names = ["one", "two", "three", "four"];
    let limits =
        names.into_iter().zip(limits).map(|(name, (quota, keyed))| (Limit::new(name, *quota), *keyed));
    let target = KeyedLimits::new(limits);
    let price = Price { each: 25, unit: "cents".to_owned() };
    let aim = Aim { price: Some(price), ..target.aim(Class::Send) };
    let attack = Stage::new(Arc::new(target), 1, None).play(adversary, &aim, play).unwrap();
    let beside = Beside { alone: &Measured::default(), attack: &attack, play };
    let exposed = adversary.exposes(&aim, &beside);
    (attack, exposed)
}

/// S26: what is sent in an hour is the least of the rate, what the addresses may, what the numbers may, what the blocks may and
/// what everyone may, each of them the least once; and nothing is refused, so that no count of refusals shows it.
#[test]
fn what_is_sent_in_an_hour_is_the_least_of_what_each_part_may() {
    let by_client = (an_hour(30), ADDRESS);
    let by_number = (an_hour(1), ACCOUNT);
    let by_range = (an_hour(20), RANGE);
    let for_all = (an_hour(100), EVERYONE);
    // His addresses are of different networks of this size.
    let by_network = (an_hour(30), Keyed { address: Some((24, 64)), ..EVERYONE });
    let many = (20, 5_000, 10);
    let slow = (20, 500, 1);
    let cases: [Case<'_>; 9] = [
        (&Block, &[by_client], MEANS, 20 * 30),
        (&Block, &[by_client, by_number], MEANS, 500),
        (&Block, &[by_client, by_number, by_range], MEANS, 20),
        (&Block, &[by_client, by_number, for_all], MEANS, 100),
        (&Block, &[by_network], MEANS, 20 * 30),
        (&Block, &[], many, 2 * 5_000),
        (&Block, &[], (20, 5_000, 1), 3_600),
        (&Spread, &[by_range, (an_hour(100_000), EVERYONE)], slow, 2 * 500),
        (&Flood, &[by_client], MEANS, 20 * 30),
    ];
    for (adversary, limits, means, wanted) in cases {
        let (attack, _) = sent_by(adversary, limits, &play(1, means));
        assert_eq!(attack.admitted, wanted, "{} {limits:?}", adversary.name());
        assert_eq!(attack.refused(), 0, "{} {limits:?}", adversary.name());
    }
}

/// The published hour of pumping: 12,000 messages at 0.30 rupees each are 3,600 rupees, 3.3 a second; no limit per number or
/// per address sees them, each number gets two and each address sends twenty a minute.
#[test]
fn twelve_thousand_messages_in_an_hour_pass_limits_per_number_and_per_address() {
    let three_at_once = Quota::token_bucket(3, Rate::new(1, Span::from_secs(600)).unwrap()).unwrap();
    let limits = [(three_at_once, ACCOUNT), (an_hour(1_200), ADDRESS)];
    let (attack, _) = sent_by(&Block, &limits, &play(1, (10, 6_000, 1_000)));
    assert_eq!((attack.admitted, attack.refused()), (12_000, 0));
    assert_eq!(attack.admitted * 30 / 100, 3_600);
}

/// Guards against a mistake that is not shown, or shown where a limit stands against it; the figures are of the hour and of
/// the day.
#[test]
fn each_missing_limit_is_shown_with_what_it_costs() {
    let by_client = (an_hour(30), ADDRESS);
    let by_number = (an_hour(2), ACCOUNT);
    let by_range = (an_hour(20), RANGE);
    let for_all = (an_hour(100), EVERYONE);
    let shown = |adversary: &dyn Adversary, limits: &[(Quota, Keyed)]| {
        sent_by(adversary, limits, &play(2, (20, 5_000, 10))).1
    };
    let all = [by_client, by_number, by_range, for_all];
    for adversary in [&Block as &dyn Adversary, &Spread, &Flood] {
        assert_eq!(shown(adversary, &all), None, "{}", adversary.name());
    }
    let block = shown(&Block, &[by_client, by_number, for_all]).unwrap();
    assert_eq!(block.finding, Some("send-without-country-cap"));
    assert_eq!(
        block.says,
        "one block of numbers was sent 200 messages in 2h for 5,000 cents, 60,000 a day at that rate: nothing limits \
         what a block or a country gets"
    );
    let world = shown(&Spread, &[by_client, by_number, by_range]).unwrap();
    assert_eq!(world.finding, Some("send-without-global-cap"));
    assert_eq!(
        world.says,
        "1,200 numbers got 1,200 messages in 2h for 30,000 cents, 360,000 a day at that rate from 20 addresses: nothing \
         limits what everyone together is sent"
    );
    let flood = shown(&Flood, &[by_client, by_range]).unwrap();
    assert_eq!(flood.finding, Some("send-without-destination-cap"));
    assert_eq!(
        flood.says,
        "one person was sent 40 messages in 2h for 1,000 cents, 12,000 a day at that rate from 20 addresses: nothing limits \
         what one is sent"
    );
}

/// Guards against a sum that is reckoned back from an hour's mean, and against one that is said to be of an hour.
#[test]
fn what_a_day_was_sent_costs_as_much_as_its_messages() {
    let block = sent_by(&Block, &[(log(247, DAY), EVERYONE)], &play(24, MEANS)).1.unwrap();
    assert!(
        block.says.starts_with("one block of numbers was sent 247 messages in 1d for 6,175 cents: "),
        "{}",
        block.says
    );
}

/// Guards against a limit of everyone that is said to be missing where a limit by address is one, since a proxy that nobody
/// trusts is whom it sees, and against messages that are sent into it all the same.
#[test]
fn behind_a_proxy_whose_address_is_all_that_is_seen_a_limit_by_address_limits_everyone() {
    let limits = KeyedLimits::new([(Limit::new("client", an_hour(30)), ADDRESS)]).seeing_one_address();
    let play = play(1, MEANS);
    let aim = limits.aim(Class::Send);
    let attack = Stage::new(Arc::new(limits), 1, None).play(&Spread, &aim, &play).unwrap();
    assert_eq!((attack.admitted, attack.refused()), (30, 0));
    let beside = Beside { alone: &Measured::default(), attack: &attack, play: &play };
    assert_eq!(Spread.exposes(&aim, &beside), None);
    let apart = Aim { one_address: None, ..aim };
    assert!(Spread.exposes(&apart, &beside).is_some());
}

/// Guards against numbers of a block that lie in another, of the world that lie in few, and against one that gets more than
/// its share.
#[test]
fn a_block_is_one_block_and_the_world_a_thousand() {
    let seen = |seat: Seat| {
        let mut seat = seat;
        let mut chance = rand::SeedableRng::seed_from_u64(1);
        let mut counts = std::collections::BTreeMap::<u32, u32>::new();
        while let Some(act) = seat.actor.next(None, &mut chance) {
            *counts.entry(act.who.subject).or_default() += 1;
        }
        let blocks: std::collections::BTreeSet<u32> = counts.keys().map(|subject| subject / BLOCK).collect();
        (counts.len(), blocks.len(), counts.values().max().copied())
    };
    let aim = KeyedLimits::new([]).aim(Class::Send);
    let play = play(1, (100, 10_000, 1_000));
    assert_eq!(seen(Sender::pumping(1, &aim, &play)), (10_000, 1, Some(2)));
    assert_eq!(seen(Sender::pumping(BLOCKS, &aim, &play)), (10_000, 1_000, Some(2)));
}
