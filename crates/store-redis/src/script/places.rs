//! The places of a call's keys.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::op::Digest;

/// The place of each key by its digest, counted from one.
pub(super) type Places = HashMap<Digest, u16, BuildHasherDefault<Front>>;

/// Takes the front of a digest for its hash: it is a keyed hash already, which nobody outside can aim.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Front(u64);

impl Hasher for Front {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(front) = bytes.first_chunk::<8>() {
            self.0 = u64::from_ne_bytes(*front);
        }
    }

    // The length of an array is hashed besides, and is the same for all.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
