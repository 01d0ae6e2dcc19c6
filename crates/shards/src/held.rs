//! Locks that are held, and the only way to the last one while they are.

use smallvec::SmallVec;

use crate::lock::Lock;

type Taken<'a, S> = SmallVec<[(usize, <S as Lock>::Guard<'a>); 4]>;

/// The locks of some shards, and of the last value once it was asked for. All are given back when this goes.
pub struct Held<'a, S: Lock + 'a, L: Lock> {
    shards: Taken<'a, S>,
    last: Option<L::Guard<'a>>,
    last_lock: &'a L,
}

impl<'a, S: Lock, L: Lock> Held<'a, S, L> {
    #[inline]
    pub(crate) fn new(shards: Taken<'a, S>, last_lock: &'a L) -> Self {
        Self { shards, last: None, last_lock }
    }

    /// Returns a shard whose lock is held.
    #[inline]
    pub fn shard(&mut self, index: usize) -> Option<&mut S::Value> {
        find::<S>(&mut self.shards, index)
    }

    /// Returns every shard whose lock is held, ascending.
    #[inline]
    pub fn shards(&mut self) -> impl Iterator<Item = &mut S::Value> {
        self.shards.iter_mut().map(|(_, guard)| &mut **guard)
    }

    /// Takes the last lock if it is not held yet, and returns what it guards.
    #[inline]
    pub fn last(&mut self) -> &mut L::Value {
        self.last.get_or_insert_with(|| self.last_lock.lock())
    }

    /// Returns a shard whose lock is held and, as it stands, what the last lock guards: `None` while that is open.
    #[inline]
    pub fn both(&mut self, index: usize) -> (Option<&mut S::Value>, Option<&mut L::Value>) {
        (find::<S>(&mut self.shards, index), self.last.as_deref_mut())
    }
}

fn find<'g, S: Lock>(shards: &'g mut Taken<'_, S>, index: usize) -> Option<&'g mut S::Value> {
    shards.iter_mut().find(|(held, _)| *held == index).map(|(_, guard)| &mut **guard)
}
