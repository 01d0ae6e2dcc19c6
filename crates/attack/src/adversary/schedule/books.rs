//! The books of an adversary who has read the policy: what he has used of each limit on each of its keys.
//!
//! Limits decide by numbers that stand in the policy and by what they have admitted, which he sees. So he can decide
//! beforehand as they will, and knows to the microsecond when a key of his admits again. Only what others do on the same
//! keys is news to him.

use std::collections::HashMap;

use tidegate::OnSuccess;
use tidegate_algorithms::{Ask, Retry, State, Timestamp, decide, peek};

use super::super::{Aim, Guard};
use crate::act::{Outcome, Who};
use crate::target::{CountedOn, Reading};

/// What was used of limits, by key.
pub(crate) struct Books {
    limits: Vec<(Guard, HashMap<CountedOn, State>)>,
    reading: Reading,
}

impl Books {
    /// Opens the books on limits of which nothing has been used.
    pub(crate) fn of<'g>(guards: impl IntoIterator<Item = &'g Guard>, reading: Reading) -> Self {
        let limits = guards.into_iter().map(|guard| (guard.clone(), HashMap::new()));
        Self { limits: limits.collect(), reading }
    }

    /// Returns how many limits there are.
    pub(crate) fn len(&self) -> usize {
        self.limits.len()
    }

    /// Returns the key that a limit counts a request on.
    pub(crate) fn key(&self, limit: usize, who: &Who) -> Option<CountedOn> {
        let (guard, _) = self.limits.get(limit)?;
        Some(CountedOn::of(guard.keyed, self.reading, who))
    }

    /// Returns the first instant from `now` on at which all limits admit a request; `None` for never.
    pub(crate) fn ready(&self, who: &Who, now: Timestamp) -> Option<Timestamp> {
        (0..self.len()).try_fold(now, |at, limit| self.ready_at(limit, who, now).map(|ready| ready.max(at)))
    }

    /// Returns the first instant from `now` on at which one limit admits a request; `None` for never.
    pub(crate) fn ready_at(&self, limit: usize, who: &Who, now: Timestamp) -> Option<Timestamp> {
        let Some((guard, states)) = self.limits.get(limit) else { return Some(now) };
        let state = states.get(&CountedOn::of(guard.keyed, self.reading, who));
        match peek(&guard.quota, state, Ask::units(guard.cost), now).retry() {
            None => Some(now),
            Some(Retry::After(wait)) => now.checked_add(wait),
            Some(Retry::Never) => None,
        }
    }

    /// Books a request that passed.
    pub(crate) fn charge(&mut self, who: &Who, at: Timestamp, outcome: Outcome) {
        for (guard, states) in &mut self.limits {
            let key = CountedOn::of(guard.keyed, self.reading, who);
            match (outcome, guard.failures) {
                (Outcome::Success, Some(OnSuccess::Refund)) => {}
                (Outcome::Success, Some(OnSuccess::Reset)) => {
                    states.remove(&key);
                }
                (Outcome::Failure, _) | (Outcome::Success, None) => {
                    let mut state = states.remove(&key);
                    let decided = decide(&guard.quota, state.as_ref(), Ask::units(guard.cost), at);
                    decided.change.apply(&mut state);
                    if let Some(state) = state {
                        states.insert(key, state);
                    }
                }
            }
        }
    }
}

/// Returns how an aim's limits read what a request says of itself.
pub(crate) fn reading(aim: &Aim) -> Reading {
    Reading {
        believes_anybody: aim.believes_anybody,
        one_spelling: aim.one_spelling,
        one_address: aim.sees_one_address(),
    }
}
