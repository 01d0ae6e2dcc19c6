//! Forgetting: from `keep_until` on a state is as good as none, and not a microsecond earlier.

use proptest::prelude::*;
use tidegate_algorithms::{Ask, Timestamp, decide, keep_until};

use super::cases;
use crate::play::{World, histories, quotas, starts, wide};

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn from_keep_until_on_a_state_decides_as_none_does_and_before_it_does_not(
        quota in quotas(), start in starts(), history in histories(16), later in histories(10),
        // An instant of asking that lies before the state's own date, too.
        back in prop_oneof![Just(0), wide(0, 1 << 50)],
    ) {
        let mut world = World::new(quota, start);
        for a_move in history {
            world.go(a_move.jump);
            world.ask(a_move.ask(&quota));
        }
        let asked = Timestamp::saturating_from_micros(world.now.as_micros().saturating_sub(back));
        let Some(state) = world.state.clone() else { return Ok(()) };
        let until = keep_until(&quota, &state, asked);
        prop_assert!(until >= asked);
        if until > asked {
            let eve = Timestamp::from_micros(until.as_micros() - 1).unwrap();
            let differs = [Ask::units(0), Ask::ONE, Ask::units(quota.nominal())].into_iter().any(|ask| {
                decide(&quota, Some(&state), ask, eve).decision != decide(&quota, None, ask, eve).decision
            });
            prop_assert!(differs, "kept longer than it matters");
        }
        if until == Timestamp::MAX {
            return Ok(());
        }
        let (mut held, mut fresh) = (world.clone(), world);
        (held.now, fresh.now, fresh.state) = (until, until, None);
        for a_move in later {
            held.go(a_move.jump);
            held.now = held.now.max(until);
            fresh.now = held.now;
            let ask = a_move.ask(&quota);
            prop_assert_eq!(held.ask(ask).decision, fresh.ask(ask).decision);
        }
    }
}
