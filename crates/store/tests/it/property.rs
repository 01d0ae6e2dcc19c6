//! Random histories in tiny stores, against the naive store and against each key's own history.

use proptest::prelude::*;
use tidegate_store::algorithms::{Ask, Quota, Span, State, Timestamp, decide as judge};
use tidegate_store::conformance::Naive;
use tidegate_store::{Check, MemoryStore, Store};

use crate::tools::{check, each_algorithm, noon, store};

/// One step of a history: some time passes, a key asks.
#[derive(Debug, Clone)]
struct Step {
    after_millis: u64,
    key: u8,
    cost: u32,
    beside: Option<u8>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![4 => Just(0), 3 => 0..2_000_u64, 1 => 0..12_000_u64];
    let step = (wait, 0..12_u8, 0..4_u32, proptest::option::weighted(0.3, 0..12_u8));
    let step = step.prop_map(|(after_millis, key, cost, beside)| Step { after_millis, key, cost, beside });
    proptest::collection::vec(step, 1..160)
}

fn algorithm() -> impl Strategy<Value = (usize, Quota)> {
    (0..7_usize, 2..5_u64).prop_map(|(at, units)| (at, each_algorithm(units, Span::from_secs(5))[at]))
}

fn not_from_first_hit() -> impl Strategy<Value = Quota> {
    algorithm().prop_map(
        |(at, quota)| if at == 1 || at == 6 { each_algorithm(3, Span::from_secs(5))[2] } else { quota },
    )
}

fn tiny() -> impl Strategy<Value = MemoryStore> {
    (0..6_usize, prop_oneof![Just(1 << 20), 400..4_000_usize])
        .prop_map(|(max_keys, max_bytes)| store(max_keys, max_bytes))
}

/// Runs a history and shows each decision to `each`, until that says stop.
fn run<S: Store>(
    store: &S,
    quota: &Quota,
    steps: &[Step],
    mut each: impl FnMut(&[Check<'_>], Timestamp) -> Result<bool, TestCaseError>,
) -> Result<(), TestCaseError> {
    let limit = store.limit("one");
    let mut now = noon();
    for step in steps {
        now = now.saturating_add(Span::from_millis(step.after_millis));
        let (key, beside) = ([step.key], step.beside.map(|key| [key]));
        let one = Check { ask: Ask::units(step.cost), ..check(limit, &key, quota) };
        let mut batch = vec![one];
        if let Some(key) = &beside {
            batch.push(check(limit, key, quota));
        }
        if !each(&batch, now)? {
            return Ok(());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// While nothing had to be shared, a tiny store that forgets all the time decides as one that never does.
    #[test]
    fn without_sharing_it_decides_as_the_naive_store((_, quota) in algorithm(), store in tiny(), steps in steps()) {
        let naive = Naive::default();
        naive.limit("one");
        run(&store, &quota, &steps, |batch, now| {
            let got = store.decide(batch, Some(now)).now().unwrap().unwrap();
            let want = naive.decide(batch, Some(now)).now().unwrap().unwrap();
            if store.usage().shared_checks > 0 {
                return Ok(false);
            }
            prop_assert_eq!(got.admitted, want.admitted);
            for (got, want) in got.outcomes.iter().zip(&want.outcomes) {
                prop_assert_eq!(got.decision, want.decision);
            }
            Ok(true)
        })?;
    }

    /// Whatever had to be shared or made coarser: what a key was admitted, its own fresh state would have admitted.
    ///
    /// A window from the first hit, also of a lockout, is left out: shared, it may have been opened by another, and then
    /// ends earlier. What it admits stays within the same bound, which the next test holds.
    #[test]
    fn with_sharing_no_key_gets_more_than_alone(quota in not_from_first_hit(), store in tiny(), steps in steps()) {
        let mut alone: [Option<State>; 12] = Default::default();
        run(&store, &quota, &steps, |batch, now| {
            let got = store.decide(batch, Some(now)).now().unwrap().unwrap();
            for asked in batch.iter().filter(|_| got.admitted) {
                let state = &mut alone[usize::from(asked.key[0])];
                let outcome = judge(asked.quota, state.as_ref(), asked.ask, now);
                prop_assert!(outcome.decision.is_admitted(), "{:?} at {now:?} alone: {:?}", asked.key, outcome);
                outcome.change.apply(state);
            }
            Ok(true)
        })?;
    }

    /// Sharing lets no key past the bound of its limit in any window.
    #[test]
    fn with_sharing_no_key_passes_the_bound((_, quota) in algorithm(), store in tiny(), steps in steps()) {
        let mut admitted: Vec<(u64, u8, u32)> = Vec::new();
        run(&store, &quota, &steps, |batch, now| {
            if store.decide(batch, Some(now)).now().unwrap().unwrap().admitted {
                admitted.extend(batch.iter().map(|it| (now.as_micros(), it.key[0], it.ask.cost())));
            }
            Ok(true)
        })?;
        let starts: Vec<(u64, u8)> = admitted.iter().map(|(at, key, _)| (*at, *key)).collect();
        for (start, key) in starts {
            for millis in [0, 1, 2_500, 4_999, 5_000, 7_500] {
                let span = Span::from_millis(millis);
                let inside = admitted.iter().filter(|it| it.1 == key && it.0 >= start);
                let inside = inside.filter(|it| it.0 - start <= span.as_micros());
                let units: u128 = inside.map(|it| u128::from(it.2)).sum();
                prop_assert!(units <= quota.most_in_closed(span), "{units} in {span} from {start}");
            }
        }
    }
}
