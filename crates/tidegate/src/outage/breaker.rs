//! A breaker: after a few failures in a row nobody waits for the store any more, but for one request at a time that finds
//! out whether it is back.
//!
//! The breaker closes with the first answer, since whoever comes next should be decided by the store. That the outage is over
//! is told only when none follows for a while: of a store that answers some and not others, whoever watches hears once.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use tidegate_store::{StoreError, jittered};
use tokio::sync::watch;

use super::{Degraded, StoreHealth};
use crate::observe::lock;

/// So many failures in a row are an outage. One is a packet that was lost.
const FAILURES: u32 = 5;
/// The pauses between two probes.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);
/// An outage is over when the store has not been lost again for so long.
const CALM: Duration = Duration::from_secs(1);

/// Whether the store may be asked.
#[derive(Debug)]
pub(crate) struct Breaker {
    is_open: AtomicBool,
    /// Whether an outage was told that is not told to be over: while the breaker is open, and a while longer.
    is_told: AtomicBool,
    failures: AtomicU32,
    outages: AtomicU64,
    /// Requests that were decided without the store since it last answered.
    without: AtomicU64,
    state: Mutex<State>,
    health: watch::Sender<StoreHealth>,
}

#[derive(Debug, Default)]
struct State {
    open: Option<Open>,
    /// When the outage began that was told.
    began: Option<Instant>,
    /// Since when the store answers, while the outage is not told to be over.
    calm_since: Option<Instant>,
    openings: u64,
}

#[derive(Debug)]
struct Open {
    pause: Duration,
    next_probe: Instant,
    is_probing: bool,
    error: Arc<str>,
    /// Which opening it is, so that a probe of an earlier one is none of this.
    number: u64,
}

/// What a request may do.
#[derive(Debug)]
pub(crate) enum Pass<'b> {
    /// Ask the store.
    Ask,
    /// Ask it, and be the one that finds out whether it is back.
    Probe(#[expect(dead_code, reason = "held until the answer is there, and dropped")] Probe<'b>),
    /// Do without, and why.
    Without(Arc<str>),
}

/// The right to probe while the breaker is open, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Probe<'b> {
    breaker: &'b Breaker,
    opening: u64,
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.breaker.state().open.as_mut().filter(|open| open.number == self.opening) {
            open.is_probing = false;
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            is_open: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            outages: AtomicU64::new(0),
            without: AtomicU64::new(0),
            state: Mutex::default(),
            health: watch::Sender::new(StoreHealth::Up),
        }
    }
}

impl Breaker {
    /// Returns what a request that comes now may do.
    pub(crate) fn pass(&self, now: Instant) -> Pass<'_> {
        if !self.is_open.load(Ordering::Acquire) {
            return Pass::Ask;
        }
        let mut state = self.state();
        let Some(open) = &mut state.open else { return Pass::Ask };
        if open.is_probing || now < open.next_probe {
            return Pass::Without(Arc::clone(&open.error));
        }
        open.is_probing = true;
        open.pause = open.pause.saturating_mul(2).min(LONGEST);
        open.next_probe = now + jittered(open.pause);
        Pass::Probe(Probe { breaker: self, opening: open.number })
    }

    /// Counts a request that is decided without the store. Whoever then tells of the failure tells it afterwards, so that
    /// the next answer counts anew.
    pub(crate) fn count_without(&self) {
        self.without.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes an answer of the store, of whatever kind.
    pub(crate) fn answered(&self, now: Instant) {
        let is_told = self.is_told.load(Ordering::Acquire);
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
            if !is_told {
                self.without.store(0, Ordering::Relaxed);
            }
        }
        if !is_told {
            return;
        }
        let mut state = self.state();
        let Some(began) = state.began else { return };
        if state.open.take().is_some() {
            self.is_open.store(false, Ordering::Release);
            state.calm_since = Some(now);
        }
        if state.calm_since.is_none_or(|since| now.saturating_duration_since(since) < CALM) {
            return;
        }
        (state.began, state.calm_since) = (None, None);
        self.is_told.store(false, Ordering::Release);
        self.health.send_replace(StoreHealth::Up);
        drop(state);
        // Not within the line: what nobody logs is not evaluated.
        let without = self.without.swap(0, Ordering::Relaxed);
        tracing::error!(
            seconds = now.saturating_duration_since(began).as_secs_f64(),
            decided_without = without,
            "the store answers again: limits are shared as before"
        );
    }

    /// Notes that the store did not answer somebody who asked for nothing else: an outage that seemed to end is not over.
    pub(crate) fn unanswered(&self, error: &StoreError, now: Instant) {
        if !is_loss(error) {
            return;
        }
        let mut state = self.state();
        if state.calm_since.is_some() {
            state.calm_since = Some(now);
        }
    }

    /// Notes that the store did not answer, and returns whether that begins an outage. An answer that is about one key
    /// alone is none of this: it is one.
    pub(crate) fn failed(&self, error: &StoreError, now: Instant) -> bool {
        if !is_loss(error) {
            self.answered(now);
            return false;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let mut state = self.state();
        let words: Arc<str> = error.to_string().into();
        if let Some(open) = &mut state.open {
            open.error = Arc::clone(&words);
            self.say(words);
            return false;
        }
        if failures < FAILURES {
            return false;
        }
        state.openings = state.openings.saturating_add(1);
        state.calm_since = None;
        state.open = Some(Open {
            pause: SHORTEST,
            next_probe: now + jittered(SHORTEST),
            is_probing: false,
            error: Arc::clone(&words),
            number: state.openings,
        });
        self.is_open.store(true, Ordering::Release);
        if state.began.is_some() {
            self.say(words);
            return false;
        }
        state.began = Some(now);
        self.outages.fetch_add(1, Ordering::Relaxed);
        self.is_told.store(true, Ordering::Release);
        self.health.send_replace(StoreHealth::Down { since: SystemTime::now(), error: words });
        true
    }

    /// Puts down what the store said last.
    fn say(&self, words: Arc<str>) {
        self.health.send_if_modified(|health| {
            let StoreHealth::Down { error, .. } = health else { return false };
            // Who watches is told of an outage once; its words may be read at any time.
            *error = words;
            false
        });
    }

    /// Returns whether the store answers, and is told of changes.
    pub(crate) fn health(&self) -> watch::Receiver<StoreHealth> {
        self.health.subscribe()
    }

    /// Returns how often the store was lost.
    pub(crate) fn outages(&self) -> u64 {
        self.outages.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Returns whether an error says that the store does not answer, and not that it does about one key.
pub(crate) fn is_loss(error: &StoreError) -> bool {
    error.is_timeout() || error.is_unavailable()
}

/// How many requests were decided without the store, by how.
#[derive(Debug, Default)]
pub(crate) struct Without([AtomicU64; Degraded::ALL.len()]);

impl Without {
    pub(crate) fn count(&self, how: Degraded) {
        let at = Degraded::ALL.iter().position(|known| *known == how);
        at.and_then(|at| self.0.get(at)).map(|count| count.fetch_add(1, Ordering::Relaxed));
    }

    pub(crate) fn read(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        Degraded::ALL.into_iter().map(Degraded::mode).zip(counts).collect()
    }
}

#[cfg(test)]
mod tests;
