//! Asks the store also while nobody comes: an outage has to be noticed before the first request meets it, and its end
//! without one.
//!
//! Whether the store is lost is for the limiter's breaker alone to say, which hears of every answer, those to this asking
//! among them: what requests meet, what probes read and what alerts tell are one fact. A store in this process always
//! answers, and is not asked.

use std::fmt;
use std::future::Future;
use std::time::{Duration, SystemTime};

use tidegate::{Limiter, StoreHealth};
use tidegate_store::jittered;

use crate::alerts::Alerts;

/// How often a store that answers is asked.
const EVERY: Duration = Duration::from_secs(2);
/// How soon one that did not is asked again. A handful of failures is an outage: with these pauses it shows within about half
/// a second, and a deadline for each.
const SOON: Duration = Duration::from_millis(100);
/// How often one that is lost is asked.
const LOST: Duration = Duration::from_millis(500);

/// What watches a store. Cheap to clone.
#[derive(Clone)]
pub struct Watchman {
    limiter: Limiter,
}

impl fmt::Debug for Watchman {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchman").field("health", &self.health()).finish_non_exhaustive()
    }
}

impl Watchman {
    /// Watches a limiter's store once it runs.
    pub fn new(limiter: Limiter) -> Self {
        Self { limiter }
    }

    /// Returns what is known of the store at this moment.
    pub fn health(&self) -> StoreHealth {
        self.limiter.store_health()
    }

    /// Asks the store until `stop` completes, and raises and ends the alert of its outages.
    pub async fn run(&self, alerts: Option<&Alerts>, stop: impl Future<Output = ()>) {
        if self.limiter.memory_usage().is_some() {
            return stop.await;
        }
        tokio::select! {
            () = stop => {}
            () = self.ask() => {}
            // By itself: a store that keeps the asking waiting holds up no alert.
            () = self.tell(alerts) => {}
        }
    }

    /// Asks the store for ever; what it answers goes to the breaker.
    async fn ask(&self) {
        let mut changes = self.limiter.store_changes();
        loop {
            let answer = self.limiter.ping().await;
            let pause = match (answer, changes.borrow_and_update().is_down()) {
                // Also one that answers again: its outage is over when it has done so for a while.
                (_, true) => LOST,
                (Ok(()), false) => EVERY,
                (Err(_), false) => SOON,
            };
            tokio::select! {
                () = tokio::time::sleep(jittered(pause)) => {}
                // One that requests have found to be lost is not left alone for the rest of a long pause.
                Ok(()) = changes.changed() => tokio::time::sleep(jittered(SOON)).await,
            }
        }
    }

    /// Raises and ends the alert for ever.
    async fn tell(&self, alerts: Option<&Alerts>) {
        let Some(alerts) = alerts else { return std::future::pending().await };
        let mut changes = self.limiter.store_changes();
        let mut told: Option<SystemTime> = None;
        loop {
            let health = changes.borrow_and_update().clone();
            let is_over = match &health {
                StoreHealth::Up => true,
                // Between two looks one may have ended and another begun.
                StoreHealth::Down { since, .. } => told != Some(*since),
            };
            if is_over && told.take().is_some() {
                alerts.store_found();
            }
            if let StoreHealth::Down { since, error } = health
                && told.is_none()
            {
                alerts.store_lost(since, &error);
                told = Some(since);
            }
            if changes.changed().await.is_err() {
                // The limiter is gone, which this holds.
                return std::future::pending().await;
            }
        }
    }
}
