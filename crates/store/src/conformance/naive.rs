//! The plainest store there can be, to hold the others against.
//!
//! A map under one lock; a batch runs on a copy of the map, which takes the map's place when everything was admitted.
//! It is slow, unbounded and meant to be read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_algorithms::{Ask, Decision, Quota, State, Timestamp, decide, keep_until, refund, settle};

use crate::{
    ChargeReceipt, Check, CheckOutcome, Decided, Give, KeyDigest, LimitId, Outcomes, Refund, Reply, Store,
    StoreError,
};

/// A state, and the quota it was last written under: by that one it is forgotten.
type Held = (State, Quota);
type Map = HashMap<(LimitId, Vec<u8>), Held>;

/// A naive store. Without an instant it decides at the epoch: it has no clock.
#[derive(Debug, Default)]
pub struct Naive(Mutex<World>);

#[derive(Debug, Default)]
struct World {
    names: Vec<String>,
    keys: Vec<Vec<u8>>,
    map: Map,
}

impl World {
    fn digest(&mut self, key: &[u8]) -> KeyDigest {
        let known = self.keys.iter().position(|held| held == key);
        let number = known.unwrap_or_else(|| {
            self.keys.push(key.to_vec());
            self.keys.len() - 1
        });
        KeyDigest::from_halves([0, number as u64 + 1])
    }

    fn key(&self, digest: KeyDigest) -> Option<&Vec<u8>> {
        let number = usize::try_from(digest.halves()[1]).ok()?;
        self.keys.get(number.checked_sub(1)?)
    }

    fn run(&mut self, checks: &[Check<'_>], now: Timestamp, peek: bool) -> Result<Decided, StoreError> {
        if checks.iter().any(|check| check.limit.index() as usize >= self.names.len()) {
            return Err(StoreError::rejected("there is no such limit"));
        }
        for check in checks {
            forget(&mut self.map, check, now);
        }
        let mut trial = self.map.clone();
        let (mut outcomes, mut admitted) = (Outcomes::new(), true);
        for check in checks {
            let outcome = decide(check.quota, state(&trial, check).as_ref(), check.ask, now);
            admitted &= check.shadow || outcome.decision.is_admitted();
            let key = self.digest(check.key);
            let receipt = outcome.receipt.map(|it| ChargeReceipt::new(check.limit, key, check.quota, it));
            outcomes.push(CheckOutcome { decision: outcome.decision, receipt });
            change(&mut trial, check, outcome.change);
        }
        if admitted && !peek {
            self.map = trial;
        } else {
            for (outcome, check) in outcomes.iter_mut().zip(checks) {
                let held = state(&self.map, check);
                let untouched = decide(check.quota, held.as_ref(), Ask::units(0), now).decision;
                outcome.decision = Decision { answer: outcome.decision.answer, ..untouched };
                outcome.receipt = None;
            }
        }
        if !admitted && !peek {
            for check in checks {
                let settled = settle(check.quota, state(&self.map, check).as_ref(), now);
                change(&mut self.map, check, settled);
            }
        }
        Ok(Decided { admitted, at: now, outcomes })
    }
}

/// Drops a state that cannot be told from a fresh one. This is judged once, before a batch.
fn forget(map: &mut Map, check: &Check<'_>, now: Timestamp) {
    let key = (check.limit, check.key.to_vec());
    if map.get(&key).is_some_and(|(state, quota)| keep_until(quota, state, now) <= now) {
        map.remove(&key);
    }
}

/// Returns the state a check is held against.
fn state(map: &Map, check: &Check<'_>) -> Option<State> {
    map.get(&(check.limit, check.key.to_vec())).map(|(state, _)| state.clone())
}

fn change(map: &mut Map, check: &Check<'_>, change: tidegate_algorithms::Change) {
    if change == tidegate_algorithms::Change::Keep {
        return;
    }
    let mut new = state(map, check);
    change.apply(&mut new);
    if let Some(new) = new {
        map.insert((check.limit, check.key.to_vec()), (new, *check.quota));
    }
}

impl Naive {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Naive {
    fn limit(&self, name: &str) -> LimitId {
        let mut world = self.world();
        let known = world.names.iter().position(|held| held == name);
        let index = known.unwrap_or_else(|| {
            world.names.push(name.to_owned());
            world.names.len() - 1
        });
        LimitId::from_index(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(self.world().run(checks, at.unwrap_or_default(), false))
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(self.world().run(checks, at.unwrap_or_default(), true))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        let (mut world, now) = (self.world(), at.unwrap_or_default());
        for Refund { receipt, quota, give } in refunds {
            let Some(key) = world.key(receipt.key()).cloned() else { continue };
            if *give == Give::All {
                world.map.remove(&(receipt.limit(), key));
                continue;
            }
            if !receipt.is_of(quota) {
                continue;
            }
            let check = Check { limit: receipt.limit(), key: &key, quota, ask: Ask::units(0), shadow: false };
            forget(&mut world.map, &check, now);
            let given = refund(quota, state(&world.map, &check).as_ref(), receipt.receipt(), now);
            change(&mut world.map, &check, given);
        }
        Reply::ready(Ok(()))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        self.world().map.remove(&(limit, key.to_vec()));
        Reply::ready(Ok(()))
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        Reply::ready(Ok(self.world().map.get(&(limit, key.to_vec())).map(|(state, _)| state.clone())))
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::ready(Ok(()))
    }
}
