//! Sharded locks taken in one order, small enough to be model-checked.
//!
//! A batch touches keys that live behind different locks, and needs them all at once to be all or nothing. Two
//! batches that took them in opposite orders would wait for each other for ever. Here there is one order and no way
//! to leave it: shards ascending, and after them the last lock, which is reached only through the [`Held`] locks.
//!
//! The code is generic over [`Lock`], so that the tests run these very lines under a model checker that tries the
//! interleavings, and the store runs them over `parking_lot`.

mod held;
mod indices;
mod lock;

pub use held::Held;
pub use indices::Indices;
pub use lock::Lock;

/// Some shards, each behind its lock, and one value more whose lock is always taken last.
#[derive(Debug)]
pub struct Shards<S, L> {
    shards: Box<[Apart<S>]>,
    last: L,
}

/// A lock on cache lines of its own: two cores that use neighbours do not slow each other.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<S>(S);

impl<S: Lock, L: Lock> Shards<S, L> {
    /// Builds `count` shards, at least one, and the value behind the last lock.
    pub fn new(count: usize, mut shard: impl FnMut() -> S::Value, last: L::Value) -> Self {
        let shards = (0..count.max(1)).map(|_| Apart(S::new(shard()))).collect();
        Self { shards, last: L::new(last) }
    }

    /// Returns the number of shards.
    pub fn count(&self) -> usize {
        self.shards.len()
    }

    /// Takes the locks of these shards, ascending. Indices past the last shard are passed over.
    ///
    /// A thread that holds some must give them back before it takes more.
    #[inline]
    pub fn lock_many(&self, wanted: &Indices) -> Held<'_, S, L> {
        let shards = wanted.iter().filter_map(|index| Some((index, self.shards.get(index)?.0.lock())));
        Held::new(shards.collect(), &self.last)
    }

    /// Takes the lock of one shard, `None` past the last.
    #[inline]
    pub fn lock_one(&self, index: usize) -> Option<S::Guard<'_>> {
        Some(self.shards.get(index)?.0.lock())
    }

    /// Takes the last lock alone.
    pub fn lock_last(&self) -> L::Guard<'_> {
        self.last.lock()
    }
}
