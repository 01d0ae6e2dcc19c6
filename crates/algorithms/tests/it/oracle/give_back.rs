//! Giving back without a receipt, held against the same limiters.

use tidegate_algorithms::{Receipt, Span, give_back_receipts};

use super::*;
use crate::play::{jumps, window};

/// Gives up to so many units back, and returns the receipts that were used.
fn give_back(world: &mut World, units: u32) -> Vec<Receipt> {
    let Some(state) = &world.state else { return Vec::new() };
    let receipts = give_back_receipts(&world.quota, state, units, world.now);
    for receipt in &receipts {
        refund(&world.quota, world.state.as_ref(), receipt, world.now).apply(&mut world.state);
    }
    receipts
}

fn remaining(world: &World, at: Timestamp) -> u32 {
    tidegate_algorithms::peek(&world.quota, world.state.as_ref(), Ask::units(0), at).remaining
}

fn played(quota: Quota, start: u64, history: &[Move]) -> Result<Pair, TestCaseError> {
    let mut pair = Pair { real: World::new(quota, start), naive: limiter(&quota), receipts: Vec::new() };
    for a_move in history {
        pair.real.go_on(a_move.jump);
        pair.ask(a_move.ask(&quota))?;
    }
    Ok(pair)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever may ask for units back without a receipt must not get more than he asks for, nor more than there is.
    #[test]
    fn what_is_given_back_without_a_receipt_is_at_most_what_was_asked_for(
        quota in quotas(), start in starts(), history in histories(14), jump in jumps(),
        units in prop_oneof![1..6_u32, any::<u32>()],
    ) {
        let mut pair = played(quota, start, &history)?;
        pair.real.go_on(jump);
        let now = pair.real.now;
        let receipts = give_back(&mut pair.real, units);
        let given: u64 = receipts.iter().map(|receipt| u64::from(receipt.units())).sum();
        prop_assert!(given <= u64::from(units));
        let length = window(&quota);
        let fresh = World::new(quota, start);
        for off in [0, 1, 7, length / 2, length - 1, length, length + 1, 2 * length, 3 * length] {
            let at = now.saturating_add(Span::from_micros(off));
            let admits = remaining(&pair.real, at);
            prop_assert!(admits <= remaining(&fresh, at), "more than an untouched state has");
            let before = admits.saturating_sub(units);
            let most = before == 0 || pair.admits(Ask::units(before), at.as_micros().into());
            prop_assert!(most, "{admits} at {at:?} after {units} were given back");
        }
    }

    /// And so over all that follows: what is admitted early is not admitted once more later.
    #[test]
    fn all_that_is_admitted_from_then_on_is_at_most_that_much_more(
        quota in quotas(), start in starts(), history in histories(10), jump in jumps(), units in 1..6_u32,
        later in histories(14),
    ) {
        // Whoever is one attempt further from the lock may go on while the other is locked.
        if matches!(quota, Quota::Lockout(_)) {
            return Ok(());
        }
        let mut kept = played(quota, start, &history)?.real;
        kept.go_on(jump);
        let mut given = kept.clone();
        give_back(&mut given, units);
        let mut total = [0_u64; 2];
        for a_move in later {
            kept.go_on(a_move.jump);
            given.now = given.now.max(kept.now);
            for _ in 0..3 {
                for (world, total) in [&mut kept, &mut given].into_iter().zip(&mut total) {
                    *total += u64::from(world.ask(Ask::ONE).decision.is_admitted());
                }
            }
            prop_assert!(total[1] <= total[0] + u64::from(units), "{total:?} after {units} were given back");
        }
    }

    /// Receipts made from a state are those that the newest charges had, where a state tells charges apart at all.
    #[test]
    fn the_newest_charges_are_given_back_as_by_their_receipts(
        quota in quotas(), start in starts(), history in histories(10), count in 1..4_usize,
    ) {
        let has_no_instants = matches!(quota, Quota::TokenBucket(_) | Quota::LeakyBucket(_));
        let mut pair = played(quota, start, &history)?;
        let newest = pair.receipts.iter().rev().take(count).map(|(real, _)| *real).collect::<Vec<_>>();
        let locked = matches!(&pair.real.state, Some(tidegate_algorithms::State::Lock(lock)) if lock.locked_until > 0);
        let units = newest.iter().map(Receipt::units).fold(0, u32::saturating_add);
        let held = Quota::nominal(&quota).saturating_sub(remaining(&pair.real, pair.real.now));
        if has_no_instants || locked || units == 0 || units > held {
            return Ok(());
        }
        let mut by_receipt = pair.real.clone();
        for receipt in &newest {
            refund(&quota, by_receipt.state.as_ref(), receipt, by_receipt.now).apply(&mut by_receipt.state);
        }
        give_back(&mut pair.real, units);
        for off in [0, 1, window(&quota) / 2, window(&quota), 2 * window(&quota)] {
            let at = by_receipt.now.saturating_add(Span::from_micros(off));
            prop_assert_eq!(remaining(&pair.real, at), remaining(&by_receipt, at));
        }
    }
}

/// Slots of a queue are promised to those who wait: given to a newcomer, two would start at once.
#[test]
fn a_queue_gives_back_what_is_served_and_nothing_that_waits() {
    let rate = tidegate_algorithms::Rate::new(1, Span::from_secs(10)).unwrap();
    let quota = Quota::leaky_bucket(rate, 3).unwrap();
    let mut world = World::new(quota, 1_700_000_000_000_000);
    world.ask(Ask::ONE);
    world.ask(Ask::ONE);
    assert_eq!(give_back(&mut world, 2), []);
    world.now = world.now.saturating_add(Span::from_secs(15));
    assert_eq!(give_back(&mut world, 2).len(), 1);
    assert_eq!(remaining(&world, world.now), 4);
}

/// A word for another attempt must not open what an attack has locked.
#[test]
fn a_lock_is_not_undone_without_a_receipt() {
    let quota = Quota::lockout(3, Span::from_secs(60), Span::from_secs(600)).unwrap();
    let mut world = World::new(quota, 1_700_000_000_000_000);
    world.ask(Ask::units(2));
    assert_eq!(give_back(&mut world, 1).len(), 1);
    assert_eq!(remaining(&world, world.now), 2);
    world.ask(Ask::units(2));
    assert_eq!(give_back(&mut world, 3), []);
    assert_eq!(remaining(&world, world.now), 0);
}
