//! The logs of a table: what does not fit a slot, by index.

use tidegate_algorithms::{Log, LogEdit, State};

/// Logs by index. Freed places are used again, and count without a log until then.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// States rather than logs: that is what a reader is shown.
    places: Vec<Option<State>>,
    free: Vec<u32>,
    heap: usize,
}

impl Logs {
    /// The bytes of the first stamps of a log.
    const FIRST_STAMPS: usize = 4 * size_of::<tidegate_algorithms::Stamp>();

    pub(super) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<Option<State>>()
            + self.free.capacity() * size_of::<u32>()
            + self.heap
    }

    /// Returns the bytes that a log with its first stamps takes, beside its place.
    pub(super) fn bytes_of_a_new_one() -> usize {
        Log::default().heap_bytes() + Self::FIRST_STAMPS
    }

    /// Returns the bytes of so many places.
    pub(super) fn bytes_of_places(places: usize) -> usize {
        places * (size_of::<Option<State>>() + size_of::<u32>())
    }

    /// Makes room for exactly so many logs in all.
    pub(super) fn reserve(&mut self, places: usize) {
        self.places.reserve_exact(places.saturating_sub(self.places.len()));
        self.free.reserve_exact(places.saturating_sub(self.free.len()));
    }

    /// Returns the bytes by which the places must grow to take so many more logs, one at least that had no place yet.
    pub(super) fn bytes_to_grow(&self, more: usize) -> usize {
        let places = self.free.len() + (self.places.capacity() - self.places.len());
        if places < more { self.step() * (size_of::<Option<State>>() + size_of::<u32>()) } else { 0 }
    }

    /// Makes the places grow by what [`Logs::bytes_to_grow`] tells.
    pub(super) fn grow(&mut self, more: usize) {
        if self.bytes_to_grow(more) > 0 {
            let capacity = self.places.capacity() + self.step();
            self.places.reserve_exact(capacity - self.places.len());
            self.free.reserve_exact(capacity - self.free.len());
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&State> {
        self.places.get(place(index))?.as_ref()
    }

    /// Keeps a log and returns its index, `None` past 2^32 of them.
    pub(super) fn add(&mut self, log: Log) -> Option<u32> {
        let bytes = log.heap_bytes();
        if let Some(index) = self.free.pop() {
            self.heap += bytes;
            if let Some(held) = self.places.get_mut(place(index)) {
                *held = Some(State::Log(log));
            }
            return Some(index);
        }
        let index = u32::try_from(self.places.len()).ok()?;
        self.grow(1);
        self.heap += bytes;
        self.places.push(Some(State::Log(log)));
        Some(index)
    }

    /// Lets a log go.
    pub(super) fn remove(&mut self, index: u32) {
        if let Some(State::Log(log)) = self.places.get_mut(place(index)).and_then(Option::take) {
            self.heap = self.heap.saturating_sub(log.heap_bytes());
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
        let Some(Some(State::Log(log))) = self.places.get_mut(place(index)) else { return };
        let before = log.heap_bytes();
        if may_grow {
            log.apply(edit);
        } else {
            log.apply_in_place(edit);
        }
        log.shrink();
        self.heap = (self.heap + log.heap_bytes()).saturating_sub(before);
    }

    fn step(&self) -> usize {
        self.places.capacity() / 8 + 4
    }
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_algorithms::Stamp;

    fn log(stamps: u32) -> Log {
        Log::from_stamps((0..stamps).map(|at| Stamp { at: at.into(), units: 1 }))
    }

    /// A place that kept an empty log kept its memory too, which nobody counted.
    #[test]
    fn a_freed_place_keeps_no_log_and_is_used_again() {
        let mut logs = Logs::default();
        let [first, second] = [3, 5].map(|stamps| logs.add(log(stamps)).unwrap());
        let places = logs.bytes() - log(3).heap_bytes() - logs.get(second).map_or(0, heap_bytes);
        logs.remove(first);
        assert_eq!(logs.get(first), None);
        assert_eq!(logs.bytes(), places + logs.get(second).map_or(0, heap_bytes));
        assert_eq!(logs.add(log(1)), Some(first));
        for index in [first, second] {
            logs.remove(index);
        }
        assert_eq!(logs.bytes(), 0);
    }

    fn heap_bytes(state: &State) -> usize {
        if let State::Log(log) = state { log.heap_bytes() } else { 0 }
    }

    /// What a newcomer claims is what it takes, whatever the number of places.
    #[test]
    fn places_and_a_new_log_take_what_was_told() {
        let mut logs = Logs::default();
        for _ in 0..2_000 {
            let told = logs.bytes_to_grow(1) + Logs::bytes_of_a_new_one();
            let before = logs.bytes();
            logs.grow(1);
            logs.add(log(1)).unwrap();
            assert_eq!(logs.bytes() - before, told);
        }
    }
}
