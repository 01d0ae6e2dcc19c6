//! The store of this process alone, for limits that go on by themselves in an outage.

use std::sync::{Arc, OnceLock};

use tidegate_store::{MemoryOptions, MemoryStore, StoreError};

/// A memory store that is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct LocalStore(OnceLock<Arc<MemoryStore>>);

impl LocalStore {
    /// Returns the store.
    ///
    /// # Errors
    /// When the system gives no randomness for its secret.
    pub(crate) fn get(&self) -> Result<&Arc<MemoryStore>, StoreError> {
        if let Some(store) = self.0.get() {
            return Ok(store);
        }
        let made = Arc::new(MemoryStore::new(MemoryOptions::default())?);
        Ok(self.0.get_or_init(|| made))
    }

    /// Returns the store if it was ever needed.
    pub(crate) fn made(&self) -> Option<&Arc<MemoryStore>> {
        self.0.get()
    }
}
