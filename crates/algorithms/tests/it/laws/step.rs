//! What one decision promises: nothing taken by a refusal, an exact retry, numbers that are true.

use proptest::prelude::*;
use tidegate_algorithms::{
    Answer, Ask, Decision, Quota, Retry, Span, State, Timestamp, decide, keep_until, peek, settle,
};

use super::cases;
use crate::play::{World, histories, quotas, starts};

fn admits(quota: &Quota, state: Option<&State>, ask: Ask, at: Timestamp) -> bool {
    decide(quota, state, ask, at).decision.is_admitted()
}

fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

/// A wait is exact: over then, not a microsecond earlier.
fn exact(world: &World, ask: Ask, wait: Span) {
    let state = world.state.as_ref();
    let then = world.now.as_micros() + wait.as_micros();
    assert!(wait > Span::ZERO, "a refusal without a wait");
    assert!(admits(&world.quota, state, ask, at(then)), "refused at the instant it was told");
    assert!(!admits(&world.quota, state, ask, at(then - 1)), "admitted a microsecond early");
}

fn refused(before: &World, after: &World, ask: Ask, retry: Retry) {
    let (was, is) = (before.state.as_ref(), after.state.as_ref());
    for probe in [Ask::units(0), Ask::ONE, ask, Ask::units(before.quota.nominal())] {
        let (was, is) = (
            decide(&before.quota, was, probe, before.now).decision,
            decide(&before.quota, is, probe, before.now).decision,
        );
        assert_eq!(was, is, "a refusal changed what is there");
    }
    assert_eq!(settle(&before.quota, is, before.now), tidegate_algorithms::Change::Keep, "re-dated, yet not");
    match retry {
        Retry::After(wait) => exact(after, ask, wait),
        Retry::Never => {
            for later in [before.now, before.now.saturating_add(Span::from_secs(1 << 30)), Timestamp::MAX] {
                assert!(!admits(&before.quota, is, ask, later), "admitted after a never");
            }
        }
    }
}

/// The numbers of a decision, held against what is then decided.
fn numbers(world: &World, numbers: Decision) {
    let state = world.state.as_ref();
    let (quota, now) = (&world.quota, world.now);
    let Decision { remaining, next_unit, reset_after, .. } = numbers;
    assert!(remaining == 0 || admits(quota, state, Ask::units(remaining), now), "remaining is too much");
    assert!(!admits(quota, state, Ask::units(remaining + 1), now), "remaining is too little");
    assert_eq!(next_unit == Span::ZERO, remaining > 0, "the next unit is there, or is not");
    if next_unit != Span::ZERO && now.checked_add(next_unit).is_some() {
        exact(world, Ask::ONE, next_unit);
    }
    let forgotten = state.map_or(now, |state| keep_until(quota, state, now));
    assert_eq!(now.saturating_add(reset_after), forgotten, "reset is where the state may be forgotten");
}

fn step(world: &mut World, ask: Ask) {
    let before = world.clone();
    let peeked = peek(&world.quota, world.state.as_ref(), ask, world.now);
    let outcome = world.ask(ask);
    assert_eq!(peeked.answer, outcome.decision.answer, "a peek answers as a decision does");
    assert_eq!(outcome.receipt.is_some(), outcome.decision.is_admitted() && ask.cost() > 0);
    match outcome.decision.answer {
        Answer::Admit { delay } => {
            assert!(delay <= ask.max_delay() || ask.cost() == 0, "held longer than the caller can");
            if ask.cost() == 0 {
                assert_eq!(before.state, world.state, "an ask for nothing changed something");
            }
        }
        Answer::Refuse(retry) => {
            assert_eq!(outcome.decision, peeked);
            assert!(ask.cost() > 0, "an ask for nothing was refused");
            refused(&before, world, ask, retry);
        }
    }
    if ask.cost() > 0 {
        numbers(world, outcome.decision);
    }
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn every_decision_keeps_its_promises(quota in quotas(), start in starts(), history in histories(24)) {
        let mut world = World::new(quota, start);
        for a_move in history {
            world.go(a_move.jump);
            step(&mut world, a_move.ask(&quota));
        }
    }

    #[test]
    fn a_cost_of_n_is_n_costs_of_one(
        quota in quotas(), start in starts(), history in histories(12), n in 1..40_u32, within in any::<Option<u32>>(),
    ) {
        let mut world = World::new(quota, start);
        for a_move in history {
            world.go(a_move.jump);
            world.ask(a_move.ask(&quota));
            let mut ones = world.clone();
            let limited = |ask: Ask| within.map_or(ask, |within| ask.within(Span::from_micros(within.into())));
            let whole = world.clone().ask(limited(Ask::units(n)));
            let each = (0..n).take_while(|_| ones.ask(limited(Ask::ONE)).decision.is_admitted()).count();
            prop_assert_eq!(whole.decision.is_admitted(), each == usize::try_from(n).unwrap());
            if whole.decision.is_admitted() {
                let mut state = world.state.clone();
                whole.change.apply(&mut state);
                prop_assert_eq!(state, ones.state);
            }
        }
    }
}
