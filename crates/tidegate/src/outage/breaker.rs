//! A breaker: after a few failures in a row nobody waits for the store any more, but for one request at a time that finds
//! out whether it is back.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use tidegate_store::StoreError;
use tokio::sync::watch;

use super::{Degraded, StoreHealth};
use crate::observe::lock;

/// So many failures in a row are an outage. One is a packet that was lost.
const FAILURES: u32 = 5;
/// The pauses between two probes.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// Whether the store may be asked.
#[derive(Debug)]
pub(crate) struct Breaker {
    is_open: AtomicBool,
    failures: AtomicU32,
    openings: AtomicU64,
    /// Requests that were decided without the store since it last answered.
    without: AtomicU64,
    open: Mutex<Option<Open>>,
    health: watch::Sender<StoreHealth>,
}

#[derive(Debug)]
struct Open {
    began: Instant,
    pause: Duration,
    next_probe: Instant,
    is_probing: bool,
    error: Arc<str>,
    /// Which outage it is, so that a probe of an earlier one is none of this.
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

/// The right to probe in one outage, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Probe<'b> {
    breaker: &'b Breaker,
    outage: u64,
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.breaker.open().as_mut().filter(|open| open.number == self.outage) {
            open.is_probing = false;
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            is_open: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            openings: AtomicU64::new(0),
            without: AtomicU64::new(0),
            open: Mutex::new(None),
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
        let mut guard = self.open();
        let Some(open) = &mut *guard else { return Pass::Ask };
        if open.is_probing || now < open.next_probe {
            return Pass::Without(Arc::clone(&open.error));
        }
        open.is_probing = true;
        open.pause = open.pause.saturating_mul(2).min(LONGEST);
        open.next_probe = now + jittered(open.pause);
        Pass::Probe(Probe { breaker: self, outage: open.number })
    }

    /// Counts a request that is decided without the store. Whoever then tells of the failure tells it afterwards, so that
    /// the next answer counts anew.
    pub(crate) fn count_without(&self) {
        self.without.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes an answer of the store, of whatever kind.
    pub(crate) fn answered(&self, now: Instant) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
            if !self.is_open.load(Ordering::Acquire) {
                self.without.store(0, Ordering::Relaxed);
            }
        }
        if !self.is_open.load(Ordering::Acquire) {
            return;
        }
        let mut guard = self.open();
        let Some(open) = guard.take() else { return };
        self.is_open.store(false, Ordering::Release);
        self.health.send_replace(StoreHealth::Up);
        drop(guard);
        // Not within the line: what nobody logs is not evaluated.
        let without = self.without.swap(0, Ordering::Relaxed);
        tracing::error!(
            seconds = now.saturating_duration_since(open.began).as_secs_f64(),
            decided_without = without,
            "the store answers again: limits are shared as before"
        );
    }

    /// Notes that the store did not answer, and returns whether that begins an outage. An answer that is about one key
    /// alone is none of this: it is one.
    pub(crate) fn failed(&self, error: &StoreError, now: Instant) -> bool {
        if !is_loss(error) {
            self.answered(now);
            return false;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let mut guard = self.open();
        let words: Arc<str> = error.to_string().into();
        if let Some(open) = &mut *guard {
            open.error = Arc::clone(&words);
            self.health.send_if_modified(|health| {
                let StoreHealth::Down { error, .. } = health else { return false };
                // Who watches is told of an outage once; its words may be read at any time.
                *error = words;
                false
            });
            return false;
        }
        if failures < FAILURES {
            return false;
        }
        let number = self.openings.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        *guard = Some(Open {
            began: now,
            pause: SHORTEST,
            next_probe: now + jittered(SHORTEST),
            is_probing: false,
            error: Arc::clone(&words),
            number,
        });
        self.is_open.store(true, Ordering::Release);
        self.health.send_replace(StoreHealth::Down { since: SystemTime::now(), error: words });
        true
    }

    /// Returns whether the store answers, and is told of changes.
    pub(crate) fn health(&self) -> watch::Receiver<StoreHealth> {
        self.health.subscribe()
    }

    /// Returns how often the store was lost.
    pub(crate) fn openings(&self) -> u64 {
        self.openings.load(Ordering::Relaxed)
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        lock(&self.open)
    }
}

/// Returns whether an error says that the store does not answer, and not that it does about one key.
pub(crate) fn is_loss(error: &StoreError) -> bool {
    error.is_timeout() || error.is_unavailable()
}

/// Returns between half of a pause and all of it, so that instances that lost one store do not all probe it together.
fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    // Without randomness they may.
    let chance = getrandom::u32().unwrap_or(u32::MAX);
    let part = half.as_nanos().saturating_mul(u128::from(chance)) / u128::from(u32::MAX);
    half.saturating_add(Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX)))
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
mod tests {
    use super::*;

    fn dead() -> StoreError {
        StoreError::unavailable("nobody listens")
    }

    fn opened(now: Instant) -> Breaker {
        let breaker = Breaker::default();
        let opened: Vec<_> = (0..FAILURES).map(|_| breaker.failed(&dead(), now)).collect();
        assert_eq!(opened, [false, false, false, false, true]);
        breaker
    }

    /// A store that is asked by everybody while it hangs costs everybody a deadline.
    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_at_a_time_probe() {
        let start = Instant::now();
        let breaker = Breaker::default();
        for _ in 1..FAILURES {
            breaker.failed(&dead(), start);
        }
        breaker.answered(start);
        for _ in 1..FAILURES {
            breaker.failed(&dead(), start);
        }
        assert!(matches!(breaker.pass(start), Pass::Ask), "an answer in between begins the count anew");
        breaker.failed(&dead(), start);
        assert!(matches!(breaker.pass(start), Pass::Without(_)));
        assert!(breaker.health().borrow().is_down());
        let later = start + SHORTEST;
        let probe = breaker.pass(later);
        assert!(matches!(probe, Pass::Probe(_)));
        assert!(matches!(breaker.pass(later + LONGEST), Pass::Without(_)), "one probes at a time");
        breaker.failed(&dead(), later);
        drop(probe);
        let before = SHORTEST.saturating_sub(Duration::from_nanos(1));
        assert!(
            matches!(breaker.pass(later + before), Pass::Without(_)),
            "pauses grow, and are half of it at least"
        );
        assert!(matches!(breaker.pass(later + SHORTEST * 2), Pass::Probe(_)));
        breaker.answered(later + LONGEST);
        assert!(matches!(breaker.pass(later + LONGEST), Pass::Ask));
        assert_eq!((breaker.openings(), breaker.health().borrow().is_down()), (1, false));
    }

    /// A client that leaves while its request probes must not leave the store unasked for ever.
    #[test]
    fn a_probe_that_is_given_up_frees_the_next() {
        let start = Instant::now();
        let breaker = opened(start);
        drop(breaker.pass(start + SHORTEST));
        assert!(matches!(breaker.pass(start + SHORTEST + LONGEST), Pass::Probe(_)));
    }

    /// A value under one key that nobody can read says nothing about the store.
    #[test]
    fn an_answer_about_one_key_is_an_answer() {
        let start = Instant::now();
        let breaker = Breaker::default();
        for _ in 0..100 {
            assert!(!breaker.failed(&StoreError::rejected("no value of ours"), start));
        }
        assert!(matches!(breaker.pass(start), Pass::Ask));
    }

    /// A request that hung through a whole outage must not let two probe in the next.
    #[test]
    fn a_probe_of_an_earlier_outage_frees_none_of_this_one() {
        let start = Instant::now();
        let breaker = opened(start);
        let old = breaker.pass(start + SHORTEST);
        assert!(matches!(old, Pass::Probe(_)));
        breaker.answered(start + SHORTEST);
        let again = start + LONGEST;
        for _ in 0..FAILURES {
            breaker.failed(&dead(), again);
        }
        let probe = breaker.pass(again + SHORTEST);
        assert!(matches!(probe, Pass::Probe(_)));
        drop(old);
        assert!(matches!(breaker.pass(again + SHORTEST + LONGEST), Pass::Without(_)), "one probes at a time");
        drop(probe);
        assert!(matches!(breaker.pass(again + SHORTEST + LONGEST), Pass::Probe(_)));
    }

    /// Instances that lost one store at one moment would else ask it again at one moment, for ever.
    #[test]
    fn pauses_are_spread_over_their_second_half() {
        let pauses: std::collections::HashSet<_> = (0..100).map(|_| jittered(LONGEST)).collect();
        assert!(pauses.iter().all(|pause| (LONGEST / 2..=LONGEST).contains(pause)), "{pauses:?}");
        assert!(pauses.len() > 50);
    }

    #[test]
    fn what_was_decided_without_the_store_is_counted_by_the_outage() {
        let start = Instant::now();
        let breaker = Breaker::default();
        let without = || breaker.without.load(Ordering::Relaxed);
        breaker.count_without();
        breaker.failed(&dead(), start);
        breaker.answered(start);
        assert_eq!(without(), 0, "one packet that was lost is no outage");
        for _ in 0..FAILURES {
            breaker.count_without();
            breaker.failed(&dead(), start);
        }
        drop(breaker.pass(start));
        assert_eq!(without(), u64::from(FAILURES), "what is no request does not count");
        breaker.answered(start);
        assert_eq!(without(), 0);
    }
}
