//! What is known about aims that were not reached: kept by hand, a section an aim.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use super::aims::AIMS;

/// The notes by the aims' ids.
#[derive(Debug)]
pub(in super::super) struct Notes(BTreeMap<String, String>);

impl Notes {
    /// Reads sections that are headed by an aim's id, as in `## hot`; what stands before the first is for whoever writes them.
    ///
    /// # Errors
    /// When a heading is no aim's, or comes twice.
    pub(in super::super) fn read(text: &str) -> Result<Self> {
        let mut notes = BTreeMap::new();
        for section in text.split("\n## ").skip(1) {
            let (id, note) = section.split_once('\n').context("a heading without a text")?;
            ensure!(AIMS.iter().any(|aim| aim.id == id), "`{id}` in the notes is no aim's name");
            let before = notes.insert(id.to_owned(), note.trim().to_owned());
            ensure!(before.is_none(), "`{id}` has two sections in the notes");
        }
        Ok(Self(notes))
    }

    /// Returns what is known about an aim.
    pub(in super::super) fn of(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str).filter(|note| !note.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_an_aims_and_ends_at_the_next() {
        let notes = Notes::read("# For writers\n\n## hot\n\nThe clock.\n\n### More\n\n## grpc\n\n").unwrap();
        assert_eq!(notes.of("hot"), Some("The clock.\n\n### More"));
        assert_eq!([notes.of("grpc"), notes.of("million")], [None, None]);
    }

    #[test]
    fn a_section_of_no_aim_is_refused_and_so_is_a_second_of_one() {
        assert!(Notes::read("\n## warm\nx\n").unwrap_err().to_string().contains("`warm`"));
        assert!(Notes::read("\n## hot\nx\n\n## hot\ny\n").is_err());
    }

    /// The notes of this repository are read by whole runs alone, which come seldom.
    #[test]
    fn the_notes_that_are_kept_can_be_read() {
        Notes::read(include_str!("../notes.md")).unwrap();
    }
}
