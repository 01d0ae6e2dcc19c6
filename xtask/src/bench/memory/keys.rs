//! The keys that are asked for: text composed into a reused buffer on each call. A list of ready keys would add its own cache
//! misses to all sides alike, and hide the stores'.

/// Keys of the large runs.
pub(in super::super) const MILLION: u32 = 1_000_000;

/// Writes the key of that number: an address and what it is asked for, 29 bytes.
pub(in super::super) fn compose(key: &mut String, number: u32) {
    key.clear();
    key.push_str("2001:db8:");
    for nibble in number.to_be_bytes().into_iter().flat_map(|byte| [byte >> 4, byte & 15]) {
        key.push(char::from(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }));
    }
    key.push_str("|/otp/verify");
}

/// Which keys a round asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keys {
    /// One.
    Hot,
    /// So many, at random but the same for all sides.
    Random(u32),
    /// Each once, in a row.
    New,
}

impl Keys {
    /// Returns the number of a round's `at`-th key, on that thread.
    pub(super) fn number(self, round: u32, thread: u32, at: u32) -> u32 {
        let place = (round * 2 + thread) * super::race::ROUND + at;
        match self {
            Self::Hot => 1,
            Self::Random(count) => {
                let mixed = u64::from(place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                u32::try_from(((mixed >> 32) * u64::from(count)) >> 32).unwrap_or(0)
            }
            Self::New => round * super::race::ROUND + at,
        }
    }
}
