//! A thread that asks a store in this process: a call answers at once, so nothing waits but for its time.

use std::sync::Arc;
use std::time::Duration;

use tidegate_algorithms::{Ask, Quota};
use tidegate_store::{Check, LimitId, MemoryStore, Store as _};

use super::{Gate, Job, Stream, Worked};
use crate::arrivals::Arrivals;
use crate::clock::{Clock, nanos};
use crate::door::LIMIT;
use crate::machine;
use crate::outcome::{Fault, Odd, Outcome, Said};
use crate::people::Who;
use crate::tally::Times;

/// Shorter waits are spent looking at the clock: the system would wake us later than that.
const SPUN: u64 = 60_000;
/// So long at most is slept without looking whether to stop.
const LONGEST: u64 = 100_000_000;
/// How often is told how far it is.
const EVERY: u64 = 1_024;

/// Does a thread's part of a phase.
///
/// # Errors
/// In words, when nothing can be counted.
pub(crate) fn work_in_memory(
    job: Job<'_>,
    gate: &Arc<Gate>,
    (store, quota): (&MemoryStore, &Quota),
) -> Result<Worked, String> {
    let worked = Worked::new(nanos(job.length));
    if !gate.pass(worked.is_ok()) {
        return Err(worked.err().unwrap_or_default());
    }
    let asker = Asker { store, quota, limit: store.limit(LIMIT), names: Names::new(job.users) };
    let mut at =
        Work { gate, asker, clock: Clock::start(), length: nanos(job.length), worked: worked?, told: 0 };
    let (used, waited) = (machine::own_thread(), machine::own_waiting());
    let mut streams = job.streams;
    while at.step(&mut streams) {}
    let now = Duration::from_nanos(at.clock.now());
    at.worked.sending = now.min(job.length);
    at.worked.elapsed = now;
    at.worked.cpu = machine::own_thread().saturating_sub(used);
    at.worked.starved = machine::own_waiting().saturating_sub(waited);
    gate.answered(at.told % EVERY);
    Ok(at.worked)
}

struct Work<'a> {
    gate: &'a Gate,
    asker: Asker<'a>,
    clock: Clock,
    length: u64,
    worked: Worked,
    told: u64,
}

impl Work<'_> {
    /// Asks for the stream whose turn it is; `false` at the end.
    fn step(&mut self, streams: &mut [Stream]) -> bool {
        let next = |stream: &Stream| stream.arrivals.as_ref().map_or(0, Arrivals::next);
        let Some(stream) = streams.iter_mut().min_by_key(|stream| next(stream)) else { return false };
        let mut now = self.clock.now();
        let intended = match &stream.arrivals {
            Some(arrivals) => arrivals.next(),
            None => now,
        };
        // A flag that others may write is looked at now and then.
        let is_stopped = self.told.is_multiple_of(EVERY) && self.gate.is_stopped();
        if intended >= self.length || is_stopped {
            return false;
        }
        while intended > now {
            if self.gate.is_stopped() {
                return false;
            }
            wait(intended - now);
            now = self.clock.now();
        }
        let who = stream.keys.next();
        let outcome = self.asker.ask(who);
        let done = self.clock.now();
        let tally = self.worked.of(stream.class);
        tally.offer(intended);
        tally.note(Times { intended, sent: Some(now), done }, outcome);
        if let Some(arrivals) = &mut stream.arrivals {
            let _ = self.worked.slip.record(now - intended);
            arrivals.advance();
        }
        self.told += 1;
        if self.told.is_multiple_of(EVERY) {
            self.gate.answered(EVERY);
        }
        true
    }
}

fn wait(nanos: u64) {
    if nanos > SPUN {
        std::thread::sleep(Duration::from_nanos((nanos - SPUN).min(LONGEST)));
    } else {
        std::hint::spin_loop();
    }
}

/// Asks the store.
struct Asker<'a> {
    store: &'a MemoryStore,
    quota: &'a Quota,
    limit: LimitId,
    names: Names,
}

impl Asker<'_> {
    fn ask(&mut self, who: Who) -> Outcome {
        let key = self.names.of(who);
        let check = Check { limit: self.limit, key, quota: self.quota, ask: Ask::ONE, shadow: false };
        match self.store.decide(&[check], None).now() {
            Some(Ok(decided)) if decided.admitted => Ok(Said::Admitted),
            Some(Ok(_)) => Ok(Said::Refused),
            _ => Err(Fault::Status(Odd::Unread)),
        }
    }
}

/// The names of those who ask, made before anything is measured where that can be.
struct Names {
    users: Vec<Vec<u8>>,
    flood: Vec<u8>,
    other: Vec<u8>,
}

impl Names {
    fn new(users: u32) -> Self {
        let name = |who: Who| who.to_string().into_bytes();
        Self {
            users: (0..users).map(|user| name(Who::User(user))).collect(),
            flood: name(Who::Flood),
            other: Vec::new(),
        }
    }

    fn of(&mut self, who: Who) -> &[u8] {
        match who {
            Who::User(number) => usize::try_from(number)
                .ok()
                .and_then(|number| self.users.get(number))
                .map_or(&[], Vec::as_slice),
            Who::Flood => &self.flood,
            Who::New(_) => {
                use std::io::Write as _;
                self.other.clear();
                // Writing to memory does not fail.
                let _ = write!(self.other, "{who}");
                &self.other
            }
        }
    }
}
