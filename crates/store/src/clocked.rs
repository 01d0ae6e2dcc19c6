//! A memory store that is told the time, for tests that run a whole gateway on the days they need.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use tidegate_algorithms::{State, Timestamp};

use crate::{Check, Decided, KeyDigest, LimitId, MemoryStore, Refund, Reply, Store};

/// What is called with each batch that was decided, and the instant its caller gave.
type Watch = Box<dyn Fn(&Decided, Option<Timestamp>) + Send + Sync>;

/// A memory store whose clock stands where it was set; an instant that a caller gives goes before it.
pub struct Clocked {
    inner: MemoryStore,
    now: Mutex<Timestamp>,
    read: AtomicU32,
    watch: Option<Watch>,
}

impl Clocked {
    /// Sets the clock of a store.
    pub fn new(inner: MemoryStore, now: Timestamp) -> Self {
        Self { inner, now: Mutex::new(now), read: AtomicU32::new(0), watch: None }
    }

    /// Calls `watch` with each batch that was decided, before its caller learns of it.
    #[must_use]
    pub fn watched(self, watch: impl Fn(&Decided, Option<Timestamp>) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Box::new(watch)), ..self }
    }

    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Returns where the clock stands, for the test that set it.
    pub fn instant(&self) -> Timestamp {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often [`Store::now`] was asked.
    pub fn times_read(&self) -> u32 {
        self.read.load(Ordering::Relaxed)
    }

    fn at(&self, at: Option<Timestamp>) -> Option<Timestamp> {
        at.or_else(|| Some(self.instant()))
    }
}

impl fmt::Debug for Clocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clocked")
            .field("now", &self.instant())
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl Store for Clocked {
    fn limit(&self, name: &str) -> LimitId {
        self.inner.limit(name)
    }

    fn retain(&self, limits: &[LimitId]) {
        self.inner.retain(limits);
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        let reply = self.inner.decide(checks, self.at(at));
        let Some(watch) = &self.watch else { return reply };
        Reply::waiting(async move {
            let decided = reply.await?;
            watch(&decided, at);
            Ok(decided)
        })
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        self.inner.peek(checks, self.at(at))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        self.inner.refund(refunds, self.at(at))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        self.inner.reset(limit, key)
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        self.inner.inspect(limit, key)
    }

    fn plain_counter(&self, name: &str) -> LimitId {
        self.inner.plain_counter(name)
    }

    fn digest(&self, limit: LimitId, key: &[u8]) -> Option<KeyDigest> {
        self.inner.digest(limit, key)
    }

    fn ping(&self) -> Reply<'_, ()> {
        self.inner.ping()
    }

    fn now(&self) -> Option<Timestamp> {
        self.read.fetch_add(1, Ordering::Relaxed);
        Some(self.instant())
    }
}
