//! Random numbers that are the same in every run.

/// A seeded sequence (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    /// Begins the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, 0 where there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.any().checked_rem(bound).unwrap_or(0)
    }

    /// Returns a place below `bound`.
    pub fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap_or(0)
    }

    /// Returns one of several.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        from.get(self.index(from.len())).unwrap_or_else(|| panic!("nothing to pick from"))
    }
}
