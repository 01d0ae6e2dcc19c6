//! Notes of the operator that every instance reads: what is changed for a while, without a file.

use std::fmt;

use tidegate_algorithms::Timestamp;

use crate::reply::Reply;

/// A place for short texts beside the counts, the same for every instance that shares the store.
///
/// A store says what is there and what time it is by its own clock; what a note means, it does not know.
pub trait Notes: Send + Sync + fmt::Debug {
    /// Returns the notes that have not ended, by name in ascending order. Those that have are dropped.
    fn all(&self) -> Reply<'_, Noted>;

    /// Writes a note in the place of the one of that name, if there is one.
    fn put<'a>(&'a self, note: &'a Note) -> Reply<'a, ()>;

    /// Removes the note of a name, and returns whether there was one.
    fn remove<'a>(&'a self, name: &'a str) -> Reply<'a, bool>;
}

/// What is noted at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The moment, by the store's clock.
    pub at: Timestamp,
    /// The notes.
    pub notes: Vec<Note>,
}

/// A short text, until an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its name.
    pub name: String,
    /// What it says.
    pub text: String,
    /// When it ends by the store's clock.
    pub until: Timestamp,
}
