//! The plainest store there can be, to hold the others against.
//!
//! A map under one lock; a batch runs on a copy of the map, which takes the map's place when everything was admitted.
//! It is slow, unbounded and meant to be read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_algorithms::{Ask, Change, Decision, State, Timestamp, decide, refund, settle};

use crate::plans::Plans;
use crate::{
    ChargeReceipt, Check, CheckOutcome, Decided, Give, KeyDigest, LimitId, Outcomes, Refund, Reply, Store,
    StoreError,
};

type Map = HashMap<(LimitId, Vec<u8>), Plans>;

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
            let outcome = decide(check.quota, state(&trial, check, now).as_ref(), check.ask, now);
            admitted &= check.shadow || outcome.decision.is_admitted();
            let key = self.digest(check.key);
            let receipt = outcome.receipt.map(|it| ChargeReceipt::new(check.limit, key, check.quota, it));
            outcomes.push(CheckOutcome { decision: outcome.decision, receipt });
            change(&mut trial, check, &outcome.change, now);
        }
        if admitted && !peek {
            self.map = trial;
        } else {
            for (outcome, check) in outcomes.iter_mut().zip(checks) {
                let held = state(&self.map, check, now);
                let untouched = decide(check.quota, held.as_ref(), Ask::units(0), now).decision;
                outcome.decision = Decision { answer: outcome.decision.answer, ..untouched };
                outcome.receipt = None;
            }
        }
        if !admitted && !peek {
            for check in checks {
                let settled = settle(check.quota, state(&self.map, check, now).as_ref(), now);
                change(&mut self.map, check, &settled, now);
            }
        }
        Ok(Decided { admitted, at: now, outcomes })
    }
}

/// Drops what cannot be told from a fresh state. This is judged once, before a batch.
fn forget(map: &mut Map, check: &Check<'_>, now: Timestamp) {
    if let Some(plans) = map.get_mut(&(check.limit, check.key.to_vec())) {
        plans.forget(now);
    }
}

/// Returns the state a check is held against.
fn state(map: &Map, check: &Check<'_>, now: Timestamp) -> Option<State> {
    map.get(&(check.limit, check.key.to_vec()))?.state(check.quota, now)
}

fn change(map: &mut Map, check: &Check<'_>, change: &Change, now: Timestamp) {
    map.entry((check.limit, check.key.to_vec())).or_default().change(check.quota, change, now);
}

impl Naive {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns every state of a key, to compare with what another store wrote.
    pub fn plans(&self, limit: LimitId, key: &[u8]) -> Plans {
        self.world().map.get(&(limit, key.to_vec())).cloned().unwrap_or_default()
    }

    /// Puts states in the place of a key's own, to decide on what another store found.
    pub fn put(&self, limit: LimitId, key: &[u8], plans: Plans) {
        self.world().map.insert((limit, key.to_vec()), plans);
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
            let check = Check { limit: receipt.limit(), key: &key, quota, ask: Ask::units(0), shadow: false };
            forget(&mut world.map, &check, now);
            let held = world.map.get(&(check.limit, key.clone())).and_then(|plans| plans.current.as_ref());
            let Some((state, held)) = held else { continue };
            if receipt.is_of(quota) && held == *quota {
                let given = refund(quota, Some(state), receipt.receipt(), now);
                change(&mut world.map, &check, &given, now);
            }
        }
        Reply::ready(Ok(()))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        self.world().map.remove(&(limit, key.to_vec()));
        Reply::ready(Ok(()))
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        let world = self.world();
        let current = world.map.get(&(limit, key.to_vec())).and_then(|plans| plans.current.as_ref());
        Reply::ready(Ok(current.map(|(state, _)| state.clone())))
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::ready(Ok(()))
    }

    fn digest(&self, _: LimitId, key: &[u8]) -> Option<KeyDigest> {
        Some(self.world().digest(key))
    }
}
