//! Check, then act: a decision goes by what was there a while ago.
//!
//! Requests that arrive together all find the same. If each then adds its charge to what is there, C of them pass where one
//! was left: L − 1 + C. If each writes what it read and one more, all of them together count as one: C · L.

use std::collections::VecDeque;

use tidegate_algorithms::{Span, Timestamp};

use super::super::kept::{Charge, Kept};
use super::super::plain::{Held, Key, Table};

/// What becomes of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Write {
    /// It is added to what is there by then.
    Added,
    /// What was decided on, and the charge, replace what is there by then.
    Over,
}

/// States as they were at instants of the last while.
pub(in super::super) struct Racy {
    gap: Span,
    write: Write,
    /// Of each key, when it was written and what, the oldest first; of those that can be read, only the last.
    held: Held<VecDeque<(Timestamp, Kept)>>,
}

impl Racy {
    /// Builds a table whose readers are `gap` behind.
    pub(in super::super) fn new(gap: Span, write: Write) -> Self {
        Self { gap, write, held: Held::default() }
    }
}

impl Table for Racy {
    fn read(&mut self, key: Key, now: Timestamp) -> Option<Kept> {
        let versions = self.held.by_key.get_mut(&key)?;
        let is_there = |at: &Timestamp| at.saturating_add(self.gap) <= now;
        while versions.get(1).is_some_and(|(at, _)| is_there(at)) {
            versions.pop_front();
        }
        let (at, kept) = versions.front()?;
        is_there(at).then(|| kept.clone())
    }

    fn write(&mut self, key: Key, left: Kept, charge: Option<Charge>, now: Timestamp) {
        let versions = self.held.by_key.entry(key).or_default();
        let newest = versions.back().map(|(_, kept)| kept.clone());
        let written = match (self.write, charge, newest) {
            (Write::Added, Some(charge), Some(mut newest)) => {
                newest.take(&charge, now);
                newest
            }
            // Nothing was charged: there is nothing to add.
            (Write::Added, None, Some(_)) => return,
            _ => left,
        };
        match versions.back_mut() {
            Some((at, kept)) if *at == now => *kept = written,
            _ => versions.push_back((now, written)),
        }
        self.held.sweep(|versions| versions.iter().all(|(_, kept)| kept.is_over(now)));
    }

    fn forget(&mut self, key: Key) {
        self.held.by_key.remove(&key);
    }

    fn keys(&self) -> usize {
        self.held.by_key.len()
    }
}
