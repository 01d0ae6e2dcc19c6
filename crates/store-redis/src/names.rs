//! The limits a store was asked for, and the names of their keys.

use std::sync::{Arc, PoisonError, RwLock};

use tidegate_store::{Check, LimitId, StoreError};

use crate::digest::Namer;
use crate::op::{Digest, OwnCheck};

/// Limits by the ids they were given, under one secret.
#[derive(Debug)]
pub(crate) struct Names {
    namer: Namer,
    limits: RwLock<Vec<Arc<str>>>,
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
        let mut limits = self.limits.write().unwrap_or_else(PoisonError::into_inner);
        let known = limits.iter().position(|held| &**held == name);
        let index = known.unwrap_or_else(|| {
            limits.push(name.into());
            limits.len() - 1
        });
        LimitId::from_index(u32::try_from(index).unwrap_or(u32::MAX))
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

    fn digest_among(&self, limits: &[Arc<str>], limit: LimitId, key: &[u8]) -> Result<Digest, StoreError> {
        let index = usize::try_from(limit.index()).unwrap_or(usize::MAX);
        let name = limits.get(index).ok_or_else(|| StoreError::rejected("there is no such limit"))?;
        Ok(self.namer.digest(name, key))
    }
}
