//! Keys as 128 bits of a hash under a secret.
//!
//! A long key then costs no room, and nobody outside can aim two keys at one state or many keys at one shard: whoever
//! does not know the secret finds a collision only by luck, one in 2^64 at four thousand million keys.
//!
//! It is SipHash-1-3 under a key, a good part of a decision's time, and no quicker one: keys come from whoever attacks, and
//! those that are quicker were not made to keep their secret from somebody who chooses what is hashed.
//!
//! The lowest bit of a digest is zero: with it set it names a state that was left beside the key's own ([`LEFT`]), so that
//! a snapshot can tell one from the other.

use siphasher::sip128::SipHasher13;

use crate::check::KeyDigest;

/// The bit, of a digest's second half, that is set in names of states left beside a key's own, and in no key.
pub(super) const LEFT: u64 = 1;

/// A keyed hash.
pub(crate) struct Digester(SipHasher13);

impl Digester {
    pub(crate) fn new(secret: &[u8; 16]) -> Self {
        Self(SipHasher13::new_with_key(secret))
    }

    /// Returns the secret.
    pub(crate) fn secret(&self) -> [u8; 16] {
        self.0.key()
    }

    #[inline]
    pub(crate) fn digest(&self, key: &[u8]) -> KeyDigest {
        let hash = self.0.hash(key);
        let second = hash.h2 & !LEFT;
        // Zero marks an empty slot of a table.
        KeyDigest::from_halves([hash.h1, if hash.h1 == 0 && second == 0 { 2 } else { second }])
    }
}
