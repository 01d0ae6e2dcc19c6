//! A store that counts what is asked of it and can be lost.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate::{MemoryOptions, MemoryStore, StoreError};
use tidegate_algorithms::{State, Timestamp};
use tidegate_store::{Check, Decided, LimitId, Refund, Reply, Store};

use super::plain::Counted;

/// What stores were asked for, as numbers of calls and of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operations {
    /// Calls for a decision that was to admit.
    pub admitted: u64,
    /// Calls for a decision that was to refuse.
    pub refused: u64,
    /// States read for what was admitted.
    pub reads_admitted: u64,
    /// States read for what was refused.
    pub reads_refused: u64,
    /// States written for what was admitted.
    pub writes_admitted: u64,
    /// States written for what was refused.
    pub writes_refused: u64,
    /// Calls that gave something back.
    pub refunds: u64,
}

impl Operations {
    /// Adds others.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            admitted: self.admitted.saturating_add(other.admitted),
            refused: self.refused.saturating_add(other.refused),
            reads_admitted: self.reads_admitted.saturating_add(other.reads_admitted),
            reads_refused: self.reads_refused.saturating_add(other.reads_refused),
            writes_admitted: self.writes_admitted.saturating_add(other.writes_admitted),
            writes_refused: self.writes_refused.saturating_add(other.writes_refused),
            refunds: self.refunds.saturating_add(other.refunds),
        }
    }
}

/// A store with a switch and counters before it.
pub(super) struct Watched {
    inner: Arc<dyn Counted>,
    /// The same, where it is the memory store, which can be written down.
    memory: Option<Arc<MemoryStore>>,
    lost: AtomicBool,
    admitted: AtomicU64,
    refused: AtomicU64,
    reads: [AtomicU64; 2],
    writes: [AtomicU64; 2],
    refunds: AtomicU64,
}

impl Watched {
    /// Watches a memory store.
    pub(super) fn memory(memory: MemoryStore) -> Self {
        let memory = Arc::new(memory);
        let inner: Arc<dyn Counted> = Arc::clone(&memory) as _;
        Self { memory: Some(memory), ..Self::other(inner) }
    }

    /// Watches what a process finds that starts anew at an instant where this one left its snapshot; nothing, if there can
    /// be none.
    pub(super) fn restored(&self, options: MemoryOptions, at: Timestamp) -> Option<Self> {
        let snapshot = self.memory.as_ref()?.snapshot();
        let (memory, _) = MemoryStore::restore(options, snapshot.as_bytes(), Some(at)).ok()?;
        Some(Self::memory(memory))
    }

    /// Watches another store.
    pub(super) fn other(inner: Arc<dyn Counted>) -> Self {
        Self {
            inner,
            memory: None,
            lost: AtomicBool::new(false),
            admitted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            reads: Default::default(),
            writes: Default::default(),
            refunds: AtomicU64::new(0),
        }
    }

    /// Answers nothing from now on.
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Answers again.
    pub(super) fn find(&self) {
        self.lost.store(false, Ordering::Relaxed);
    }

    /// Returns how many keys it holds, and their bytes.
    pub(super) fn usage(&self) -> (usize, usize) {
        self.inner.usage()
    }

    pub(super) fn operations(&self) -> Operations {
        let [reads_refused, reads_admitted] = &self.reads;
        let [writes_refused, writes_admitted] = &self.writes;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Operations {
            admitted: read(&self.admitted),
            refused: read(&self.refused),
            reads_admitted: read(reads_admitted),
            reads_refused: read(reads_refused),
            writes_admitted: read(writes_admitted),
            writes_refused: read(writes_refused),
            refunds: read(&self.refunds),
        }
    }

    /// Returns the error of a call while it is lost.
    fn up(&self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::Relaxed) {
            return Err(StoreError::unavailable("it is lost in this simulation"));
        }
        Ok(())
    }

    fn count(&self, checks: usize, decided: &Decided) {
        let count = |counter: &AtomicU64, by: usize| {
            counter.fetch_add(u64::try_from(by).unwrap_or(u64::MAX), Ordering::Relaxed);
        };
        count(if decided.admitted { &self.admitted } else { &self.refused }, 1);
        let written = decided.outcomes.iter().filter(|outcome| outcome.receipt.is_some()).count();
        let [refused, admitted] = &self.reads;
        count(if decided.admitted { admitted } else { refused }, checks);
        let [refused, admitted] = &self.writes;
        count(if decided.admitted { admitted } else { refused }, written);
    }
}

impl Counted for MemoryStore {
    fn usage(&self) -> (usize, usize) {
        let usage = MemoryStore::usage(self);
        (usage.keys, usage.bytes)
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.inner).finish()
    }
}

impl Store for Watched {
    fn limit(&self, name: &str) -> LimitId {
        self.inner.limit(name)
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        if let Err(error) = self.up() {
            return Reply::ready(Err(error));
        }
        match self.inner.decide(checks, at).now() {
            Some(answer) => {
                if let Ok(decided) = &answer {
                    self.count(checks.len(), decided);
                }
                Reply::ready(answer)
            }
            None => Reply::ready(Err(StoreError::timeout("a simulation does not wait for a store"))),
        }
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        match self.up() {
            Ok(()) => self.inner.peek(checks, at),
            Err(error) => Reply::ready(Err(error)),
        }
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        self.refunds.fetch_add(1, Ordering::Relaxed);
        match self.up() {
            Ok(()) => self.inner.refund(refunds, at),
            Err(error) => Reply::ready(Err(error)),
        }
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        match self.up() {
            Ok(()) => self.inner.reset(limit, key),
            Err(error) => Reply::ready(Err(error)),
        }
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        match self.up() {
            Ok(()) => self.inner.inspect(limit, key),
            Err(error) => Reply::ready(Err(error)),
        }
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::ready(self.up())
    }
}
