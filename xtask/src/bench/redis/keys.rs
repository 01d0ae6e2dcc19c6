//! The keys that are asked for, and in which order.

/// Returns so many keys as a gateway has them: an address and an account.
pub(in super::super) fn all(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("203.0.113.7|account-{number:06}").into_bytes()).collect()
}

/// Pseudorandom numbers (splitmix64): the same in every run, so that runs differ by the machine alone.
#[derive(Debug, Clone)]
pub(in super::super) struct Random(u64);

impl Random {
    pub(in super::super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `end`.
    pub(in super::super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        // The bias of a remainder is far below what anything here could show.
        usize::try_from(number % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }
}
