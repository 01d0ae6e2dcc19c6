//! The names behind receipts: a receipt knows a key by a digest, and a counter is found by nothing but its name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::op::Digest;

/// So many names are kept, twice: what was charged longer ago is not given back.
const MOST: usize = 1 << 15;

/// The names of the counters that were charged last.
#[derive(Debug, Default)]
pub(crate) struct Given(Mutex<Names>);

#[derive(Debug, Default)]
struct Names {
    new: HashMap<Digest, Box<[u8]>>,
    old: HashMap<Digest, Box<[u8]>>,
}

impl Given {
    /// Notes the name of a counter.
    pub(crate) fn note(&self, digest: Digest, name: &[u8]) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.new.contains_key(&digest) {
            return;
        }
        if names.new.len() >= MOST {
            names.old = std::mem::take(&mut names.new);
        }
        names.new.insert(digest, name.into());
    }

    /// Returns the name of a counter.
    pub(crate) fn name(&self, digest: Digest) -> Option<Vec<u8>> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.new.get(&digest).or_else(|| names.old.get(&digest)).map(|name| name.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Digest {
        let mut bytes = [0; crate::op::NAME_BYTES];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Digest(bytes)
    }

    /// Whoever asks under ever new names would fill the process.
    #[test]
    fn the_last_names_are_kept_and_no_more() {
        let given = Given::default();
        for number in 0..MOST * 4 {
            given.note(digest(number), &number.to_be_bytes());
        }
        assert_eq!(given.name(digest(0)), None);
        let last = MOST * 4 - 1;
        assert_eq!(given.name(digest(last)), Some(last.to_be_bytes().to_vec()));
        assert_eq!(given.name(digest(last - MOST)), Some((last - MOST).to_be_bytes().to_vec()));
        let names = given.0.lock().unwrap();
        assert!(names.new.len() + names.old.len() <= 2 * MOST);
    }
}
