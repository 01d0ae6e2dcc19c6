//! A lock that the model checker sees through, and counters to charge behind it.

use shuttle::sync::{Arc, Mutex, MutexGuard};
use tidegate_shards::{Indices, Lock, Shards};

/// The checker's mutex in the place of the real one.
pub(crate) struct Modelled<T>(Mutex<T>);

impl<T> Lock for Modelled<T> {
    type Value = T;
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// Units left in each shard, and units lent by the last value.
pub(crate) type Counters = Shards<Modelled<u32>, Modelled<u32>>;

pub(crate) fn counters(shards: usize, units: u32) -> Arc<Counters> {
    Arc::new(Shards::new(shards, || units, 0))
}

/// Charges one unit in each of the shards named, or in none; a batch that is refused borrows from the last value.
pub(crate) fn charge(counters: &Counters, wanted: &[usize]) -> bool {
    let mut held = counters.lock_many(&wanted.iter().copied().collect::<Indices>());
    let admitted = wanted.iter().all(|index| held.shard(*index).is_some_and(|left| *left > 0));
    if admitted {
        for index in wanted {
            if let Some(left) = held.shard(*index) {
                *left -= 1;
            }
        }
    } else {
        *held.last() += 1;
    }
    admitted
}

pub(crate) fn left(counters: &Counters) -> Vec<u32> {
    (0..counters.count()).map(|index| *counters.lock_one(index).unwrap()).collect()
}
