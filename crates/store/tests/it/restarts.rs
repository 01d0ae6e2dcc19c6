//! Random histories with restarts in them.

use proptest::prelude::*;
use tidegate_store::algorithms::{Ask, Quota, Span, State, Timestamp, decide as judge};
use tidegate_store::{Check, Decided, Give, MemoryOptions, MemoryStore, Refund, Store};

use crate::tools::{check, each_algorithm, noon, store};

/// One step: some time passes, the process may be started anew, a key asks under one of the plans.
#[derive(Debug, Clone)]
struct Step {
    after_micros: u64,
    restart: bool,
    key: u8,
    plan: usize,
    limit: bool,
    cost: u32,
    refund: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![4 => Just(0), 3 => 0..2_000_000_u64, 1 => 0..12_000_000_u64];
    let (restart, refund) = (proptest::bool::weighted(0.15), proptest::bool::weighted(0.1));
    let step = (wait, restart, 0..9_u8, 0..4_usize, any::<bool>(), 0..4_u32, refund);
    let step = step.prop_map(|(after_micros, restart, key, plan, limit, cost, refund)| Step {
        after_micros,
        restart,
        key,
        plan,
        limit,
        cost,
        refund,
    });
    proptest::collection::vec(step, 1..120)
}

/// Four plans, of any algorithms.
fn plans() -> impl Strategy<Value = Vec<Quota>> {
    let one = (0..7_usize, 2..6_u64, prop_oneof![Just(5_000), Just(8_000), Just(7_001)]);
    let one = one.prop_map(|(at, units, millis)| each_algorithm(units, Span::from_millis(millis))[at]);
    proptest::collection::vec(one, 4)
}

fn again(store: &MemoryStore, max_keys: usize, at: Timestamp) -> MemoryStore {
    let options = MemoryOptions { max_keys, max_bytes: 1 << 30 };
    MemoryStore::restore(options, store.snapshot().as_bytes(), Some(at)).unwrap().0
}

fn ask(store: &MemoryStore, asked: Check<'_>, at: Timestamp) -> Decided {
    store.decide(&[asked], Some(at)).now().unwrap().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happened before: a store that is started anew decides, to the last field, as one that never was; on
    /// plans of every algorithm, with what they leave beside each other, through refunds, with other locks than before.
    #[test]
    fn a_restarted_store_decides_as_one_that_never_was(plans in plans(), steps in steps()) {
        let (mut restarted, lasting) = (store(100_000, 1 << 30), store(100_000, 1 << 30));
        let mut now = noon();
        for (number, step) in steps.iter().enumerate() {
            now = now.saturating_add(Span::from_micros(step.after_micros));
            if step.restart {
                restarted = again(&restarted, [100_000, 300_000][number % 2], now);
            }
            let key = [step.key];
            let name = if step.limit { "one" } else { "two" };
            let (ask_, plan) = (Ask::units(step.cost), &plans[step.plan]);
            let [got, want] = [&restarted, &lasting].map(|store| {
                ask(store, Check { ask: ask_, ..check(store.limit(name), &key, plan) }, now)
            });
            prop_assert_eq!(got.admitted, want.admitted);
            prop_assert_eq!(got.outcomes[0].decision, want.outcomes[0].decision);
            if step.refund && let (Some(got), Some(want)) = (got.outcomes[0].receipt, want.outcomes[0].receipt) {
                for (store, receipt) in [(&restarted, got), (&lasting, want)] {
                    let refund = Refund { receipt, quota: plan, give: Give::Charge };
                    store.refund(&[refund], Some(now)).now().unwrap().unwrap();
                }
            }
        }
    }

    /// Through restarts with whatever room, and with states that many share: what a key was admitted, its own fresh
    /// state would have admitted. (Windows from the first hit may be shared, and then end earlier; the next holds those.)
    #[test]
    fn through_restarts_with_any_room_no_key_gets_more_than_alone(
        which in prop_oneof![Just(0), Just(2), Just(3), Just(4), Just(5)],
        units in 2..6_u64,
        rooms in proptest::collection::vec(0..8_usize, 1..6),
        steps in steps(),
    ) {
        let quota = each_algorithm(units, Span::from_secs(5))[which];
        let mut alone: [Option<State>; 9] = Default::default();
        through_restarts(&quota, &rooms, &steps, |step, admitted, now| {
            let state = &mut alone[usize::from(step.key)];
            if admitted {
                let outcome = judge(&quota, state.as_ref(), Ask::units(step.cost), now);
                prop_assert!(outcome.decision.is_admitted(), "{step:?} at {now:?} alone: {outcome:?}");
                outcome.change.apply(state);
            }
            Ok(())
        })?;
    }

    /// Through restarts with whatever room no key passes the bound of its limit in any window.
    #[test]
    fn through_restarts_with_any_room_no_key_passes_the_bound(
        which in 0..7_usize,
        units in 2..6_u64,
        rooms in proptest::collection::vec(0..8_usize, 1..6),
        steps in steps(),
    ) {
        let quota = each_algorithm(units, Span::from_secs(5))[which];
        let mut admissions: Vec<(u64, u8, u32)> = Vec::new();
        through_restarts(&quota, &rooms, &steps, |step, admitted, now| {
            admissions.extend(admitted.then_some((now.as_micros(), step.key, step.cost)));
            Ok(())
        })?;
        for (start, key, _) in &admissions {
            for millis in [0, 1, 2_500, 4_999, 5_000, 7_500] {
                let span = Span::from_millis(millis);
                let inside = admissions.iter().filter(|it| it.1 == *key && it.0 >= *start);
                let inside = inside.filter(|it| it.0 - start <= span.as_micros());
                let units: u128 = inside.map(|it| u128::from(it.2)).sum();
                prop_assert!(units <= quota.most_in_closed(span), "{units} in {span} from {start}");
            }
        }
    }
}

/// Runs a history on one plan, with room for another number of keys after each restart.
fn through_restarts(
    quota: &Quota,
    rooms: &[usize],
    steps: &[Step],
    mut each: impl FnMut(&Step, bool, Timestamp) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut rooms = rooms.iter().cycle();
    let mut store = store(rooms.next().copied().unwrap_or(3), 1 << 30);
    let mut now = noon();
    for step in steps {
        now = now.saturating_add(Span::from_micros(step.after_micros));
        if step.restart {
            store = again(&store, rooms.next().copied().unwrap_or(3), now);
        }
        let key = [step.key];
        let limit = store.limit("one");
        let decided = ask(&store, Check { ask: Ask::units(step.cost), ..check(limit, &key, quota) }, now);
        each(step, decided.admitted, now)?;
    }
    Ok(())
}
