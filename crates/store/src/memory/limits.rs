//! The names of limits and their ids.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::RwLock;

use super::room::{Account, Ledger};
use crate::check::LimitId;
use crate::error::StoreError;

#[derive(Debug)]
pub(super) struct Limits {
    ledger: Arc<Ledger>,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<String, LimitId>,
    accounts: Vec<Arc<Account>>,
}

impl Known {
    /// Returns the id of a limit that is known by this name, which is in force from now on.
    fn bring_back(&self, name: &str) -> Option<LimitId> {
        let id = *self.ids.get(name)?;
        if let Some(account) = self.accounts.get(place(id)) {
            account.set_in_force(true);
        }
        Some(id)
    }
}

fn place(limit: LimitId) -> usize {
    usize::try_from(limit.index()).unwrap_or(usize::MAX)
}

impl Limits {
    pub(super) fn new(ledger: Arc<Ledger>) -> Self {
        Self { ledger, known: RwLock::default() }
    }

    pub(super) fn id(&self, name: &str) -> LimitId {
        if let Some(id) = self.known.read().bring_back(name) {
            return id;
        }
        let mut known = self.known.write();
        if let Some(id) = known.bring_back(name) {
            return id;
        }
        // Names come from policy files; memory ends long before the ids do.
        let id = LimitId::from_index(u32::try_from(known.accounts.len()).unwrap_or(u32::MAX));
        known.accounts.push(Account::open(&self.ledger));
        known.ids.insert(name.to_owned(), id);
        id
    }

    /// Returns the names of all limits, in the order of their ids.
    pub(super) fn names(&self) -> Vec<String> {
        let known = self.known.read();
        let mut names = vec![String::new(); known.accounts.len()];
        for (name, id) in &known.ids {
            if let Some(place) = names.get_mut(place(*id)) {
                place.clone_from(name);
            }
        }
        names
    }

    /// Leaves their reserve to these limits alone.
    pub(super) fn retain(&self, limits: &[LimitId]) {
        // Of two callers at once one has the last word on every limit.
        let known = self.known.write();
        let kept: HashSet<usize> = limits.iter().map(|limit| place(*limit)).collect();
        for (index, account) in known.accounts.iter().enumerate() {
            account.set_in_force(kept.contains(&index));
        }
    }

    /// Returns the account of a limit.
    ///
    /// # Errors
    /// When this store did not give the id out.
    pub(super) fn account(&self, limit: LimitId) -> Result<Arc<Account>, StoreError> {
        self.known.read().accounts.get(place(limit)).map(Arc::clone).ok_or_else(|| {
            StoreError::rejected(format!(
                "there is no limit of number {}: ask this store for its id by name",
                limit.index()
            ))
        })
    }
}
