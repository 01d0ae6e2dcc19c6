//! The hash table: slots of 32 bytes in the order of their keys.
//!
//! Keys are hashes already, so a key's *home* is its place among all hashes scaled to the table, and the slots are
//! kept sorted ("ordered linear probing"). That buys three things: a look-up of what is not there ends early; the
//! table may have any size, so it grows by a fifth and stays at least two thirds full; and a clock hand that walks
//! the slots meets every key once a round, which forgetting needs. Nothing wraps around: a few spare slots behind the
//! last home take what is pushed past it.

use crate::check::KeyDigest;

/// The fewest homes of a table that holds anything.
const FEWEST_HOMES: usize = 8;
/// A table grows when this share of its homes, in twentieths, is taken.
const FULL_TWENTIETHS: usize = 17;

/// A key and what is kept for it; never across two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Slot {
    key: KeyDigest,
    word: u128,
}

const EMPTY: Slot = Slot { key: KeyDigest([0, 0]), word: 0 };

impl Slot {
    fn is_empty(&self) -> bool {
        self.key == EMPTY.key
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    homes: usize,
    len: usize,
}

impl Table {
    pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of slots, which is where a walk over them ends.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * Self::SLOT_BYTES
    }

    /// Returns the slot of a key.
    #[inline]
    pub(super) fn find(&self, key: KeyDigest) -> Option<usize> {
        self.find_word(key).map(|(slot, _)| slot)
    }

    /// Returns the slot of a key and its word.
    #[inline]
    pub(super) fn find_word(&self, key: KeyDigest) -> Option<(usize, u128)> {
        let home = self.home(key);
        let tail = self.slots.get(home..)?;
        for (offset, slot) in tail.iter().enumerate() {
            if slot.key.0[0] >= key.0[0] {
                if slot.key == key {
                    return Some((home + offset, slot.word));
                }
                if slot.key > key {
                    return None;
                }
            } else if slot.is_empty() {
                return None;
            }
        }
        None
    }

    /// Returns the key and the word of a slot, `None` when it is empty.
    #[inline]
    pub(super) fn at(&self, slot: usize) -> Option<(KeyDigest, u128)> {
        self.slots.get(slot).filter(|slot| !slot.is_empty()).map(|slot| (slot.key, slot.word))
    }

    /// Replaces the word of a slot that holds a key.
    #[inline]
    pub(super) fn set(&mut self, slot: usize, word: u128) {
        if let Some(slot) = self.slots.get_mut(slot).filter(|slot| !slot.is_empty()) {
            slot.word = word;
        }
    }

    /// Returns the number of homes to grow to before so many more keys, `None` while there is room.
    pub(super) fn wants_homes(&self, more: usize) -> Option<usize> {
        let full = (self.len + more) * 20 > self.homes * FULL_TWENTIETHS;
        full.then(|| larger(self.homes))
    }

    /// Returns the number of homes to shrink to, `None` while the table is not nearly empty.
    pub(super) fn wants_fewer_homes(&self) -> Option<usize> {
        let sparse = self.homes > 8 * FEWEST_HOMES && self.len * 4 < self.homes;
        sparse.then(|| FEWEST_HOMES.max(self.len + self.len / 2))
    }

    /// Returns the bytes of a table of so many homes.
    pub(super) fn bytes_for(homes: usize) -> usize {
        (homes + spare(homes)) * Self::SLOT_BYTES
    }

    /// Returns the number of homes of the smallest table that takes so many keys without growing.
    pub(super) fn homes_for(keys: usize) -> usize {
        FEWEST_HOMES.max((keys * 20).div_ceil(FULL_TWENTIETHS))
    }

    /// Returns every key with its word, in the order of the keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (KeyDigest, u128)> {
        self.slots.iter().filter(|slot| !slot.is_empty()).map(|slot| (slot.key, slot.word))
    }

    /// Moves everything to a table of so many homes.
    pub(super) fn rebuild(&mut self, homes: usize) {
        let old = std::mem::take(&mut self.slots);
        self.homes = homes.max(FEWEST_HOMES).max(self.len);
        let mut slots = Vec::new();
        // Exactly what the account is told, also when more than the spare slots is pushed past the last home.
        slots.reserve_exact(self.homes + spare(self.homes));
        slots.resize(self.homes + spare(self.homes), EMPTY);
        let mut next = 0;
        for slot in old.into_iter().filter(|slot| !slot.is_empty()) {
            let at = next.max(self.home(slot.key));
            if let Some(place) = slots.get_mut(at) {
                *place = slot;
            } else {
                slots.reserve_exact(1);
                slots.push(slot);
            }
            next = at + 1;
        }
        self.slots = slots;
    }

    /// Adds a key that is not there, or replaces its word. Grows if it must.
    pub(super) fn insert(&mut self, key: KeyDigest, word: u128) {
        if let Some(homes) = self.wants_homes(1) {
            self.rebuild(homes);
        }
        while !self.try_insert(Slot { key, word }) {
            // More is pushed past the last home than the spare slots hold. Under a keyed hash that is a rare accident,
            // and more homes would not help against it, only more spare slots.
            let more = spare(self.homes);
            self.slots.reserve_exact(more);
            self.slots.resize(self.slots.len() + more, EMPTY);
        }
    }

    fn try_insert(&mut self, new: Slot) -> bool {
        let home = self.home(new.key);
        let Some(tail) = self.slots.get_mut(home..) else { return false };
        let Some(at) = tail.iter().position(|slot| slot.is_empty() || slot.key >= new.key) else {
            return false;
        };
        if let Some(held) = tail.get_mut(at).filter(|held| held.key == new.key) {
            *held = new;
            return true;
        }
        let Some(free) = tail.iter().skip(at).position(Slot::is_empty) else { return false };
        tail.copy_within(at..at + free, at + 1);
        if let Some(place) = tail.get_mut(at) {
            *place = new;
        }
        self.len += 1;
        true
    }

    /// Empties a slot and closes the gap: what was pushed past its home moves one back.
    pub(super) fn remove(&mut self, slot: usize) {
        if self.at(slot).is_none() {
            return;
        }
        let follows = |next: usize| match self.at(next) {
            Some((key, _)) => self.home(key) < next,
            None => false,
        };
        let mut end = slot + 1;
        while follows(end) {
            end += 1;
        }
        self.slots.copy_within(slot + 1..end, slot);
        if let Some(last) = self.slots.get_mut(end - 1) {
            *last = EMPTY;
        }
        self.len -= 1;
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the product's upper half is below the number of homes"
    )]
    fn home(&self, key: KeyDigest) -> usize {
        ((u128::from(key.0[0]) * self.homes as u128) >> 64) as usize
    }
}

/// Returns the next size: a fifth more.
fn larger(homes: usize) -> usize {
    FEWEST_HOMES.max(homes + homes / 5 + 1)
}

/// Returns the slots behind the last home. At this fullness more than 40 are pushed past it about never.
fn spare(homes: usize) -> usize {
    (homes / 4 + 2).min(40)
}

#[cfg(test)]
mod tests;
