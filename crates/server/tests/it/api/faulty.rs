//! A store that can be told to fail.

use std::sync::atomic::{AtomicBool, Ordering};

use tidegate::{MemoryOptions, MemoryStore, Store, StoreError};
use tidegate_store::algorithms::{State, Timestamp};
use tidegate_store::{Check, Decided, LimitId, Refund, Reply};

/// A memory store, until it is told to fail.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: MemoryStore,
    down: AtomicBool,
}

impl Faulty {
    pub(crate) fn new() -> Self {
        Self { inner: MemoryStore::new(MemoryOptions::default()).unwrap(), down: AtomicBool::new(false) }
    }

    pub(crate) fn fail(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    fn or<'a, T>(&self, reply: impl FnOnce() -> Reply<'a, T>) -> Reply<'a, T> {
        if self.down.load(Ordering::SeqCst) {
            return Reply::ready(Err(StoreError::unavailable("told to fail")));
        }
        reply()
    }
}

impl Store for Faulty {
    fn limit(&self, name: &str) -> LimitId {
        self.inner.limit(name)
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        self.or(|| self.inner.decide(checks, at))
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        self.or(|| self.inner.peek(checks, at))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        self.or(|| self.inner.refund(refunds, at))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        self.or(|| self.inner.reset(limit, key))
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        self.or(|| self.inner.inspect(limit, key))
    }

    fn ping(&self) -> Reply<'_, ()> {
        self.or(|| self.inner.ping())
    }
}
