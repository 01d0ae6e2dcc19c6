//! Refunds: never more than if the request had not been made, and all of it where nothing else happened.

use proptest::prelude::*;
use tidegate_algorithms::{Anchor, Ask, Change, Outcome, Quota, Receipt, Span, Timestamp, peek, refund};

use super::cases;
use crate::play::{Jump, Move, World, costs, histories, jumps, moves, quotas, starts, window};

fn remaining(world: &World, at: Timestamp) -> u32 {
    peek(&world.quota, world.state.as_ref(), Ask::ONE, at).remaining
}

/// Instants from `now` on at which to compare.
fn later(quota: &Quota, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let window = window(quota);
    let offsets = [0, 1, 7, window / 3, window - 1, window, window + 1, 2 * window, 5 * window / 2, 1 << 45];
    let boundary = (now.as_micros() / window + 1) * window - now.as_micros();
    let boundaries = [boundary - 1, boundary, boundary + 1, boundary + window];
    offsets.into_iter().chain(boundaries).map(move |by| now.saturating_add(Span::from_micros(by)))
}

/// Plays a history in time that never goes back; returns when and what was admitted.
fn play(world: &mut World, history: &[Move]) -> Vec<(Timestamp, Ask, Outcome)> {
    let mut admitted = Vec::new();
    for a_move in history {
        world.go_on(a_move.jump);
        let ask = Ask::units(a_move.cost.of(&world.quota));
        let outcome = world.ask(ask);
        if outcome.receipt.is_some() {
            admitted.push((world.now, ask, outcome));
        }
    }
    admitted
}

/// Whether a first charge opens its windows, so that the world without a charge is another one.
fn opens(quota: &Quota) -> bool {
    match quota {
        Quota::FixedWindow(quota) => quota.anchor() == Anchor::FirstHit,
        Quota::Lockout(_) => true,
        _ => false,
    }
}

/// Gives a charge back and returns whether that gave anything.
fn give_back(world: &mut World, receipt: &Receipt) -> bool {
    let before = world.state.clone();
    refund(&world.quota, world.state.as_ref(), receipt, world.now).apply(&mut world.state);
    world.state != before
}

/// What happens at an instant: a charge, by its number, or its refund.
#[derive(Debug, Clone, Copy)]
enum Event {
    Charge(Ask),
    /// And whether it gave anything.
    Refund(usize, bool),
}

/// Plays a history in which some charges are given back, each once and after it was made.
fn play_with_refunds(world: &mut World, history: &[(Move, Option<prop::sample::Index>)]) -> Played {
    let mut played = Played::default();
    for (a_move, giver) in history {
        world.go_on(a_move.jump);
        let open: Vec<usize> =
            (0..played.receipts.len()).filter(|charge| !played.given.contains(charge)).collect();
        match giver {
            Some(giver) if !open.is_empty() => {
                let charge = *giver.get(&open);
                let gave = give_back(world, &played.receipts[charge]);
                played.given.push(charge);
                played.events.push((world.now, Event::Refund(charge, gave)));
            }
            _ => {
                let ask = Ask::units(a_move.cost.of(&world.quota));
                if let Some(receipt) = world.ask(ask).receipt {
                    played.receipts.push(receipt);
                    played.events.push((world.now, Event::Charge(ask)));
                }
            }
        }
    }
    played
}

#[derive(Debug, Default)]
struct Played {
    events: Vec<(Timestamp, Event)>,
    receipts: Vec<Receipt>,
    given: Vec<usize>,
}

impl Played {
    /// Plays the events again without one charge; `None` if one of the others is then refused, or not given back although
    /// it was. (A refund that comes late may give less than it could: a lockout gives for sure only within `lock` of
    /// the charge. A world that was given less says nothing about the other.)
    fn without(&self, left_out: usize, quota: Quota, start: u64) -> Option<World> {
        let (mut world, mut receipts) = (World::new(quota, start), Vec::new());
        for (at, event) in &self.events {
            world.now = *at;
            match *event {
                Event::Charge(_) if receipts.len() == left_out => receipts.push(None),
                Event::Charge(ask) => receipts.push(Some(world.ask(ask).receipt?)),
                Event::Refund(charge, gave) => {
                    if let Some(receipt) = receipts[charge]
                        && !give_back(&mut world, &receipt)
                        && gave
                    {
                        return None;
                    }
                }
            }
        }
        Some(world)
    }
}

fn refund_histories(most: usize) -> impl Strategy<Value = Vec<(Move, Option<prop::sample::Index>)>> {
    let refunds = prop::option::weighted(0.4, any::<prop::sample::Index>());
    prop::collection::vec((moves(), refunds), 1..most)
}

/// Windows and locks of a few microseconds more than the shortest, so that histories meet their edges.
fn small() -> impl Strategy<Value = Quota> {
    let spans = || (1_000..1_012_u64).prop_map(Span::from_micros);
    prop_oneof![
        (1..7_u64, spans()).prop_map(|(n, span)| Quota::fixed_window(n, span, Anchor::FirstHit).unwrap()),
        (1..7_u64, spans(), spans()).prop_map(|(n, within, lock)| Quota::lockout(n, within, lock).unwrap()),
    ]
}

proptest! {
    #![proptest_config(cases(6_000))]

    #[test]
    fn a_refund_among_refunds_leaves_no_more_than_if_the_request_had_not_been_made(
        quota in prop_oneof![quotas(), small().boxed()], start in starts(), history in refund_histories(14),
        chosen in any::<prop::sample::Index>(), wait in prop_oneof![Just(Jump::Stay), jumps()],
    ) {
        let mut made = World::new(quota, start);
        let played = play_with_refunds(&mut made, &history);
        let open: Vec<usize> = (0..played.receipts.len()).filter(|charge| !played.given.contains(charge)).collect();
        if open.is_empty() {
            return Ok(());
        }
        let chosen = *chosen.get(&open);
        let Some(not_made) = played.without(chosen, quota, start) else { return Ok(()) };
        made.go_on(wait);
        let kept = made.clone();
        give_back(&mut made, &played.receipts[chosen]);
        let at_once = remaining(&made, made.now);
        prop_assert!(at_once >= remaining(&kept, made.now), "a refund took");
        for at in later(&quota, made.now) {
            let given = remaining(&made, at);
            prop_assert!(given >= at_once || matches!(quota, Quota::SlidingCounter(_)), "what was given was taken");
            // A window that a charge opened earlier may be over, so that there is nothing to give.
            let most = remaining(&not_made, at);
            let gives = made.state != kept.state || !opens(&quota);
            prop_assert!(!gives || given <= most, "{given} at {at:?}, at most {most} without the charge");
        }
    }

    /// With `count: failures` a thousand right codes consume nothing in the end.
    #[test]
    fn charges_of_one_window_all_given_back_leave_nothing_in_whatever_order(
        quota in prop_oneof![quotas(), small().boxed()], start in 0..(1_u64 << 51),
        charges in prop::collection::vec((0..1_000_u64, 0..1_000_u64, costs()), 1..12),
    ) {
        if matches!(quota, Quota::TokenBucket(_) | Quota::LeakyBucket(_)) {
            return Ok(());
        }
        let mut world = World::new(quota, start);
        // Within one window, or one lock if that is shorter: from its beginning to the microsecond before its end.
        let ends_in = match quota {
            Quota::FixedWindow(fixed) if fixed.anchor() != Anchor::FirstHit => {
                let mut probe = World::new(quota, start);
                probe.ask(Ask::ONE).decision.reset_after.as_micros()
            }
            Quota::Lockout(lockout) => lockout.within().min(lockout.lock()).as_micros(),
            _ => window(&quota),
        };
        let at = |part: u64| start + u64::try_from(u128::from(ends_in.saturating_sub(1)) * u128::from(part) / 1_000).unwrap();
        let mut events: Vec<(u64, bool, usize)> = Vec::new();
        for (n, (from, to, _)) in charges.iter().enumerate() {
            events.push((at(*from.min(to)), true, n));
            events.push((at(*from.max(to)), false, n));
        }
        // At one instant refunds and charges mix; a charge stands before its own refund by the stable sort.
        events.sort_by_key(|(at, _, _)| *at);
        let mut receipts = vec![None; charges.len()];
        for (at, charge, n) in events {
            world.now = Timestamp::from_micros(at).unwrap();
            if charge {
                receipts[n] = world.ask(Ask::units(charges[n].2.of(&quota))).receipt;
            } else if let Some(receipt) = receipts[n] {
                give_back(&mut world, &receipt);
            }
        }
        let fresh = World::new(quota, start);
        for at in later(&quota, world.now) {
            prop_assert_eq!(remaining(&world, at), remaining(&fresh, at), "something is left");
        }
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn a_refund_leaves_no_more_than_if_the_request_had_not_been_made(
        quota in quotas(), start in starts(), history in histories(12), chosen in any::<prop::sample::Index>(),
        wait in prop_oneof![Just(Jump::Stay), jumps()],
    ) {
        let mut made = World::new(quota, start);
        let admitted = play(&mut made, &history);
        if admitted.is_empty() {
            return Ok(());
        }
        let chosen = chosen.index(admitted.len());
        let mut not_made = World::new(quota, start);
        for (at, ask, _) in admitted.iter().enumerate().filter(|(n, _)| *n != chosen).map(|(_, other)| other) {
            not_made.now = *at;
            // A window that opens with a later hit ends later: another world, in which not all of them pass.
            if !not_made.ask(*ask).decision.is_admitted() {
                prop_assert!(opens(&quota));
                return Ok(());
            }
        }
        made.go_on(wait);
        let kept = made.clone();
        let receipt = admitted[chosen].2.receipt.unwrap();
        refund(&quota, made.state.as_ref(), &receipt, made.now).apply(&mut made.state);
        for at in later(&quota, made.now) {
            let given = remaining(&made, at);
            // The end of a window may be put off, so that those left in it stay longer.
            prop_assert!(opens(&quota) || given >= remaining(&kept, at), "a refund took");
            // The window of a hit that was made may be over, so that there is nothing to give.
            let gives = made.state != kept.state || !opens(&quota);
            prop_assert!(!gives || given <= remaining(&not_made, at), "a refund gave too much");
        }
    }

    #[test]
    fn the_last_charge_is_given_back_whole_while_its_window_lasts(
        quota in quotas(), start in starts(), history in histories(8), cost in 1..5_u32, wait in 0..2_000_u64,
    ) {
        let mut world = World::new(quota, start);
        play(&mut world, &history);
        let before = world.clone();
        let Some(receipt) = world.ask(Ask::units(cost)).receipt else { return Ok(()) };
        // A bucket's refill since may have been lost at its brim, so it gives that much less.
        let wait = match quota {
            Quota::TokenBucket(_) => 0,
            // Nor is anything given once the lock is over.
            Quota::Lockout(lockout) => wait.min(lockout.lock().as_micros() - 1),
            _ => wait,
        };
        world.now = world.now.saturating_add(Span::from_micros(wait));
        refund(&quota, world.state.as_ref(), &receipt, world.now).apply(&mut world.state);
        for at in later(&quota, world.now) {
            prop_assert_eq!(remaining(&world, at), remaining(&before, at));
        }
    }

    #[test]
    fn a_bucket_is_given_the_charge_less_what_flowed_since(
        cost in 1..6_u32, left in 0..6_u32, wait in 0..8_u64,
    ) {
        // One unit a second, ten at most: the bucket refills `wait` units and is given max(0, cost − wait).
        let rate = tidegate_algorithms::Rate::new(1, Span::from_secs(1)).unwrap();
        let quota = Quota::token_bucket(10, rate).unwrap();
        let mut world = World::new(quota, 1_700_000_000_000_000);
        world.ask(Ask::units(10 - cost - left.min(10 - cost)));
        let receipt = world.ask(Ask::units(cost)).receipt.unwrap();
        let level = remaining(&world, world.now);
        world.now = world.now.saturating_add(Span::from_secs(wait));
        refund(&quota, world.state.as_ref(), &receipt, world.now).apply(&mut world.state);
        let flowed = u32::try_from(wait).unwrap();
        prop_assert_eq!(remaining(&world, world.now), (level + flowed).min(10).saturating_add(cost.saturating_sub(flowed)).min(10));
    }
}

/// Without its own window a receipt would be taken out of a later count that happens to be there.
#[test]
fn a_receipt_of_a_window_that_is_over_gives_nothing() {
    for anchor in [Anchor::Clock, Anchor::FirstHit] {
        let quota = Quota::fixed_window(5, Span::from_secs(10), anchor).unwrap();
        let mut world = World::new(quota, 0);
        let receipt = world.ask(Ask::units(2)).receipt.unwrap();
        world.now = Timestamp::from_micros(12_000_000).unwrap();
        world.ask(Ask::units(4));
        assert_eq!(refund(&quota, world.state.as_ref(), &receipt, world.now), Change::Keep);
        // Nor does a longer window, which holds both instants, make it the same one.
        let longer = Quota::fixed_window(5, Span::from_secs(20), anchor).unwrap();
        assert_eq!(refund(&longer, world.state.as_ref(), &receipt, world.now), Change::Keep);
    }
}

/// The instant that would tell the level lies before the epoch: less is given, never more.
#[test]
fn a_refund_at_the_epoch_may_be_short_by_less_than_a_unit() {
    let quota =
        Quota::token_bucket(2, tidegate_algorithms::Rate::new(1, Span::from_secs(10)).unwrap()).unwrap();
    for start in [0, 1_700_000_000_000_000] {
        let mut world = World::new(quota, start);
        let receipts = [world.ask(Ask::ONE).receipt.unwrap(), world.ask(Ask::ONE).receipt.unwrap()];
        for receipt in receipts {
            world.now = world.now.saturating_add(Span::from_micros(1));
            refund(&quota, world.state.as_ref(), &receipt, world.now).apply(&mut world.state);
        }
        // Two given back, less the microsecond that the first one's refund counted as lost.
        assert_eq!(remaining(&world, world.now), 1);
        let full = if start == 0 { Span::from_micros(10_000_000 - 2) } else { Span::from_micros(1) };
        assert_eq!(peek(&quota, world.state.as_ref(), Ask::ONE, world.now).reset_after, full);
    }
}

/// Were the end put off by every refund, a key on which right codes overlap without a break would never forget a
/// wrong one, and refuse in the end.
#[test]
fn wrong_codes_are_forgotten_while_right_ones_overlap_without_a_break() {
    let minute = Span::from_secs(60);
    for quota in [
        Quota::fixed_window(1_000, minute, Anchor::FirstHit).unwrap(),
        Quota::lockout(1_000, minute, Span::from_secs(1_800)).unwrap(),
    ] {
        let mut world = World::new(quota, 1_700_000_000_000_000);
        let mut under_way = std::collections::VecDeque::new();
        for tenth in 0..12_000_u32 {
            world.now = world.now.saturating_add(Span::from_millis(100));
            let receipt = world.ask(Ask::ONE).receipt.unwrap();
            // One in thirty seconds is wrong; the others are given back after a second.
            if tenth % 300 != 17 {
                under_way.push_back((tenth + 10, receipt));
            }
            while under_way.front().is_some_and(|(done, _)| *done <= tenth) {
                give_back(&mut world, &under_way.pop_front().unwrap().1);
            }
            let left = remaining(&world, world.now);
            assert!(left >= 1_000 - 10 - 3, "{left} left after {tenth} tenths of a second");
        }
    }
}

#[test]
fn a_receipt_made_of_its_parts_is_the_same() {
    for quota in [
        Quota::fixed_window(5, Span::from_secs(10), Anchor::Clock).unwrap(),
        Quota::fixed_window(5, Span::from_secs(10), Anchor::FirstHit).unwrap(),
        Quota::leaky_bucket(tidegate_algorithms::Rate::new(7, Span::from_secs(60)).unwrap(), 3).unwrap(),
        Quota::lockout(5, Span::from_secs(10), Span::from_secs(60)).unwrap(),
    ] {
        let mut world = World::new(quota, 1_700_000_000_000_000);
        world.ask(Ask::ONE);
        let receipt = world.ask(Ask::units(2)).receipt.unwrap();
        let copy = Receipt::from_parts(receipt.charged_at(), receipt.units(), receipt.place());
        assert_eq!(copy, receipt);
        give_back(&mut world, &copy);
        assert_eq!(remaining(&world, world.now), quota.nominal() - 1);
    }
}

/// A receipt of another anchor or algorithm is no receipt of this window, however its numbers look.
#[test]
fn a_receipt_of_another_kind_of_window_gives_nothing() {
    let ten = Span::from_secs(10);
    let quotas = [
        Quota::fixed_window(5, ten, Anchor::Clock).unwrap(),
        Quota::fixed_window(5, ten, Anchor::FirstHit).unwrap(),
        Quota::lockout(5, ten, ten).unwrap(),
    ];
    let charged = quotas.map(|quota| {
        let mut world = World::new(quota, 1_700_000_000_000_000);
        let receipt = world.ask(Ask::units(2)).receipt.unwrap();
        (world, receipt)
    });
    for (n, (world, _)) in charged.iter().enumerate() {
        for (_, (_, foreign)) in charged.iter().enumerate().filter(|(other, _)| *other != n) {
            assert_eq!(refund(&world.quota, world.state.as_ref(), foreign, world.now), Change::Keep);
        }
    }
}

/// Guards the law against a world that was given less: right codes that overlap for longer than a lock lasts.
#[test]
fn a_late_refund_gives_less_and_never_more() {
    let quota = Quota::lockout(8, Span::from_secs(86_400), Span::from_millis(1)).unwrap();
    let mut world = World::new(quota, 1_000_000);
    let [opener, other] = [(); 2].map(|()| world.ask(Ask::ONE).receipt.unwrap());
    world.now = world.now.saturating_add(Span::from_millis(1));
    assert!(give_back(&mut world, &opener));
    assert!(!give_back(&mut world, &other), "it might be from before a lock that is over");
    assert_eq!(remaining(&world, world.now), 7);
}
