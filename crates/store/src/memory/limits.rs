//! The names of limits and their ids.

use std::collections::HashMap;
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

impl Limits {
    pub(super) fn new(ledger: Arc<Ledger>) -> Self {
        Self { ledger, known: RwLock::default() }
    }

    pub(super) fn id(&self, name: &str) -> LimitId {
        if let Some(id) = self.known.read().ids.get(name) {
            return *id;
        }
        let mut known = self.known.write();
        if let Some(id) = known.ids.get(name) {
            return *id;
        }
        // Names come from policy files; memory ends long before the ids do.
        let id = LimitId::from_index(u32::try_from(known.accounts.len()).unwrap_or(u32::MAX));
        known.accounts.push(Account::open(&self.ledger));
        known.ids.insert(name.to_owned(), id);
        id
    }

    /// Returns the account of a limit.
    ///
    /// # Errors
    /// When this store did not give the id out.
    pub(super) fn account(&self, limit: LimitId) -> Result<Arc<Account>, StoreError> {
        let index = usize::try_from(limit.index()).unwrap_or(usize::MAX);
        self.known.read().accounts.get(index).map(Arc::clone).ok_or_else(|| {
            StoreError::rejected(format!(
                "there is no limit of number {}: ask this store for its id by name",
                limit.index()
            ))
        })
    }
}
