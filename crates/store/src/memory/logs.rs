//! The logs of a table: what does not fit a slot, by index.

use tidegate_algorithms::{Log, LogEdit, State};

/// Logs by index. Freed places are used again, and count until then.
#[derive(Debug, Default)]
pub(super) struct Logs {
    places: Vec<State>,
    free: Vec<u32>,
    heap: usize,
}

impl Logs {
    /// The bytes of the first stamps of a log.
    const FIRST_STAMPS: usize = 4 * size_of::<tidegate_algorithms::Stamp>();

    pub(super) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<State>() + self.free.capacity() * size_of::<u32>() + self.heap
    }

    /// Returns the bytes that one more log would add at most, beside its stamps.
    pub(super) fn bytes_of_one_more(&self) -> usize {
        let places = if self.free.is_empty() && self.places.len() == self.places.capacity() {
            Self::step(self.places.len()) * (size_of::<State>() + size_of::<u32>())
        } else {
            0
        };
        places + Self::FIRST_STAMPS
    }

    pub(super) fn get(&self, index: u32) -> Option<&State> {
        self.places.get(place(index))
    }

    /// Keeps a log and returns its index, `None` past 2^32 of them.
    pub(super) fn add(&mut self, log: Log) -> Option<u32> {
        self.heap += log.heap_bytes();
        if let Some(index) = self.free.pop() {
            if let Some(held) = self.places.get_mut(place(index)) {
                *held = State::Log(log);
            }
            return Some(index);
        }
        let index = u32::try_from(self.places.len()).ok()?;
        if self.places.len() == self.places.capacity() {
            let step = Self::step(self.places.len());
            self.places.reserve_exact(step);
            self.free.reserve_exact(self.places.capacity());
        }
        self.places.push(State::Log(log));
        Some(index)
    }

    /// Lets a log go.
    pub(super) fn remove(&mut self, index: u32) {
        if let Some(State::Log(log)) = self.places.get_mut(place(index)) {
            self.heap = self.heap.saturating_sub(log.heap_bytes());
            *log = Log::default();
            self.free.push(index);
        }
        if self.free.len() == self.places.len() {
            *self = Self::default();
        }
    }

    /// Returns the bytes that an edit may add to a log.
    pub(super) fn bytes_to_edit(&self, index: u32, edit: &LogEdit) -> usize {
        match self.get(index) {
            Some(State::Log(log)) if edit.pushed().is_some() && !log.has_room() => {
                log.heap_bytes().max(Self::FIRST_STAMPS)
            }
            _ => 0,
        }
    }

    /// Edits a log; without `may_grow` its newest stamp takes a new one in when there is no room for both.
    pub(super) fn edit(&mut self, index: u32, edit: &LogEdit, may_grow: bool) {
        let Some(State::Log(log)) = self.places.get_mut(place(index)) else { return };
        let before = log.heap_bytes();
        if may_grow {
            log.apply(edit);
        } else {
            log.apply_in_place(edit);
        }
        log.shrink();
        self.heap = (self.heap + log.heap_bytes()).saturating_sub(before);
    }

    fn step(len: usize) -> usize {
        len / 8 + 4
    }
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
