//! Instances that each have their share of a quota, and cannot count together.

use proptest::prelude::*;
use tidegate_algorithms::{Ask, MAX_SPAN, Quota, Timestamp};

use super::bound::spans;
use super::cases;
use crate::play::{World, histories, quotas, starts};

/// Returns whether a share keeps its promise to the full: there is a unit for every instance, and a unit of each in
/// 400 days.
fn is_divisible(quota: &Quota, instances: u32) -> bool {
    let rate = match quota {
        Quota::TokenBucket(quota) => Some(quota.refill()),
        Quota::LeakyBucket(quota) => Some(quota.rate()),
        _ => None,
    };
    let slowest = rate.is_none_or(|rate| {
        u128::from(rate.micros()) * u128::from(instances)
            <= u128::from(MAX_SPAN.as_micros()) * u128::from(rate.units())
    });
    quota.nominal() >= instances && slowest
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// Shares that rounded up, or a rate that was not divided, would raise every limit in an outage, when it is needed most.
    #[test]
    fn no_span_of_all_instances_together_admits_more_than_the_whole(
        whole in quotas(),
        instances in prop_oneof![4 => 1..5_u32, 1 => 5..40_u32],
        start in starts(),
        history in histories(60),
        greedy in any::<bool>(),
    ) {
        let share = whole.share_of(instances);
        if !is_divisible(&whole, instances) {
            // It is one unit each, or none where the whole has none.
            prop_assert!(share.nominal() == (whole.nominal() / instances).max(whole.nominal().min(1)));
            return Ok(());
        }
        let mut worlds = vec![World::new(share, start); usize::try_from(instances).unwrap()];
        let (mut now, mut admitted) = (start, Vec::new());
        for (turn, a_move) in history.into_iter().enumerate() {
            let count = worlds.len();
            let world = &mut worlds[turn % count];
            // All of them live by one time.
            world.now = world.now.max(Timestamp::saturating_from_micros(now));
            world.go_on(a_move.jump);
            now = world.now.as_micros();
            let ask = a_move.ask(&share);
            if world.ask(ask).receipt.is_some() {
                admitted.push((now, u64::from(ask.cost())));
            }
            for other in worlds.iter_mut().filter(|_| greedy) {
                other.now = Timestamp::saturating_from_micros(now);
                let rest = other.ask(Ask::units(0)).decision.remaining;
                if rest > 0 && other.ask(Ask::units(rest)).receipt.is_some() {
                    admitted.push((now, u64::from(rest)));
                }
            }
        }
        // Each instance rounds its own estimate.
        let is_estimate = matches!(whole, Quota::SlidingCounter(_));
        let slack = if is_estimate { u128::from(instances) } else { 0 };
        for (span, units) in spans(&admitted) {
            let most = whole.most_in_closed(span) + slack;
            prop_assert!(units <= most, "{units} of {most} in {span}: {share:?} by {instances}");
        }
    }
}
