//! A set of shard indices that can only be ascending.

use smallvec::SmallVec;

/// Shard indices, ascending and each once; no allocation up to eight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indices(SmallVec<[usize; 8]>);

impl Indices {
    /// Returns the indices, ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<usize> for Indices {
    #[inline]
    fn from_iter<I: IntoIterator<Item = usize>>(indices: I) -> Self {
        let mut sorted: SmallVec<[usize; 8]> = indices.into_iter().collect();
        if sorted.len() > 1 {
            sorted.sort_unstable();
            sorted.dedup();
        }
        Self(sorted)
    }
}
