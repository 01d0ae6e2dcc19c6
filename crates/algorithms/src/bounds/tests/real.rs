//! The same search with this crate's own decisions as the steps: the code stays within its bounds and reaches them.
//!
//! A state of the crate holds instants, so there are new ones in every step; the states of a step are worked through
//! together, from a fresh state at the first.

use std::collections::HashMap;

use crate::decision::{Answer, Ask};
use crate::quota::Quota;
use crate::state::State;
use crate::time::Timestamp;
use crate::{decide, keep_until};

/// A state, and the starts still to come as (step, units): only for a queue whose starts are counted.
type Held = (Option<State>, Vec<(u64, u64)>);

/// Which of its units count, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Each when it is admitted.
    Admitted,
    /// Each when its slot begins.
    Started,
}

/// Finds the most for spans that begin at any step of `began` and last 1 to `steps` steps; `idle` finds only those
/// that begin without a state.
pub(super) fn search(quota: &Quota, counts: Counts, began: u64, steps: usize, idle: bool) -> Vec<u64> {
    let mut most = vec![0; steps];
    let mut reached: HashMap<Held, u64> = HashMap::from([((None, Vec::new()), 0)]);
    // Half-way into the domain, and no multiple of the windows.
    let epoch = (1 << 51) + 5;
    for begin in epoch..epoch + began {
        let mut here = reached.clone();
        if idle {
            here.retain(|(state, _), _| state.is_none());
        }
        for (step, most) in (begin..).zip(&mut most) {
            here = advance(quota, counts, &here, step);
            *most = here.values().copied().chain([*most]).max().unwrap();
        }
        reached = advance(quota, counts, &reached, begin);
        for best in reached.values_mut() {
            *best = 0;
        }
    }
    most
}

/// Tries every number of requests at an instant in every state.
fn advance(quota: &Quota, counts: Counts, here: &HashMap<Held, u64>, at: u64) -> HashMap<Held, u64> {
    let now = Timestamp::from_micros(at).unwrap();
    let mut next = HashMap::new();
    for ((state, starts), best) in here {
        let (mut state, mut starts, mut best) = (state.clone(), starts.clone(), *best);
        loop {
            note(&mut next, quota, (&state, &starts), best, at);
            let outcome = decide(quota, state.as_ref(), Ask::ONE, now);
            let Answer::Admit { delay } = outcome.decision.answer else { break };
            outcome.change.apply(&mut state);
            match counts {
                Counts::Admitted => best += 1,
                Counts::Started => starts.push((at + delay.as_micros(), 1)),
            }
        }
    }
    next
}

/// Notes what a way came to at the end of a step, in which what starts then counts.
fn note(
    next: &mut HashMap<Held, u64>,
    quota: &Quota,
    (state, starts): (&Option<State>, &[(u64, u64)]),
    best: u64,
    at: u64,
) {
    let began: u64 = starts.iter().filter(|(step, _)| *step <= at).map(|(_, units)| units).sum();
    let later = starts.iter().copied().filter(|(step, _)| *step > at).collect();
    // A state that may be forgotten is, which also tries what `keep_until` says.
    let soon = Timestamp::from_micros(at + 1).unwrap();
    let kept = state.clone().filter(|state| keep_until(quota, state, soon) > soon);
    let held = next.entry((kept, later)).or_default();
    *held = (*held).max(best + began);
}
