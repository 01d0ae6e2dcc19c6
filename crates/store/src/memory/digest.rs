//! Keys as 128 bits of a hash under a secret.
//!
//! A long key then costs no room, and nobody outside can aim two keys at one state or many keys at one shard: whoever
//! does not know the secret finds a collision only by luck, one in 2^64 at four thousand million keys.

use siphasher::sip128::SipHasher13;

use crate::check::KeyDigest;

/// A keyed hash.
pub(crate) struct Digester(SipHasher13);

impl Digester {
    pub(crate) fn new(secret: &[u8; 16]) -> Self {
        Self(SipHasher13::new_with_key(secret))
    }

    #[inline]
    pub(crate) fn digest(&self, key: &[u8]) -> KeyDigest {
        let hash = self.0.hash(key);
        // Zero marks an empty slot of a table.
        KeyDigest::from_halves([hash.h1, if hash.h1 == 0 && hash.h2 == 0 { 1 } else { hash.h2 }])
    }
}
