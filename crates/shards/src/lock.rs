//! What a lock must do, so that a model checker's can stand in for the real one.

use std::ops::DerefMut;

/// A mutual exclusion lock around a value.
pub trait Lock {
    /// What it guards.
    type Value;
    /// The proof of holding it.
    type Guard<'a>: DerefMut<Target = Self::Value>
    where
        Self: 'a;

    /// Builds the lock, open.
    fn new(value: Self::Value) -> Self;

    /// Waits for the lock and takes it.
    fn lock(&self) -> Self::Guard<'_>;
}

impl<T> Lock for parking_lot::Mutex<T> {
    type Value = T;
    type Guard<'a>
        = parking_lot::MutexGuard<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        self.lock()
    }
}
