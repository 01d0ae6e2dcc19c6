//! A plain store over the pure decisions, for what the memory store does not do: a map behind one lock.
//!
//! It decides as every store of ours does, batch by batch, all or nothing. What it reads and what becomes of what it writes
//! is a [`Table`]'s, and that is where the bad examples differ. A wait that it tells does not count what a bucket owes.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_algorithms::{Ask, Change, Decision, State, Timestamp, decide, refund, settle};
use tidegate_store::{
    ChargeReceipt, Check, CheckOutcome, Decided, Give, KeyDigest, LimitId, Outcomes, Refund, Reply, Store,
};

use super::kept::{Charge, Kept};

/// A key of a limit.
pub(super) type Key = (LimitId, KeyDigest);

/// Where a store reads and writes.
pub(super) trait Table: Send {
    /// Returns what a decision at an instant goes by.
    fn read(&mut self, key: Key, now: Timestamp) -> Option<Kept>;

    /// Keeps what a decision left, and what it charged, if it did.
    fn write(&mut self, key: Key, left: Kept, charge: Option<Charge>, now: Timestamp);

    /// Forgets a key.
    fn forget(&mut self, key: Key);

    /// Returns how many keys are held.
    fn keys(&self) -> usize;
}

/// What is held by keys, looked through whenever it has grown to twice of what was left: a flood of keys must not fill the
/// memory with what means nothing any more.
pub(super) struct Held<V> {
    pub(super) by_key: HashMap<Key, V>,
    due: usize,
}

/// So few keys are not looked through.
const FEW: usize = 1 << 12;

impl<V> Default for Held<V> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), due: FEW }
    }
}

impl<V> Held<V> {
    /// Drops what is over, when it is time for it.
    pub(super) fn sweep(&mut self, is_over: impl Fn(&V) -> bool) {
        if self.by_key.len() >= self.due {
            self.by_key.retain(|_, value| !is_over(value));
            self.due = self.by_key.len().saturating_mul(2).max(FEW);
        }
    }
}

/// A store that tells how full it is.
pub(super) trait Counted: Store {
    /// Returns how many keys it holds, and their bytes.
    fn usage(&self) -> (usize, usize);
}

/// A store over a table.
pub(super) struct Plain<T> {
    names: Mutex<Vec<String>>,
    table: Mutex<T>,
}

impl<T: Table> Plain<T> {
    pub(super) fn over(table: T) -> Self {
        Self { names: Mutex::default(), table: Mutex::new(table) }
    }

    fn answer(&self, checks: &[Check<'_>], now: Timestamp, peek: bool) -> Decided {
        let mut table = lock(&self.table);
        let mut batch: Vec<(Key, Kept)> = Vec::with_capacity(checks.len());
        let (mut outcomes, mut charges, mut admitted) = (Outcomes::new(), Vec::new(), true);
        for check in checks {
            let key = (check.limit, digest(check.key));
            let place = batch.iter().position(|(held, _)| *held == key).unwrap_or_else(|| {
                let kept = table.read(key, now).unwrap_or_else(|| Kept::fresh(*check.quota));
                batch.push((key, kept));
                batch.len().saturating_sub(1)
            });
            let Some((_, kept)) = batch.get_mut(place) else { continue };
            kept.prepare(check.quota, now);
            let outcome = decide(check.quota, kept.state.as_ref(), check.ask, now);
            admitted &= check.shadow || outcome.decision.is_admitted();
            outcome.change.apply(&mut kept.state);
            let receipt = outcome.receipt.map(|it| ChargeReceipt::new(key.0, key.1, check.quota, it));
            charges
                .push((place, receipt.map(|it| Charge { quota: *check.quota, units: it.units(), at: now })));
            outcomes.push(CheckOutcome { decision: outcome.decision, receipt });
        }
        if !admitted || peek {
            untouched(&mut *table, checks, &mut outcomes, now, peek);
        } else {
            for (place, charge) in charges {
                if let Some((key, kept)) = batch.get(place) {
                    table.write(*key, kept.clone(), charge, now);
                }
            }
        }
        Decided { admitted, at: now, outcomes }
    }

    fn give_back(&self, given: &Refund<'_>, now: Timestamp) {
        let (mut table, receipt) = (lock(&self.table), given.receipt);
        let key = (receipt.limit(), receipt.key());
        if given.give == Give::All {
            table.forget(key);
            return;
        }
        let Some(mut kept) = table.read(key, now) else { return };
        if receipt.is_of(given.quota) && kept.quota == *given.quota {
            refund(given.quota, kept.state.as_ref(), receipt.receipt(), now).apply(&mut kept.state);
            table.write(key, kept, None, now);
        }
    }
}

/// Replaces the numbers of checks that were not charged by those of their untouched states, which a refusal re-dates.
fn untouched<T: Table>(
    table: &mut T,
    checks: &[Check<'_>],
    outcomes: &mut Outcomes,
    now: Timestamp,
    peek: bool,
) {
    for (outcome, check) in outcomes.iter_mut().zip(checks) {
        let key = (check.limit, digest(check.key));
        let mut kept = table.read(key, now).unwrap_or_else(|| Kept::fresh(*check.quota));
        kept.prepare(check.quota, now);
        let numbers = decide(check.quota, kept.state.as_ref(), Ask::units(0), now).decision;
        *outcome =
            CheckOutcome { decision: Decision { answer: outcome.decision.answer, ..numbers }, receipt: None };
        let settled = settle(check.quota, kept.state.as_ref(), now);
        if !peek && settled != Change::Keep {
            settled.apply(&mut kept.state);
            table.write(key, kept, None, now);
        }
    }
}

/// Returns the digest of a key: the same in every store, since replicas tell each other of keys.
fn digest(key: &[u8]) -> KeyDigest {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, key).hash(&mut hasher);
        hasher.finish()
    };
    KeyDigest::from_halves([half(0), half(1)])
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> fmt::Debug for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").finish_non_exhaustive()
    }
}

impl<T: Table> Counted for Plain<T> {
    fn usage(&self) -> (usize, usize) {
        let keys = lock(&self.table).keys();
        (keys, keys.saturating_mul(size_of::<(Key, Kept)>()))
    }
}

impl<T: Table> Store for Plain<T> {
    fn limit(&self, name: &str) -> LimitId {
        let mut names = lock(&self.names);
        let known = names.iter().position(|held| held == name);
        let index = known.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len().saturating_sub(1)
        });
        LimitId::from_index(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(Ok(self.answer(checks, at.unwrap_or_default(), false)))
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(Ok(self.answer(checks, at.unwrap_or_default(), true)))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        for given in refunds {
            self.give_back(given, at.unwrap_or_default());
        }
        Reply::ready(Ok(()))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        lock(&self.table).forget((limit, digest(key)));
        Reply::ready(Ok(()))
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        let kept = lock(&self.table).read((limit, digest(key)), Timestamp::MAX);
        Reply::ready(Ok(kept.and_then(|kept| kept.state)))
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::ready(Ok(()))
    }
}
