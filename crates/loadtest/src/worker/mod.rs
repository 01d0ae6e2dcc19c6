//! One thread of a phase: its streams of requests, its connections, its counts. Threads share nothing while they measure.

mod memory;
mod play;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::arrivals::Arrivals;
use crate::people::Keys;
use crate::tally::Tally;
use crate::target::Target;

pub(crate) use memory::work_in_memory;
pub(crate) use play::work;

/// The classes of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Users.
    Others,
    /// Whoever floods.
    Flood,
}

/// How many classes there are.
pub(crate) const CLASSES: usize = 2;

/// Requests of one kind, as one thread sends them.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) class: Class,
    pub(crate) keys: Keys,
    /// How they come; `None` where each connection asks when it is free.
    pub(crate) arrivals: Option<Arrivals>,
    /// How many are under way at once at most.
    pub(crate) connections: u32,
    /// The first user of this thread, where each has an address of his own and so a connection.
    pub(crate) first_user: u32,
    /// Whether each connection is one user.
    pub(crate) is_by_user: bool,
}

/// What a thread has to do.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) target: &'a Target,
    pub(crate) users: u32,
    pub(crate) streams: Vec<Stream>,
    pub(crate) length: Duration,
    pub(crate) timeout: Duration,
}

/// What threads share: when they begin, whether they are to stop, how far they are.
#[derive(Debug)]
pub(crate) struct Gate {
    barrier: Barrier,
    failed: AtomicBool,
    answered: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Gate {
    /// Makes the gate of so many threads, which are to stop when `stop` says so.
    pub(crate) fn new(threads: usize, stop: &Arc<AtomicBool>) -> Self {
        let (failed, answered) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { barrier: Barrier::new(threads), failed, answered, stop: Arc::clone(stop) }
    }

    /// Waits until all threads are here, and returns whether all can begin.
    fn pass(&self, is_ready: bool) -> bool {
        if !is_ready {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.barrier.wait();
        !self.failed.load(Ordering::Relaxed)
    }

    /// Returns whether threads are to stop.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells that more requests were answered.
    fn answered(&self, more: u64) {
        self.answered.fetch_add(more, Ordering::Relaxed);
    }

    /// Returns how many requests were answered so far.
    pub(crate) fn so_far(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

/// What a thread has counted.
#[derive(Debug)]
pub(crate) struct Worked {
    pub(crate) tallies: [Tally; CLASSES],
    /// How late requests were handed to connections, in nanoseconds.
    pub(crate) slip: Histogram<u64>,
    /// Requests that were due and never sent, since it was told to stop.
    pub(crate) unsent: u64,
    /// The processor's time it used.
    pub(crate) cpu: Duration,
    /// How long it could have run and had no processor.
    pub(crate) starved: Duration,
    /// How long it took, to the last answer.
    pub(crate) elapsed: Duration,
    /// How long it sent.
    pub(crate) sending: Duration,
    /// How many calls its store made meanwhile, of one that makes calls.
    pub(crate) store_calls: Option<u64>,
}

impl Worked {
    pub(crate) fn new(length: u64) -> Result<Self, String> {
        let failed = |error: hdrhistogram::CreationError| error.to_string();
        let tally = || Tally::new(length).map_err(failed);
        Ok(Self {
            tallies: [tally()?, tally()?],
            slip: Histogram::new(3).map_err(failed)?,
            unsent: 0,
            cpu: Duration::ZERO,
            starved: Duration::ZERO,
            elapsed: Duration::ZERO,
            sending: Duration::ZERO,
            store_calls: None,
        })
    }

    #[inline]
    pub(crate) fn of(&mut self, class: Class) -> &mut Tally {
        let [others, flood] = &mut self.tallies;
        match class {
            Class::Others => others,
            Class::Flood => flood,
        }
    }
}
