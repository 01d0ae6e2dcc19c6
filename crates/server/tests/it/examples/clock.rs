//! A memory store that is told the time, and tells what it decided.

use std::sync::Mutex;

use tidegate::{MemoryOptions, MemoryStore, Span, Store, Timestamp};
use tidegate_store::algorithms::State;
use tidegate_store::{Check, Decided, LimitId, Refund, Reply};
use tokio::sync::mpsc::UnboundedSender;

/// A store whose clock the test sets.
#[derive(Debug)]
pub(super) struct ToldStore {
    store: MemoryStore,
    now: Mutex<Timestamp>,
    /// Gets, of each batch that is decided, how long an admitted request has to wait; zero for a refused one.
    decided: UnboundedSender<Span>,
}

impl ToldStore {
    pub(super) fn at(start: Timestamp, decided: UnboundedSender<Span>) -> Self {
        let store = MemoryStore::new(MemoryOptions::default()).unwrap();
        Self { store, now: Mutex::new(start), decided }
    }

    pub(super) fn set(&self, now: Timestamp) {
        *self.now.lock().unwrap() = now;
    }

    pub(super) fn instant(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

impl Store for ToldStore {
    fn limit(&self, name: &str) -> LimitId {
        self.store.limit(name)
    }

    fn retain(&self, limits: &[LimitId]) {
        self.store.retain(limits);
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        assert_eq!(at, None, "the gateway leaves the time to its store");
        let answer = self.store.decide(checks, Some(self.instant())).now().expect("memory answers at once");
        let delay = answer.as_ref().map_or(Span::ZERO, |decided| {
            let delays = decided.outcomes.iter().map(|outcome| outcome.decision.delay());
            delays.max().filter(|_| decided.admitted).unwrap_or(Span::ZERO)
        });
        let _ = self.decided.send(delay);
        Reply::ready(answer)
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], _: Option<Timestamp>) -> Reply<'a, Decided> {
        self.store.peek(checks, Some(self.instant()))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], _: Option<Timestamp>) -> Reply<'a, ()> {
        self.store.refund(refunds, Some(self.instant()))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        self.store.reset(limit, key)
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        self.store.inspect(limit, key)
    }

    fn ping(&self) -> Reply<'_, ()> {
        self.store.ping()
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.instant())
    }
}
