//! Whether the store answers, asked also while nobody comes: an outage has to be noticed before the first request meets it,
//! and its end without one.
//!
//! A store in this process always answers, and is not asked.

use std::fmt;
use std::future::Future;
use std::time::{Duration, SystemTime};

use tidegate::{Limiter, StoreError};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::alerts::Alerts;
use crate::jitter;

/// How often a store that answers is asked.
const EVERY: Duration = Duration::from_secs(2);
/// How soon one that did not is asked again, at first; each failure doubles it.
const FIRST_AGAIN: Duration = Duration::from_millis(100);
/// The longest until one that is lost is asked again.
const LONGEST_AGAIN: Duration = Duration::from_secs(1);
/// How long an answer may take: a store's own deadline is far below.
const TIMEOUT: Duration = Duration::from_secs(1);
/// So many failures in a row are an outage, and one is a moment: at the pauses above they take under half a second, and a
/// deadline each.
const FAILURES: u32 = 3;

/// What is known of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// It has not been asked yet.
    Unknown,
    /// It answers.
    Up,
    /// It does not.
    Down {
        /// Since when.
        since: SystemTime,
        /// The first error of the outage. It may name addresses: it is for the operator.
        error: String,
        /// The same in words for everybody.
        what: &'static str,
    },
}

/// What watches a store. Cheap to clone.
#[derive(Clone)]
pub struct Watchman {
    limiter: Limiter,
    condition: watch::Sender<Condition>,
}

impl fmt::Debug for Watchman {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchman").field("condition", &*self.condition.borrow()).finish_non_exhaustive()
    }
}

impl Watchman {
    /// Watches a limiter's store once it runs.
    pub fn new(limiter: Limiter) -> Self {
        let condition = if limiter.memory_usage().is_some() { Condition::Up } else { Condition::Unknown };
        Self { limiter, condition: watch::Sender::new(condition) }
    }

    /// Returns what is known of the store at this moment.
    pub fn condition(&self) -> Condition {
        self.condition.borrow().clone()
    }

    /// Asks the store until `stop` completes, and raises and ends the alert of its outages.
    pub async fn run(&self, alerts: Option<&Alerts>, stop: impl Future<Output = ()>) {
        if self.limiter.memory_usage().is_some() {
            return stop.await;
        }
        tokio::select! {
            () = stop => {}
            () = self.watch(alerts) => {}
        }
    }

    async fn watch(&self, alerts: Option<&Alerts>) {
        let mut failures: u32 = 0;
        let mut first = SystemTime::now();
        loop {
            match ask(&self.limiter).await {
                Ok(()) => {
                    failures = 0;
                    self.found(alerts);
                }
                Err(failure) => {
                    if failures == 0 {
                        first = SystemTime::now();
                    }
                    failures = failures.saturating_add(1);
                    // One that never answered is absent rather than troubled for a moment.
                    let is_new = *self.condition.borrow() == Condition::Unknown;
                    if is_new || failures >= FAILURES {
                        self.lost(first, failure, alerts);
                    }
                }
            }
            tokio::time::sleep(pause(failures)).await;
        }
    }

    fn lost(&self, since: SystemTime, failure: Failure, alerts: Option<&Alerts>) {
        let Failure { error, what } = failure;
        let told = self.condition.send_if_modified(|condition| {
            let is_new = !matches!(condition, Condition::Down { .. });
            if is_new {
                *condition = Condition::Down { since, error: error.clone(), what };
            }
            is_new
        });
        if told {
            tracing::error!(
                "the store is lost: {error}; until it answers again each rule is decided by its on_store_failure"
            );
            if let Some(alerts) = alerts {
                alerts.store_lost(since, &error);
            }
        }
    }

    fn found(&self, alerts: Option<&Alerts>) {
        let before = self.condition.send_replace(Condition::Up);
        if let Condition::Down { since, .. } = before {
            let seconds = since.elapsed().unwrap_or_default().as_secs();
            tracing::error!("the store answers again, after {seconds} s");
            if let Some(alerts) = alerts {
                alerts.store_found();
            }
        }
    }
}

/// Why a store did not answer: for the operator, and for everybody.
pub(crate) struct Failure {
    error: String,
    pub(crate) what: &'static str,
}

/// Asks the store whether it answers, in bounded time.
pub(crate) async fn ask(limiter: &Limiter) -> Result<(), Failure> {
    match timeout(TIMEOUT, limiter.ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure { what: in_words(&error), error: error.to_string() }),
        Err(_) => Err(Failure { what: SLOW, error: format!("no answer within {} s", TIMEOUT.as_secs()) }),
    }
}

const SLOW: &str = "does not answer in time";

/// Says what is wrong without an address, which is nobody's business outside.
fn in_words(error: &StoreError) -> &'static str {
    match error {
        error if error.is_timeout() => SLOW,
        error if error.is_unavailable() => "cannot be reached",
        _ => "refuses to answer",
    }
}

fn pause(failures: u32) -> Duration {
    match failures {
        0 => jitter::around(EVERY),
        failures => {
            let doubled = FIRST_AGAIN.saturating_mul(1 << failures.saturating_sub(1).min(8));
            jitter::around(doubled.min(LONGEST_AGAIN))
        }
    }
}
