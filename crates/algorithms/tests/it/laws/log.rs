//! A log edited where it lies, in the room it has.

use proptest::prelude::*;
use tidegate_algorithms::{Ask, Change, Log, Quota, Span, Stamp, State, Timestamp, peek};

use super::cases;
use crate::play::{World, histories, starts};

/// Asks of a log that is edited in place, and never grows past its first stamps.
fn ask(world: &mut World, ask: Ask) -> bool {
    let outcome = tidegate_algorithms::decide(&world.quota, world.state.as_ref(), ask, world.now);
    match (outcome.change, &mut world.state) {
        (Change::Edit(edit), Some(State::Log(log))) => log.apply_in_place(&edit),
        (change, state) => change.apply(state),
    }
    outcome.decision.is_admitted()
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_log_without_room_admits_no_more_than_one_with_room(
        limit in 1..40_u64, window in 1_000..9_000_u64, start in starts(), history in histories(60),
    ) {
        let quota = Quota::sliding_log(limit, Span::from_micros(window)).unwrap();
        let mut tight = World::new(quota, start);
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for a_move in history {
            tight.go_on(a_move.jump);
            let (now, cost) = (tight.now.as_micros(), a_move.cost.of(&quota));
            if ask(&mut tight, Ask::units(cost)) && cost > 0 {
                admitted.push((now, cost.into()));
            }
            // What a log that keeps every stamp would still have.
            let used: u64 = admitted.iter().filter(|(at, _)| at + window > now).map(|(_, units)| units).sum();
            let left = peek(&quota, tight.state.as_ref(), Ask::ONE, tight.now).remaining;
            prop_assert!(u64::from(left) + used <= limit, "{left} left of {limit}, {used} used");
        }
    }
}

/// Units that no stamp holds would never leave, and refuse for ever.
#[test]
fn a_log_read_from_overfull_stamps_forgets_them_all() {
    let quota = Quota::sliding_log(5, Span::from_secs(1)).unwrap();
    let log = Log::from_stamps(
        [(7, u32::MAX), (7, u32::MAX), (3, 9), (8, 0)].map(|(at, units)| Stamp { at, units }),
    );
    assert_eq!(log.len(), 1);
    let mut world = World::new(quota, 1_000_006);
    world.state = Some(State::Log(log));
    assert!(!world.ask(Ask::ONE).decision.is_admitted());
    world.now = Timestamp::from_micros(1_000_007).unwrap();
    assert_eq!(world.ask(Ask::ONE).decision.remaining, 4);
}

/// One entry a unit would make a day's spending of 50,000 cents 800 kB a key.
#[test]
fn a_log_keeps_one_entry_a_charge_however_many_units_it_took() {
    let quota = Quota::sliding_log(50_000, Span::from_secs(86_400)).unwrap();
    let mut world = World::new(quota, 1_700_000_000_000_000);
    while world.ask(Ask::units(25)).decision.is_admitted() {
        world.now = world.now.saturating_add(Span::from_secs(1));
    }
    let Some(State::Log(log)) = world.state else { panic!("no log") };
    assert_eq!((log.len(), log.stamps().map(|stamp| stamp.units).sum::<u32>()), (2_000, 50_000));
    assert!(log.heap_bytes() < 70_000, "{} bytes", log.heap_bytes());
}
