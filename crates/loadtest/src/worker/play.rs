//! A thread that asks over connections: a task for each, and one for each schedule.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, LocalSet, spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use super::{Class, Gate, Job, Stream, Worked};
use crate::arrivals::Arrivals;
use crate::clock::{Alarm, Clock, nanos};
use crate::door::{Connection, Door};
use crate::lane::{Arrival, Lane, Queue};
use crate::machine;
use crate::outcome::{Fault, Outcome};
use crate::people::{Keys, Who};
use crate::run::PATIENCE;
use crate::tally::Times;

/// Below this a wait for the next arrival is not worth a call of the system; what comes a little late is in the slip.
const SHORTEST: u64 = 20_000;
/// So long at most a dispatcher sleeps without looking whether it is to stop.
const LONGEST: u64 = 100_000_000;
/// So many arrivals are sent off before connections get their turn.
const AT_ONCE: u32 = 32;
/// How long a connection of a closed loop rests after it could not be made.
const REST: Duration = Duration::from_millis(10);

/// Does a thread's part of a phase.
///
/// # Errors
/// In words, when the target does not let itself be asked at all.
pub(crate) fn work(job: Job<'_>, gate: &Arc<Gate>) -> Result<Worked, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => LocalSet::new().block_on(&runtime, play(job, gate)),
        Err(error) => {
            gate.pass(false);
            Err(format!("no thread can be used: {error}"))
        }
    }
}

/// What the tasks of a thread share.
struct Shared {
    door: Rc<Door>,
    clock: Clock,
    length: u64,
    timeout: u64,
    gate: Arc<Gate>,
    worked: RefCell<Worked>,
}

/// A lane with its connections, each in its place.
struct Opened {
    lane: Rc<Lane>,
    class: Class,
    connections: Vec<(usize, Option<Connection>)>,
}

/// A schedule with the lanes that its requests go to.
struct Dispatched {
    class: Class,
    keys: Keys,
    arrivals: Arrivals,
    /// Of several, each is a user's.
    lanes: Vec<Rc<Lane>>,
    /// The number of the first user.
    first_user: u32,
}

async fn play(job: Job<'_>, gate: &Arc<Gate>) -> Result<Worked, String> {
    let (length, most) = (nanos(job.length), nanos(job.timeout));
    let ready = async {
        let door = Door::new(job.target, job.users, job.timeout)?;
        let mut opened = Vec::new();
        let mut dispatched = Vec::new();
        for stream in job.streams {
            lay(&door, stream, &mut opened, &mut dispatched).await?;
        }
        Ok((door, opened, dispatched, Worked::new(length)?))
    };
    let ready: Result<_, String> = ready.await;
    if !gate.pass(ready.is_ok()) {
        return Err(ready.err().unwrap_or_default());
    }
    let (door, opened, dispatched, worked) = ready?;
    // Pings have seen to it that a store is there.
    let called = door.calls();
    let (used, waited) = (machine::own_thread(), machine::own_waiting());
    let clock = Clock::start();
    let shared = Rc::new(Shared {
        door,
        clock,
        length,
        timeout: most,
        gate: Arc::clone(gate),
        worked: RefCell::new(worked),
    });
    let asking: Vec<JoinHandle<()>> = opened
        .into_iter()
        .flat_map(|Opened { lane, class, connections }| {
            let shared = &shared;
            connections.into_iter().map(move |(place, kept)| {
                spawn_local(Rc::clone(shared).ask_all(Rc::clone(&lane), class, place, kept))
            })
        })
        .collect();
    let sending: Vec<JoinHandle<()>> =
        dispatched.into_iter().map(|one| spawn_local(Rc::clone(&shared).dispatch(one))).collect();
    for task in sending.into_iter().chain(asking) {
        task.await.map_err(|error| format!("a task ended early: {error}"))?;
    }
    let store_calls = shared.door.calls().zip(called).map(|(after, before)| after.saturating_sub(before));
    let mut worked = Rc::try_unwrap(shared).map_err(|_| "a task is left".to_owned())?.worked.into_inner();
    worked.store_calls = store_calls;
    worked.cpu = machine::own_thread().saturating_sub(used);
    worked.starved = machine::own_waiting().saturating_sub(waited);
    worked.elapsed = Duration::from_nanos(clock.now());
    Ok(worked)
}

/// Opens the connections of a stream, before anything is measured.
async fn lay(
    door: &Rc<Door>,
    stream: Stream,
    opened: &mut Vec<Opened>,
    dispatched: &mut Vec<Dispatched>,
) -> Result<(), String> {
    let Stream { class, keys, arrivals, connections, first_user, is_by_user } = stream;
    let user = |index: u32| Who::User(first_user.wrapping_add(index));
    let lane = |keys: &Keys| match arrivals {
        Some(_) => Rc::new(Lane::Open(Queue::default())),
        None => Rc::new(Lane::Closed(RefCell::new(keys.clone()))),
    };
    let first = opened.iter().map(|one| one.connections.len()).sum::<usize>();
    let common = lane(&keys);
    let mut lanes = Vec::new();
    for index in 0..connections {
        let place = first + usize::try_from(index).unwrap_or(0);
        let (lane, who) = if is_by_user {
            let who = user(index);
            (lane(&Keys::One(who)), who)
        } else {
            (Rc::clone(&common), keys.clone().next())
        };
        let mut kept = None;
        // A key that comes once may need a connection of its own, which is made when it comes.
        if !matches!(keys, Keys::New { .. }) {
            let made = timeout(PATIENCE, door.connection(&mut kept, (place, who))).await;
            if !matches!(made, Ok(Ok(_))) {
                return Err("it does not answer".to_owned());
            }
        }
        lanes.push(Rc::clone(&lane));
        opened.push(Opened { lane, class, connections: vec![(place, kept)] });
    }
    if !is_by_user {
        lanes.truncate(1);
    }
    if let Some(arrivals) = arrivals {
        dispatched.push(Dispatched { class, keys, arrivals, lanes, first_user });
    }
    Ok(())
}

impl Shared {
    /// Hands requests to connections when it is time.
    async fn dispatch(self: Rc<Self>, to: Dispatched) {
        let Dispatched { class, mut keys, mut arrivals, lanes, first_user } = to;
        let alarm = Alarm::new();
        let mut in_a_row = 0;
        while arrivals.next() < self.length && !self.gate.is_stopped() {
            let (intended, now) = (arrivals.next(), self.clock.now());
            if intended > now {
                let wait = (intended - now).clamp(SHORTEST, LONGEST);
                alarm.sleep(Duration::from_nanos(wait)).await;
                in_a_row = 0;
                continue;
            }
            {
                let mut worked = self.worked.borrow_mut();
                // A histogram that grows takes any value.
                let _ = worked.slip.record(now - intended);
                worked.of(class).offer(intended);
            }
            let who = keys.next();
            if let Some(Lane::Open(queue)) = lane_of(&lanes, first_user, who).map(|lane| &**lane) {
                queue.push(Arrival { intended, who });
            }
            arrivals.advance();
            in_a_row += 1;
            if in_a_row == AT_ONCE {
                in_a_row = 0;
                yield_now().await;
            }
        }
        self.end_sending();
        let mut unsent = 0;
        for lane in &lanes {
            if let Lane::Open(queue) = &**lane {
                if self.gate.is_stopped() {
                    unsent += queue.clear();
                }
                queue.end();
            }
        }
        self.worked.borrow_mut().unsent += unsent;
    }

    fn end_sending(&self) {
        let now = Duration::from_nanos(self.clock.now().min(self.length));
        let mut worked = self.worked.borrow_mut();
        worked.sending = worked.sending.max(now);
    }

    /// Returns what a connection is to ask next; `None` at the end.
    async fn next(&self, lane: &Lane, class: Class) -> Option<Arrival> {
        match lane {
            Lane::Open(queue) => queue.pop().await,
            Lane::Closed(keys) => {
                let intended = self.clock.now();
                if intended >= self.length || self.gate.is_stopped() {
                    self.end_sending();
                    return None;
                }
                self.worked.borrow_mut().of(class).offer(intended);
                Some(Arrival { intended, who: keys.borrow_mut().next() })
            }
        }
    }

    /// Asks for one request after the other over a connection.
    async fn ask_all(
        self: Rc<Self>,
        lane: Rc<Lane>,
        class: Class,
        place: usize,
        mut kept: Option<Connection>,
    ) {
        let is_closed = matches!(*lane, Lane::Closed(_));
        while let Some(arrival) = self.next(&lane, class).await {
            // In a closed loop a request is sent when it is meant to be.
            let now = if is_closed { arrival.intended } else { self.clock.now() };
            let left = arrival.intended.saturating_add(self.timeout).saturating_sub(now);
            let outcome = if left == 0 {
                // Whoever would have sent it has given up.
                Err(Fault::Timeout)
            } else {
                let asked = self.ask(&mut kept, place, arrival.who);
                timeout(Duration::from_nanos(left), asked).await.unwrap_or(Err(Fault::Timeout))
            };
            if left > 0
                && matches!(outcome, Err(Fault::Timeout | Fault::Reset))
                && !matches!(kept, Some(Connection::Shared))
            {
                kept = None;
            }
            let sent = (left > 0).then_some(now);
            let times = Times { intended: arrival.intended, sent, done: self.clock.now() };
            self.worked.borrow_mut().of(class).note(times, outcome);
            self.gate.answered(1);
            if is_closed && outcome == Err(Fault::Connect) {
                sleep(REST).await;
            }
        }
    }

    async fn ask(&self, kept: &mut Option<Connection>, place: usize, who: Who) -> Outcome {
        let connection = self.door.connection(kept, (place, who)).await?;
        self.door.ask(connection, who).await
    }
}

/// Returns the lane of somebody: the one there is, or his.
fn lane_of(lanes: &[Rc<Lane>], first_user: u32, who: Who) -> Option<&Rc<Lane>> {
    let index = match who {
        Who::User(number) if lanes.len() > 1 => {
            usize::try_from(number.wrapping_sub(first_user)).ok()? % lanes.len()
        }
        _ => 0,
    };
    lanes.get(index)
}
