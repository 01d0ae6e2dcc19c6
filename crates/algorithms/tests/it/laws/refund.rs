//! Refunds: never more than if the request had not been made, and all of it where nothing else happened.

use proptest::prelude::*;
use tidegate_algorithms::{Anchor, Ask, Change, Outcome, Quota, Span, Timestamp, peek, refund};

use super::cases;
use crate::play::{Jump, Move, World, histories, jumps, quotas, starts, window};

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
                prop_assert!(matches!(quota, Quota::FixedWindow(fixed) if fixed.anchor() == Anchor::FirstHit));
                return Ok(());
            }
        }
        made.go_on(wait);
        let kept = made.clone();
        let receipt = admitted[chosen].2.receipt.unwrap();
        refund(&quota, made.state.as_ref(), &receipt, made.now).apply(&mut made.state);
        for at in later(&quota, made.now) {
            let given = remaining(&made, at);
            prop_assert!(given >= remaining(&kept, at), "a refund took");
            // The window of a hit that was made ends when it ends, refund or not.
            prop_assert!(given <= remaining(&not_made, at).max(remaining(&kept, at)));
            let first_hit = matches!(quota, Quota::FixedWindow(fixed) if fixed.anchor() == Anchor::FirstHit);
            prop_assert!(first_hit || given <= remaining(&not_made, at), "a refund gave too much");
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
        let wait = if matches!(quota, Quota::TokenBucket(_)) { 0 } else { wait };
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
