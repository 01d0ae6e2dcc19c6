//! Answers that a client asked for and does not take.
//!
//! An HTTP/2 client can give its streams no window: its connection is alive, nothing of what is sent stays
//! unacknowledged, and each answer holds what it holds (a place at the upstream, say) for as long as the client likes.
//! So each answer's body tells whose turn it is, and since when. One that has waited too long for the client is ended,
//! and nothing else of its connection.
//!
//! Where it is the connection itself that takes no bytes, a body waits behind others, and its client may merely be
//! slow. The kernel ends a connection that takes nothing at all; here such a wait is allowed [`PATIENCE`] times as
//! long.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, FutureExt as _};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How many times the usual wait a client has whose connection is full.
const PATIENCE: u32 = 10;
/// The most of an answer that a stream is given at once. Only the next piece shows that the last has been taken, so a
/// client that takes this much within the time, on each of its streams, is never ended.
const PIECE: usize = 32 * 1024;
/// It is not the client that is awaited.
const NOT_THE_CLIENT: u64 = u64::MAX;

tokio::task_local! {
    /// Ends the HTTP/2 stream that is served.
    static STREAM: AbortHandle;
}

/// Returns an HTTP/2 stream so that it can be ended by itself.
pub(super) fn endable<F: Future>(stream: F) -> impl Future<Output = ()> + use<F> {
    let (handle, registration) = AbortHandle::new_pair();
    // A stream that is dropped before its end is reset by its protocol.
    STREAM.scope(handle, Abortable::new(stream, registration).map(drop))
}

/// The answers under way on one connection.
#[derive(Debug)]
pub(crate) struct Stalls {
    opened: Instant,
    answers: Mutex<Vec<Arc<Turn>>>,
    /// True while the connection takes no bytes.
    full: AtomicBool,
    /// Milliseconds after `opened` at which it was last full.
    full_until: AtomicU64,
}

impl Stalls {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            answers: Mutex::default(),
            full: AtomicBool::new(false),
            full_until: AtomicU64::new(0),
        })
    }

    /// Watches an answer until the guard is dropped; to be called by the task that serves its stream.
    pub(crate) fn watch(self: &Arc<Self>) -> Watched {
        let turn = Arc::new(Turn {
            client_since: AtomicU64::new(self.now()),
            stream: STREAM.try_with(AbortHandle::clone).ok(),
        });
        self.answers.lock().push(Arc::clone(&turn));
        Watched { turn, stalls: Arc::clone(self) }
    }

    /// Notes whether the connection takes bytes.
    pub(crate) fn set_full(&self, full: bool) {
        // Nearly always it does and did, and then nothing is written.
        if full || self.full.load(Ordering::Acquire) {
            self.full_until.store(self.now(), Ordering::Release);
            self.full.store(full, Ordering::Release);
        }
    }

    /// Ends each stream whose client takes none of its answer for `timeout`; returns when that is not one among
    /// several, so that the connection itself has to end.
    pub(crate) async fn stalled(&self, timeout: Duration) {
        let mut look = Instant::now() + timeout;
        loop {
            tokio::time::sleep_until(look).await;
            let now = Instant::now();
            look = now + timeout;
            for turn in self.answers.lock().iter() {
                match self.due(turn, now, timeout) {
                    Some(due) if due > now => look = look.min(due),
                    None => {}
                    Some(_) => {
                        let Some(stream) = &turn.stream else { return };
                        tracing::debug!("a client took nothing of an answer: its stream is ended");
                        stream.abort();
                        turn.client_since.store(NOT_THE_CLIENT, Ordering::Release);
                    }
                }
            }
        }
    }

    /// Returns until when a client has time to take more of an answer; `None` when it is not its turn.
    fn due(&self, turn: &Turn, now: Instant, timeout: Duration) -> Option<Instant> {
        let since = turn.client_since.load(Ordering::Acquire);
        if since == NOT_THE_CLIENT {
            return None;
        }
        let since = self.at(since);
        let full = if self.full.load(Ordering::Acquire) {
            now
        } else {
            self.at(self.full_until.load(Ordering::Acquire))
        };
        Some((since.max(full) + timeout).min(since + timeout * PATIENCE))
    }

    fn at(&self, millis: u64) -> Instant {
        self.opened + Duration::from_millis(millis)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(NOT_THE_CLIENT - 1)
    }
}

/// Whose turn an answer is.
#[derive(Debug)]
struct Turn {
    /// Milliseconds after the connection's beginning since which the client could take more, or [`NOT_THE_CLIENT`].
    client_since: AtomicU64,
    /// Ends the answer's stream; none where there is no other on the connection.
    stream: Option<AbortHandle>,
}

/// Tells of one answer whose turn it is, while it lives.
#[derive(Debug)]
pub(crate) struct Watched {
    turn: Arc<Turn>,
    stalls: Arc<Stalls>,
}

impl Watched {
    /// Notes that there is something to take.
    pub(crate) fn clients_turn(&self) {
        self.turn.client_since.store(self.stalls.now(), Ordering::Release);
    }

    /// Takes from `rest` what the connection may have at once.
    pub(crate) fn piece(&self, rest: &mut Bytes) -> Bytes {
        if self.turn.stream.is_some() && rest.len() > PIECE {
            return rest.split_to(PIECE);
        }
        std::mem::take(rest)
    }

    /// Notes that the answer's next piece is awaited.
    pub(crate) fn not_the_clients_turn(&self) {
        self.turn.client_since.store(NOT_THE_CLIENT, Ordering::Release);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut answers = self.stalls.answers.lock();
        if let Some(place) = answers.iter().position(|turn| Arc::ptr_eq(turn, &self.turn)) {
            answers.swap_remove(place);
        }
    }
}
