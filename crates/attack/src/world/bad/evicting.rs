//! A table of so many keys that forgets the least recently used, whatever it says about it.
//!
//! Somebody who is refused asks about other keys until his own is forgotten, and is new again.

use std::collections::{BTreeMap, HashMap};

use tidegate_algorithms::Timestamp;

use super::super::kept::{Charge, Kept};
use super::super::plain::{Key, Table};

/// So many keys, and when each was used last.
pub(in super::super) struct Evicting {
    most: usize,
    turn: u64,
    held: HashMap<Key, (u64, Kept)>,
    used: BTreeMap<u64, Key>,
}

impl Evicting {
    /// Builds an empty table of at most so many keys; at least one.
    pub(in super::super) fn new(most: usize) -> Self {
        Self { most: most.max(1), turn: 0, held: HashMap::new(), used: BTreeMap::new() }
    }

    fn keep(&mut self, key: Key, kept: Kept) {
        self.turn = self.turn.wrapping_add(1);
        if let Some((before, _)) = self.held.insert(key, (self.turn, kept)) {
            self.used.remove(&before);
        }
        self.used.insert(self.turn, key);
        while self.held.len() > self.most
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.held.remove(&oldest);
        }
    }
}

impl Table for Evicting {
    fn read(&mut self, key: Key, _now: Timestamp) -> Option<Kept> {
        let (_, kept) = self.held.get(&key)?.clone();
        self.keep(key, kept.clone());
        Some(kept)
    }

    fn write(&mut self, key: Key, left: Kept, _charge: Option<Charge>, _now: Timestamp) {
        self.keep(key, left);
    }

    fn forget(&mut self, key: Key) {
        if let Some((turn, _)) = self.held.remove(&key) {
            self.used.remove(&turn);
        }
    }

    fn keys(&self) -> usize {
        self.held.len()
    }
}
