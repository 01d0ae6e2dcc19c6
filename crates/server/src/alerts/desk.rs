//! Telling one webhook what is on the board: at every change, again while there is something to be told, and again sooner
//! when it did not go through.
//!
//! Each webhook has a desk of its own, so that one that hangs holds up no other; and nobody who decides on requests ever
//! waits for a desk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tidegate_store::jittered;
use tokio::sync::watch;

use super::board::Board;
use super::webhook::{SendError, Webhook};

/// The least time between two tellings: many keys that rise at once are one telling, or two.
const BETWEEN: Duration = Duration::from_secs(1);
/// The pause after a first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: what has failed for long is noticed as working within half a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often a webhook was told something, and how often that failed.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// Whoever tells one webhook.
pub(super) struct Desk {
    pub(super) webhook: Webhook,
    pub(super) board: watch::Receiver<Board>,
    pub(super) tally: Arc<Tally>,
    /// How often what goes on is told again.
    pub(super) every: Duration,
    /// Failures since it last went through.
    pub(super) failures: u32,
}

impl Desk {
    /// Tells the webhook what there is to be told, until the board is gone.
    pub(super) async fn run(mut self) {
        loop {
            let now = SystemTime::now();
            let (body, next_end) = {
                let board = self.board.borrow_and_update();
                (board.body(now), board.next_end(now))
            };
            let pause = match body {
                None => None,
                Some(body) => {
                    let done = self.webhook.post(body).await;
                    self.note(&done);
                    if done.is_err() {
                        // One that fails is not asked more often because more goes wrong.
                        tokio::time::sleep(self.pause()).await;
                        continue;
                    }
                    tokio::time::sleep(BETWEEN).await;
                    // What ends is told at its end.
                    Some(next_end.map_or(self.every, |end| end.min(self.every)).saturating_sub(BETWEEN))
                }
            };
            tokio::select! {
                changed = self.board.changed() => if changed.is_err() { return },
                () = after(pause) => {}
            }
        }
    }

    /// Counts what became of an attempt, and logs it when it is another than the last one's.
    fn note(&mut self, done: &Result<(), SendError>) {
        let webhook = self.webhook.name();
        match done {
            Ok(()) => {
                self.tally.sent.fetch_add(1, Ordering::Relaxed);
                if self.failures > 0 {
                    tracing::info!(webhook, failed = self.failures, "alerts reach this webhook again");
                }
                self.failures = 0;
            }
            Err(error) => {
                self.tally.failed.fetch_add(1, Ordering::Relaxed);
                if self.failures == 0 {
                    tracing::error!(
                        webhook,
                        "alerts do not reach this webhook of `alerts.webhook`, and will be tried again: {error}"
                    );
                }
                self.failures = self.failures.saturating_add(1);
            }
        }
    }

    fn pause(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(8);
        jittered(FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE))
    }
}

/// Waits, for ever without a pause.
async fn after(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}
