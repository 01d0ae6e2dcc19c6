//! The most any schedule gets, by dynamic programming over a limiter's states on a grid of time.

use std::collections::HashMap;
use std::hash::Hash;

/// A limiter on a grid, its time counted from now, so that its states are finitely many.
pub(super) trait Grid {
    type State: Clone + Eq + Hash;

    /// The states in which it is idle: one, or one for each phase of a clock.
    fn idle(&self) -> Vec<Self::State>;

    /// The most units it admits in this step.
    fn most(&self, state: &Self::State) -> u32;

    /// The state one step later when `units` are admitted now, and what the step counts for.
    fn step(&self, state: &Self::State, units: u32) -> (Self::State, u64);
}

/// The most that counts in a number of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// From any state that can be reached.
    pub(super) any: u64,
    /// From an idle one.
    pub(super) idle: u64,
}

/// Finds the most for 1 to `steps` steps, over all schedules.
pub(super) fn search<M: Grid>(model: &M, steps: usize) -> Vec<Found> {
    let (edges, idle) = explore(model);
    let mut best = vec![0_u64; edges.len()];
    let mut found = Vec::with_capacity(steps);
    for _ in 0..steps {
        best =
            edges.iter().map(|ways| ways.iter().map(|&(to, gain)| gain + best[to]).max().unwrap()).collect();
        found.push(Found {
            any: *best.iter().max().unwrap(),
            idle: idle.iter().map(|&at| best[at]).max().unwrap(),
        });
    }
    found
}

/// Every reachable state's ways on, as (next state, gain), and the idle states' numbers.
fn explore<M: Grid>(model: &M) -> (Vec<Vec<(usize, u64)>>, Vec<usize>) {
    let mut numbers: HashMap<M::State, usize> = HashMap::new();
    let mut todo = Vec::new();
    let mut number = |state: M::State, todo: &mut Vec<M::State>| {
        let next = numbers.len();
        *numbers.entry(state).or_insert_with_key(|state| {
            todo.push(state.clone());
            next
        })
    };
    let idle = model.idle().into_iter().map(|state| number(state, &mut todo)).collect();
    let mut edges = Vec::new();
    while edges.len() < todo.len() {
        let state = todo[edges.len()].clone();
        let mut ways = Vec::new();
        for units in 0..=model.most(&state) {
            let (next, gain) = model.step(&state, units);
            ways.push((number(next, &mut todo), gain));
        }
        edges.push(ways);
    }
    (edges, idle)
}
