//! Notes of the operator, in this process: they end with it.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tidegate_algorithms::Timestamp;

use super::MemoryStore;
use super::clock::Clock;
use crate::notes::{Note, Noted, Notes};
use crate::reply::Reply;

/// Texts by their names, each with its end.
#[derive(Debug, Default)]
pub(super) struct Board(Mutex<BTreeMap<String, (String, Timestamp)>>);

impl Board {
    fn all(&self, clock: &Clock) -> Noted {
        let mut notes = self.0.lock();
        let at = clock.now();
        notes.retain(|_, (_, until)| *until > at);
        let notes = notes.iter();
        let notes = notes
            .map(|(name, (text, until))| Note { name: name.clone(), text: text.clone(), until: *until })
            .collect();
        Noted { at, notes }
    }
}

impl Notes for MemoryStore {
    fn all(&self) -> Reply<'_, Noted> {
        Reply::ready(Ok(self.board.all(&self.clock)))
    }

    fn put<'a>(&'a self, note: &'a Note) -> Reply<'a, ()> {
        self.board.0.lock().insert(note.name.clone(), (note.text.clone(), note.until));
        Reply::ready(Ok(()))
    }

    fn remove<'a>(&'a self, name: &'a str) -> Reply<'a, bool> {
        let removed = self.board.0.lock().remove(name);
        Reply::ready(Ok(removed.is_some_and(|(_, until)| until > self.clock.now())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryOptions, Store};

    /// Guards against an exception that was made for an hour and holds for ever.
    #[test]
    fn a_note_is_there_until_its_end_and_then_is_not() {
        let store = MemoryStore::with_secret(MemoryOptions::default(), [0; 16]);
        let notes = store.notes().unwrap();
        let all = || notes.all().now().unwrap().unwrap();
        let at = all().at;
        let later = Timestamp::from_micros(at.as_micros() + 3_600_000_000).unwrap();
        let note = |name: &str, text: &str, until| Note { name: name.into(), text: text.into(), until };
        for one in [note("b", "1", later), note("a", "2", later), note("a", "3", later), note("c", "4", at)] {
            notes.put(&one).now().unwrap().unwrap();
        }
        assert_eq!(all().notes, [note("a", "3", later), note("b", "1", later)]);
        let remove = |name: &str| notes.remove(name).now().unwrap().unwrap();
        assert!(remove("a") && !remove("a") && !remove("c"));
        assert_eq!(all().notes, [note("b", "1", later)]);
    }
}
