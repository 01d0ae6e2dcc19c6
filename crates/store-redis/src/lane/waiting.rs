//! A question that waits, and whoever waits for its answer.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Together;
use crate::error::Failure;
use crate::measures::Counters;
use crate::op::{Answer, Op};

/// A question in the queue.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) op: Op,
    pub(super) together: Together,
    pub(super) deadline: Instant,
    pub(super) asker: Asker,
}

/// Whoever asked. Whether the question was sent before it gave up is decided once, by whoever comes first.
#[derive(Debug, Clone)]
pub(super) struct Asker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stage: AtomicU8,
    answer: Mutex<Option<oneshot::Sender<Result<Answer, Failure>>>>,
    counters: Arc<Counters>,
}

const WAITING: u8 = 0;
const SENT: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Asker {
    pub(super) fn new(answer: oneshot::Sender<Result<Answer, Failure>>, counters: Arc<Counters>) -> Self {
        Self(Arc::new(Inner { stage: AtomicU8::new(WAITING), answer: Mutex::new(Some(answer)), counters }))
    }

    /// Gives up waiting; returns whether the question was never sent, and then never will be.
    pub(super) fn give_up(&self) -> bool {
        self.leave(GIVEN_UP)
    }

    /// Returns whether the question may be sent, and notes that it is.
    pub(super) fn take(&self) -> bool {
        self.leave(SENT)
    }

    /// Returns whether nobody waits for the answer any more.
    pub(super) fn is_gone(&self) -> bool {
        let answer = self.0.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Answers, if somebody still waits.
    pub(super) fn answer(&self, answer: Result<Answer, Failure>) {
        self.leave(SENT);
        let waiting = self.0.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            // Whoever asked may have left.
            let _ = waiting.send(answer);
        }
    }

    /// Leaves the queue, once.
    fn leave(&self, to: u8) -> bool {
        let left = self.0.stage.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok();
        // Who gives up leaves the question where it is, and it takes its place until it is taken out.
        if left && to == SENT {
            self.0.counters.queued.fetch_sub(1, Ordering::Relaxed);
        }
        left
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if *self.stage.get_mut() != SENT {
            self.counters.queued.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
