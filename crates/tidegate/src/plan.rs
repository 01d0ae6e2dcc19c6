//! The plan of a check: which limits, on which keys, at which cost. Pure.

use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Span};
use tidegate_store::Check;

use crate::inner::Registered;
use crate::limit::Limit;

/// What the store will be asked. Keys lie one after the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    keys: Vec<u8>,
    items: SmallVec<[Item; 4]>,
    skipped: SmallVec<[usize; 2]>,
}

/// One limit of the plan, by its index and that of its terms, with the end of its key in the buffer.
#[derive(Debug, Clone, Copy)]
struct Item {
    limit: usize,
    variant: usize,
    key_end: usize,
    cost: u32,
}

/// Which terms of a limit are asked, and for how many units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) variant: usize,
    pub(crate) cost: u32,
}

/// Which limit is asked, by its index, and which of its terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) limit: usize,
    pub(crate) variant: usize,
    pub(crate) cost: u32,
}

impl Plan {
    /// Adds a limit on a key that `write` appends to the buffer, or leaves it out when `write` gives no terms.
    pub(crate) fn push<E>(
        &mut self,
        limit: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<Option<Terms>, E>,
    ) -> Result<bool, E> {
        let start = self.keys.len();
        let terms = write(&mut self.keys)?;
        if let Some(Terms { variant, cost }) = terms {
            self.items.push(Item { limit, variant, key_end: self.keys.len(), cost });
        } else {
            self.keys.truncate(start);
            self.skipped.push(limit);
        }
        Ok(terms.is_some())
    }

    /// Returns whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the limits under the terms they are asked with, in order.
    pub(crate) fn limits<'a>(&'a self, limits: &'a [Registered]) -> impl Iterator<Item = &'a Limit> {
        self.items.iter().filter_map(|item| limits.get(item.limit)?.variants.get(item.variant))
    }

    /// Returns the indices of the limits that were left out, in order.
    pub(crate) fn skipped(&self) -> &[usize] {
        &self.skipped
    }

    /// Returns which terms of which limits are asked, each with its key, in order.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (Asked, &[u8])> {
        let mut start = 0;
        self.items.iter().map(move |item| {
            let key = self.keys.get(start..item.key_end).unwrap_or_default();
            start = item.key_end;
            (Asked { limit: item.limit, variant: item.variant, cost: item.cost }, key)
        })
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
            let Some(registered) = limits.get(item.limit) else { continue };
            let Some(limit) = registered.variants.get(item.variant) else { continue };
            checks.push(Check {
                limit: registered.id,
                key,
                quota: limit.quota(),
                ask: Ask::units(item.cost).within(max_delay),
                shadow: limit.is_shadow(),
            });
        }
        checks
    }
}
