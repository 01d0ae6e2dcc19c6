//! No history gets more than the bounds say, in any of its spans.

use proptest::prelude::*;
use tidegate_algorithms::{Answer, Ask, Quota, Span};

use super::cases;
use crate::play::{World, histories, quotas, starts};

/// Every span between two events, closed, with the units in it.
pub(super) fn spans(events: &[(u64, u64)]) -> impl Iterator<Item = (Span, u128)> {
    events.iter().enumerate().flat_map(move |(first, (began, _))| {
        let mut sum = 0_u128;
        events[first..].iter().map(move |(at, units)| {
            sum += u128::from(*units);
            (Span::from_micros(at - began), sum)
        })
    })
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn no_span_of_a_history_admits_or_starts_more_than_its_bound(
        quota in quotas(), start in starts(), history in histories(40), greedy in any::<bool>(),
    ) {
        let mut world = World::new(quota, start);
        let (mut admitted, mut started) = (Vec::new(), Vec::new());
        for a_move in history {
            world.go_on(a_move.jump);
            let now = world.now.as_micros();
            if world.ask(a_move.ask(&quota)).receipt.is_some() {
                admitted.push((now, u64::from(a_move.ask(&quota).cost())));
            }
            let rest = world.ask(Ask::units(0)).decision.remaining;
            if greedy && rest > 0 {
                prop_assert!(world.ask(Ask::units(rest)).decision.is_admitted());
                admitted.push((now, u64::from(rest)));
            }
        }
        for (span, units) in spans(&admitted) {
            prop_assert!(units <= quota.most_in_closed(span), "{units} in {span}");
            let open = Span::from_micros(span.as_micros() + 1);
            prop_assert!(units <= quota.most_in_half_open(open), "{units} in half-open {open}");
        }
        if let Some((first, _)) = admitted.first().copied() {
            let mut sum = 0;
            for (at, units) in &admitted {
                sum += u128::from(*units);
                prop_assert!(sum <= quota.most_from_idle(Span::from_micros(at - first)));
            }
        }
        // Starts are bounded unit by unit, so each asks alone.
        let Quota::LeakyBucket(_) = quota else { return Ok(()) };
        let mut queue = World::new(quota, start);
        for (at, units) in admitted {
            queue.now = tidegate_algorithms::Timestamp::from_micros(at).unwrap();
            for _ in 0..units.min(40) {
                if let Answer::Admit { delay } = queue.ask(Ask::ONE).decision.answer {
                    started.push((at.saturating_add(delay.as_micros()), 1));
                }
            }
        }
        prop_assert!(started.is_sorted(), "a queue is served in its order");
        started.retain(|(at, _)| *at < u64::MAX);
        for (span, units) in spans(&started) {
            prop_assert!(units <= quota.most_started_in_closed(span), "{units} started in {span}");
        }
    }
}
