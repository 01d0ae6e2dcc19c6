//! Time that goes back: counts and credit kept, and never more than one full wait.

use proptest::prelude::*;
use tidegate_algorithms::{Answer, Ask, Quota, Retry, Span, Timestamp, keep_until, peek};

use super::cases;
use crate::play::{World, histories, quotas, starts, wide};

/// The longest an ask of `cost` waits, whatever happened before: a window (two where the last one weighs), or the
/// time its own units take.
pub(super) fn full_wait(quota: &Quota, cost: u32) -> Span {
    match quota {
        Quota::FixedWindow(quota) => quota.window(),
        Quota::SlidingLog(quota) => quota.window(),
        Quota::SlidingCounter(quota) => Span::from_micros(quota.window().as_micros() * 2),
        Quota::TokenBucket(quota) => quota.refill().time_for(cost.into()),
        Quota::LeakyBucket(quota) => quota.rate().time_for(cost.into()),
        Quota::Lockout(quota) => quota.within().max(quota.lock()),
    }
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn a_step_back_keeps_counts_and_credit_and_delays_no_more_than_one_full_wait(
        quota in quotas(), start in starts(), history in histories(12), back in wide(1, 1 << 52), cost in 1..9_u32,
    ) {
        let mut world = World::new(quota, start);
        for a_move in history {
            world.go(a_move.jump);
            let written = world.ask(Ask::units(a_move.cost.of(&quota)));
            if written.receipt.is_none() {
                continue;
            }
            let mut earlier = world.clone();
            earlier.now = Timestamp::saturating_from_micros(world.now.as_micros().saturating_sub(back));
            let kept = peek(&quota, earlier.state.as_ref(), Ask::ONE, earlier.now);
            // A counter's counts are kept, too, but weigh what they weigh at the earlier instant.
            if !matches!(quota, Quota::SlidingCounter(_)) {
                prop_assert_eq!(kept.remaining, written.decision.remaining);
            }
            for cost in [cost, quota.nominal()] {
                let refused = earlier.ask(Ask::units(cost)).decision.answer;
                if let Answer::Refuse(Retry::After(wait)) = refused {
                    prop_assert!(wait <= full_wait(&quota, cost), "waits {wait} of {}", full_wait(&quota, cost));
                    let left = keep_until(&quota, earlier.state.as_ref().unwrap(), earlier.now);
                    let longest = earlier.now.saturating_add(full_wait(&quota, quota.nominal()));
                    prop_assert!(left <= longest, "the refusal stored no new date");
                }
            }
        }
    }
}
