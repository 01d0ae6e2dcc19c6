//! The way to one server: a bounded queue, gathered calls, and a deadline for everybody who asks.
//!
//! A question is sent at once when few calls are under way. While they are, further ones wait, and go out together as one
//! call of the script: a call costs the server more than a decision. Whoever asks is answered by its deadline, whatever
//! becomes of the call.

mod send;
mod waiting;

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tidegate_algorithms::Timestamp;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::error::Failure;
use crate::link::Link;
use crate::measures::Counters;
use crate::op::{Answer, Op};
use crate::script::{MAX_KEYS, MAX_OPS, Script};
use send::Sender;
use waiting::{Asker, Waiting};

/// How many calls are under way to a server at once: one that it works on, and one that is there when it is done.
const UNDER_WAY: usize = 2;
/// The same in a cluster, where calls of different slots cannot be put together.
const UNDER_WAY_BY_SLOT: usize = 64;

/// So many questions are passed over at most to find those that go with the first: in a cluster nearly all do not.
const MOST_PASSED: usize = 256;

/// What questions have in common that go out in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Together {
    /// The instant that is decided at, if it is the caller's.
    pub(crate) at: Option<Timestamp>,
    /// The cluster's slot; zero elsewhere.
    pub(crate) slot: u16,
    /// Whether counters are asked, by a script of their own.
    pub(crate) counters: bool,
    /// Whether the node has to be told that it is asked on purpose for a slot that is on its way to it.
    pub(crate) asking: bool,
}

/// How a lane is set up.
#[derive(Debug, Clone)]
pub(crate) struct LaneOptions {
    pub(crate) prefix: String,
    pub(crate) script: Script,
    /// The script of counters that other programs count as well.
    pub(crate) counters: Script,
    pub(crate) timeout: std::time::Duration,
    /// The most questions that wait at all lanes of a store.
    pub(crate) queue: usize,
    pub(crate) is_cluster: bool,
}

/// The way to a server.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    waiting: mpsc::UnboundedSender<Waiting>,
    link: Link,
    counters: Arc<Counters>,
    queue: usize,
}

impl Lane {
    /// Opens a lane over a link; its task ends when the last clone is gone.
    pub(crate) fn open(link: Link, options: LaneOptions, counters: Arc<Counters>) -> Self {
        let (waiting, questions) = mpsc::unbounded_channel();
        let queue = options.queue;
        let under_way = if options.is_cluster { UNDER_WAY_BY_SLOT } else { UNDER_WAY };
        let sender = Sender {
            link: link.clone(),
            options,
            counters: Arc::clone(&counters),
            complained: Mutex::default(),
        };
        tokio::spawn(work(questions, Arc::new(sender), Arc::new(Semaphore::new(under_way))));
        Self { waiting, link, counters, queue }
    }

    /// Returns the link the lane goes over.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Asks, and waits for the answer until a deadline.
    pub(crate) async fn ask(&self, op: Op, together: Together, deadline: Instant) -> Result<Answer, Failure> {
        if self.counters.queued.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.counters.queued.fetch_sub(1, Ordering::Relaxed);
            return Err(self.counted(Failure::queue_full(self.queue)));
        }
        let (answer, answered) = oneshot::channel();
        let asker = Asker::new(answer, Arc::clone(&self.counters));
        let waiting = Waiting { op, together, deadline, asker: asker.clone() };
        if self.waiting.send(waiting).is_err() {
            return Err(self.counted(Failure::unreachable("the store's task has ended")));
        }
        match tokio::time::timeout_at(deadline, answered).await {
            Ok(Ok(answer)) => answer.map_err(|failure| self.counted(failure)),
            // Nobody answered in time, or who had the question has dropped it.
            Ok(Err(_)) | Err(_) => Err(self.counted(Failure::timeout(!asker.give_up()))),
        }
    }

    fn counted(&self, failure: Failure) -> Failure {
        self.counters.failed(&failure);
        failure
    }
}

/// Takes what waits, as much as goes into one call, whenever a call may be sent.
async fn work(
    mut questions: mpsc::UnboundedReceiver<Waiting>,
    sender: Arc<Sender>,
    under_way: Arc<Semaphore>,
) {
    let mut held = VecDeque::new();
    loop {
        if held.is_empty() {
            let Some(first) = questions.recv().await else { return };
            held.push_back(first);
        }
        // Meanwhile others come and wait.
        let Ok(permit) = Arc::clone(&under_way).acquire_owned().await else { return };
        // Whoever the last call has answered is to run first: most ask again, and then go along. The larger a call, the less
        // of it each question has to bear, at both ends.
        tokio::task::yield_now().await;
        while let Ok(next) = questions.try_recv() {
            held.push_back(next);
        }
        let batch = gather(&mut held);
        if batch.is_empty() {
            continue;
        }
        let sender = Arc::clone(&sender);
        tokio::spawn(async move {
            sender.send(batch).await;
            drop(permit);
        });
    }
}

/// Takes out what goes into one call with the first that still has time, and drops those that have none.
fn gather(held: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    let now = Instant::now();
    let (mut batch, mut rest, mut keys) = (Vec::new(), Vec::new(), 0);
    let mut together: Option<Together> = None;
    while batch.len() < MAX_OPS && rest.len() < MOST_PASSED {
        let Some(next) = held.pop_front() else { break };
        if next.deadline <= now || next.asker.is_gone() {
            next.asker.answer(Err(Failure::timeout(false)));
            continue;
        }
        let more = next.op.keys();
        let fits = match together {
            None => true,
            Some(of) => of == next.together && !of.asking && keys + more <= MAX_KEYS,
        };
        if !fits {
            rest.push(next);
            continue;
        }
        together = Some(next.together);
        keys += more;
        batch.push(next);
    }
    // They keep their turn.
    rest.into_iter().rev().for_each(|passed| held.push_front(passed));
    batch
}
