//! The limits a store was asked for, and the names of their keys.

use std::sync::{Arc, PoisonError, RwLock};

use tidegate_store::{Check, LimitId, StoreError};

use crate::digest::Namer;
use crate::op::{Digest, OwnCheck};

/// Limits by the ids they were given, under one secret.
#[derive(Debug)]
pub(crate) struct Names {
    namer: Namer,
    limits: RwLock<Vec<Known>>,
}

/// A limit that was asked for.
#[derive(Debug)]
struct Known {
    name: Arc<str>,
    /// Whether its keys are the names of counters that other programs count as well.
    is_counter: bool,
}

impl Names {
    pub(crate) fn new(namer: Namer) -> Self {
        Self { namer, limits: RwLock::default() }
    }

    pub(crate) fn namer(&self) -> &Namer {
        &self.namer
    }

    /// Returns the id of a limit, a new one when the name is new.
    pub(crate) fn id(&self, name: &str) -> LimitId {
        self.id_of(name, false)
    }

    /// Returns the id of a limit whose keys are names of counters: another than the limit of that name has besides.
    pub(crate) fn counter_id(&self, name: &str) -> LimitId {
        self.id_of(name, true)
    }

    fn id_of(&self, name: &str, is_counter: bool) -> LimitId {
        let mut limits = self.limits.write().unwrap_or_else(PoisonError::into_inner);
        let known = limits.iter().position(|held| &*held.name == name && held.is_counter == is_counter);
        let index = known.unwrap_or_else(|| {
            limits.push(Known { name: name.into(), is_counter });
            limits.len() - 1
        });
        LimitId::from_index(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Returns whether a limit's keys are names of counters.
    pub(crate) fn is_counter(&self, limit: LimitId) -> bool {
        let limits = self.limits.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(limit.index()).unwrap_or(usize::MAX);
        limits.get(index).is_some_and(|known| known.is_counter)
    }

    /// Names a limit's key.
    pub(crate) fn digest(&self, limit: LimitId, key: &[u8]) -> Result<Digest, StoreError> {
        let limits = self.limits.read().unwrap_or_else(PoisonError::into_inner);
        self.digest_among(&limits, limit, key)
    }

    /// Names the keys of a batch.
    pub(crate) fn checks(&self, checks: &[Check<'_>]) -> Result<Vec<OwnCheck>, StoreError> {
        let limits = self.limits.read().unwrap_or_else(PoisonError::into_inner);
        let own = |check: &Check<'_>| {
            let digest = self.digest_among(&limits, check.limit, check.key)?;
            let Check { limit, ask, shadow, .. } = *check;
            Ok(OwnCheck { limit, digest, quota: *check.quota, ask, shadow })
        };
        checks.iter().map(own).collect()
    }

    fn digest_among(&self, limits: &[Known], limit: LimitId, key: &[u8]) -> Result<Digest, StoreError> {
        let index = usize::try_from(limit.index()).unwrap_or(usize::MAX);
        let known = limits.get(index).ok_or_else(|| StoreError::rejected("there is no such limit"))?;
        Ok(self.namer.digest(&known.name, key))
    }
}
