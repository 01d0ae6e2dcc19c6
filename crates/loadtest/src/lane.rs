//! The way of requests to connections: a queue that arrivals wait in, or none, where each connection asks when it is free.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use tokio::sync::Notify;

use crate::people::{Keys, Who};

/// A request that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// When it is meant to be sent, in nanoseconds since the beginning.
    pub(crate) intended: u64,
    /// On whose behalf.
    pub(crate) who: Who,
}

/// Connections that requests are shared out to.
#[derive(Debug)]
pub(crate) enum Lane {
    /// Requests come by a schedule, and wait where no connection is free.
    Open(Queue),
    /// A connection that is free asks again.
    Closed(RefCell<Keys>),
}

/// Requests that wait for a connection.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: RefCell<VecDeque<Arrival>>,
    bell: Notify,
    ended: Cell<bool>,
}

impl Queue {
    /// Lets a request wait for the next connection that is free.
    pub(crate) fn push(&self, arrival: Arrival) {
        self.waiting.borrow_mut().push_back(arrival);
        self.bell.notify_one();
    }

    /// Says that no more will come.
    pub(crate) fn end(&self) {
        self.ended.set(true);
        self.bell.notify_waiters();
    }

    /// Forgets what still waits, and returns how much that was.
    pub(crate) fn clear(&self) -> u64 {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        u64::try_from(waiting.len()).unwrap_or(u64::MAX)
    }

    /// Waits for a request; `None` once no more will come.
    pub(crate) async fn pop(&self) -> Option<Arrival> {
        loop {
            // Before the queue is looked at, lest its end be missed in between.
            let rung = self.bell.notified();
            let first = self.waiting.borrow_mut().pop_front();
            if first.is_some() || self.ended.get() {
                return first;
            }
            rung.await;
        }
    }
}
