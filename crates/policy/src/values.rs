//! What a file says for single values of a key: plans by key, overrides, costs by country.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::key::{Part, digest};
use crate::request::{Ambiguous, Facts};

/// A map whose order and hashes are the same in every process. Only the file fills it, so that no client can crowd it.
type Map<K, T> = HashMap<K, T, BuildHasherDefault<DefaultHasher>>;

/// Something for each of some values of a key, found in a time that does not grow with their number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Values<T> {
    texts: Map<String, T>,
    /// Addresses with their prefixes, apart from texts that look like them: anybody can send such a text.
    addresses: Map<String, T>,
    digests: Map<[u8; 32], T>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { texts: Map::default(), addresses: Map::default(), digests: Map::default() }
    }
}

impl<T: Copy> Values<T> {
    /// Puts something for a text, as the key gives it.
    pub(crate) fn put_text(&mut self, text: String, what: T) {
        self.texts.insert(text, what);
    }

    /// Puts something for an address, as the key gives it.
    pub(crate) fn put_address(&mut self, address: String, what: T) {
        self.addresses.insert(address, what);
    }

    /// Puts something for the text of a SHA-256 digest.
    pub(crate) fn put_digest(&mut self, digest: [u8; 32], what: T) {
        self.digests.insert(digest, what);
    }

    /// Reads a key and returns what there is for its value.
    ///
    /// # Errors
    /// When the key can be read in more than one way.
    pub(crate) fn read(&self, part: &Part, facts: &Facts<'_>) -> Result<Option<T>, Ambiguous> {
        if self.texts.is_empty() && self.addresses.is_empty() && self.digests.is_empty() {
            return Ok(None);
        }
        Ok(part.value(facts)?.and_then(|(text, is_address)| self.find(&text, is_address)))
    }

    fn find(&self, text: &str, is_address: bool) -> Option<T> {
        if is_address {
            return self.addresses.get(text).copied();
        }
        let found = self.texts.get(text);
        let by_digest = || if self.digests.is_empty() { None } else { self.digests.get(&digest(text)) };
        found.or_else(by_digest).copied()
    }
}
