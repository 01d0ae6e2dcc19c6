//! A store that fails, loses answers or keeps its callers waiting, on command.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tidegate_algorithms::{State, Timestamp};

use crate::{Check, Decided, KeyDigest, LimitId, Measures, Refund, Reply, Store, StoreError};

/// A store in front of another, for tests of what callers do when a store fails.
pub struct Faulty<S> {
    inner: S,
    script: Mutex<Script>,
    /// What is said of remembering refusals, when it is not what the store behind says.
    may_be_remembered: Option<bool>,
}

#[derive(Default)]
struct Script {
    fault: Option<Fault>,
    /// How many calls more the fault is for; `None` for all.
    times: Option<u32>,
    held: bool,
    waiting: Vec<Waker>,
    calls: u64,
}

#[derive(Clone)]
enum Fault {
    /// Before the operation: nothing was done.
    Refuse(StoreError),
    /// After it: it was done, and nobody is told.
    Lose(StoreError),
}

impl<S> Faulty<S> {
    /// Puts a store in front of `inner` that passes everything on until it is told otherwise.
    pub fn new(inner: S) -> Self {
        Self { inner, script: Mutex::default(), may_be_remembered: None }
    }

    /// Says that refusals may be remembered, as a store outside this process does, whatever the store behind says.
    #[must_use]
    pub fn with_refusals_remembered(self) -> Self {
        Self { may_be_remembered: Some(true), ..self }
    }

    /// Returns the store behind.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Answers every call with this error, and does nothing, until [`Faulty::heal`].
    pub fn fail(&self, error: StoreError) {
        self.set(Some(Fault::Refuse(error)), None);
    }

    /// Answers the next `times` calls with this error, and does nothing.
    pub fn fail_next(&self, times: u32, error: StoreError) {
        self.set(Some(Fault::Refuse(error)), Some(times));
    }

    /// Carries out the next `times` calls but answers them with this error, as a network does that breaks late.
    pub fn lose_next(&self, times: u32, error: StoreError) {
        self.set(Some(Fault::Lose(error.perhaps_counted())), Some(times));
    }

    /// Passes everything on again.
    pub fn heal(&self) {
        self.set(None, None);
    }

    /// Keeps every caller waiting from now on; their operations have not begun.
    pub fn hold(&self) {
        self.script().held = true;
    }

    /// Lets those who wait, and all later ones, through.
    pub fn release(&self) {
        let waiting = {
            let mut script = self.script();
            script.held = false;
            std::mem::take(&mut script.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns how many operations were asked for, the held and the failed among them.
    pub fn calls(&self) -> u64 {
        self.script().calls
    }

    fn set(&self, fault: Option<Fault>, times: Option<u32>) {
        let mut script = self.script();
        script.fault = fault;
        script.times = times;
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is wrong with the call that is made now.
    fn fault(&self) -> Option<Fault> {
        let mut script = self.script();
        match &mut script.times {
            Some(0) => return None,
            Some(times) => *times -= 1,
            None => {}
        }
        script.fault.clone()
    }

    async fn released(&self) {
        poll_fn(|context| {
            let mut script = self.script();
            if !script.held {
                return Poll::Ready(());
            }
            script.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn pass<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce(&'a S) -> Reply<'a, T> + Send + 'a,
    ) -> Reply<'a, T>
    where
        S: Sync,
    {
        let held = {
            let mut script = self.script();
            script.calls += 1;
            script.held
        };
        if !held && self.script().fault.is_none() {
            return operation(&self.inner);
        }
        Reply::waiting(async move {
            self.released().await;
            match self.fault() {
                None => operation(&self.inner).await,
                Some(Fault::Refuse(error)) => Err(error),
                Some(Fault::Lose(error)) => {
                    operation(&self.inner).await?;
                    Err(error)
                }
            }
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faulty").field(&self.inner).finish()
    }
}

impl<S: Store> Store for Faulty<S> {
    fn limit(&self, name: &str) -> LimitId {
        self.inner.limit(name)
    }

    fn retain(&self, limits: &[LimitId]) {
        self.inner.retain(limits);
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        self.pass(move |store| store.decide(checks, at))
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        self.pass(move |store| store.peek(checks, at))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        self.pass(move |store| store.refund(refunds, at))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        self.pass(move |store| store.reset(limit, key))
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        self.pass(move |store| store.inspect(limit, key))
    }

    fn plain_counter(&self, name: &str) -> LimitId {
        self.inner.plain_counter(name)
    }

    fn digest(&self, limit: LimitId, key: &[u8]) -> Option<KeyDigest> {
        self.inner.digest(limit, key)
    }

    fn ping(&self) -> Reply<'_, ()> {
        self.pass(|store| store.ping())
    }

    /// Tells what the store behind tells: a clock in this process does not fail with it.
    fn now(&self) -> Option<Timestamp> {
        self.inner.now()
    }

    fn refusals_may_be_remembered(&self) -> bool {
        self.may_be_remembered.unwrap_or_else(|| self.inner.refusals_may_be_remembered())
    }

    fn measures(&self) -> Measures {
        self.inner.measures()
    }
}
