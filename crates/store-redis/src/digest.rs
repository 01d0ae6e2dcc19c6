//! The names of keys in Redis, and the slots they lie in.

use ring::hmac;
use tidegate_store::KeyDigest;

use crate::op::{Digest, NAME_BYTES};
use crate::options::Secret;

/// The version of the format of values. It is hashed with the name: what another version wrote has other names, and expires.
const FORMAT: u8 = 2;

/// Names (limit, key) pairs under a secret.
#[derive(Clone)]
pub(crate) struct Namer(hmac::Key);

impl Namer {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.bytes()))
    }

    /// Returns the name of a limit's key: the front of a keyed SHA-256 over the format, the limit with its length before it,
    /// and the key.
    pub(crate) fn digest(&self, limit: &str, key: &[u8]) -> Digest {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&[FORMAT]);
        context.update(&(limit.len() as u64).to_be_bytes());
        context.update(limit.as_bytes());
        context.update(key);
        let mut name = [0; NAME_BYTES];
        name.copy_from_slice(context.sign().as_ref().get(..NAME_BYTES).unwrap_or(&[0; NAME_BYTES]));
        Digest(name)
    }

    /// Returns what instances compare to see whether they have one secret: eight bytes of a keyed hash, as hex digits.
    pub(crate) fn fingerprint(&self) -> String {
        let tag = hmac::sign(&self.0, b"tidegate: one secret on every instance");
        hex(tag.as_ref().get(..8).unwrap_or_default())
    }
}

impl std::fmt::Debug for Namer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Namer(..)")
    }
}

impl Digest {
    /// Returns the digest as receipts carry it.
    pub(crate) fn to_key(self) -> KeyDigest {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(self.0) {
            *to = from;
        }
        let number = u128::from_be_bytes(bytes);
        #[allow(clippy::cast_possible_truncation, reason = "each half is taken by itself")]
        KeyDigest::from_halves([(number >> 64) as u64, number as u64])
    }

    /// Returns the digest that a receipt carries.
    pub(crate) fn of_key(key: KeyDigest) -> Self {
        let [high, low] = key.halves();
        let bytes = ((u128::from(high) << 64) | u128::from(low)).to_be_bytes();
        let mut name = [0; NAME_BYTES];
        for (to, from) in name.iter_mut().zip(bytes) {
            *to = from;
        }
        Self(name)
    }

    /// Returns the key in Redis: the prefix, a colon, the digest.
    pub(crate) fn redis_key(self, prefix: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(prefix.len() + 1 + NAME_BYTES);
        key.extend_from_slice(prefix.as_bytes());
        key.push(b':');
        key.extend_from_slice(&self.0);
        key
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            digits.push(char::from_digit(u32::from(half), 16).unwrap_or_default());
        }
    }
    digits
}

/// Returns the cluster slot of a key: CRC-16/XMODEM modulo 16,384 of what stands between the first `{` and the next `}`, or
/// of the whole key where nothing does.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    crc16(tag.unwrap_or(key)) & 0x3fff
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc: u16, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the cluster specification and of a real server.
    #[test]
    fn slots_follow_the_hash_tag_rule() {
        let slots = [("a", 15_495), ("rl:{a}:1", 15_495), ("foo{}{bar}", 8_363), ("foo{{bar}}zap", 4_015)];
        for (key, expected) in slots {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
    }

    /// A limit's name that runs into its key would let one limit's key count for another's.
    #[test]
    fn a_name_and_a_key_do_not_run_into_each_other() {
        let namer = Namer::new(&Secret::new(*b"secret"));
        assert_ne!(namer.digest("ab", b"c"), namer.digest("a", b"bc"));
        assert_ne!(namer.digest("a", b"b"), Namer::new(&Secret::new(*b"other")).digest("a", b"b"));
    }

    #[test]
    fn a_digest_survives_a_receipt() {
        let digest = Digest([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 250]);
        assert_eq!(Digest::of_key(digest.to_key()), digest);
    }
}
