//! The plan of a check: which limits, on which keys, at which cost. Pure.

use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Span};
use tidegate_store::Check;

use crate::limiter::Registered;

/// What the store will be asked. Keys lie one after the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    keys: Vec<u8>,
    items: SmallVec<[Item; 4]>,
    skipped: SmallVec<[usize; 2]>,
}

/// One limit of the plan, by its index, with the end of its key in the buffer.
#[derive(Debug, Clone, Copy)]
struct Item {
    limit: usize,
    key_end: usize,
    cost: u32,
}

impl Plan {
    /// Adds a limit on a key that `write` appends to the buffer, or leaves it out when `write` says so.
    pub(crate) fn push<E>(
        &mut self,
        limit: usize,
        cost: u32,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let start = self.keys.len();
        let counts = write(&mut self.keys)?;
        if counts {
            self.items.push(Item { limit, key_end: self.keys.len(), cost });
        } else {
            self.keys.truncate(start);
            self.skipped.push(limit);
        }
        Ok(counts)
    }

    /// Returns whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the indices of the limits, in order.
    pub(crate) fn limits(&self) -> impl Iterator<Item = usize> {
        self.items.iter().map(|item| item.limit)
    }

    /// Returns the indices of the limits that were left out, in order.
    pub(crate) fn skipped(&self) -> &[usize] {
        &self.skipped
    }

    /// Returns what to ask the store.
    pub(crate) fn checks<'a>(
        &'a self,
        limits: &'a [Registered],
        max_delay: Span,
    ) -> SmallVec<[Check<'a>; 4]> {
        let mut start = 0;
        let mut checks = SmallVec::new();
        for item in &self.items {
            let key = self.keys.get(start..item.key_end).unwrap_or_default();
            start = item.key_end;
            if let Some(registered) = limits.get(item.limit) {
                checks.push(Check {
                    limit: registered.id,
                    key,
                    quota: registered.limit.quota(),
                    ask: Ask::units(item.cost).within(max_delay),
                    shadow: registered.limit.is_shadow(),
                });
            }
        }
        checks
    }
}
