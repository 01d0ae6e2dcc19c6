//! The simulation: an event queue in virtual time, from which requests go to a [`World`] and answers back to their actors.
//!
//! Nothing here reads a clock. Instants are whole microseconds; of two events at one instant the one that was queued first
//! comes first, so a seed and a list of seats are one course of events, on every machine. Every seat has its own stream of
//! chance: another seat more changes nothing of the others'.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use tidegate_algorithms::{Span, Timestamp};

use crate::act::{Act, Answer, Chance, Outcome, Role, Seat, Who};
use crate::world::{Incident, World};

/// One request, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When it was decided, by the simulation's own clock.
    pub at: Timestamp,
    /// The index of the seat that made it.
    pub seat: usize,
    /// Whose it was.
    pub role: Role,
    /// Whom it was about and where it came from.
    pub who: Who,
    /// How many guesses it carried.
    pub guesses: u32,
    /// What the service would answer.
    pub outcome: Outcome,
    /// Whether it passed.
    pub admitted: bool,
    /// Whether it was decided without the store.
    pub degraded: bool,
    /// How long it was held before it went on.
    pub delay: Span,
}

/// How far a simulation goes.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// The first instant that no longer belongs to it.
    pub until: Timestamp,
    /// The most requests that are made in it; a simulation that reaches them ends there.
    pub most_requests: u64,
    /// Where its chance begins.
    pub seed: u64,
}

/// How a simulation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Played {
    /// How many requests were made.
    pub requests: u64,
    /// The instant at which it ended: the course's, or that of the last request if there were too many.
    pub ended: Timestamp,
}

/// What waits in the queue.
enum Next {
    Act(usize, Act),
    Incident(Incident),
}

/// An event to come, ordered by its instant and then by when it was queued.
struct Queued {
    at: Timestamp,
    order: u64,
    next: Next,
}

/// Plays seats and incidents against a world, and tells `sink` of every request.
pub fn simulate(
    world: &mut World,
    seats: Vec<Seat>,
    incidents: Vec<Incident>,
    course: Course,
    sink: &mut dyn FnMut(&Event),
) -> Played {
    let mut run = Run::new(seats, course);
    for incident in incidents {
        run.queue(incident.at, Next::Incident(incident));
    }
    for seat in 0..run.seats.len() {
        run.ask(seat, None, Timestamp::saturating_from_micros(0));
    }
    run.play(world, sink)
}

struct Run {
    seats: Vec<(Seat, Chance)>,
    heap: BinaryHeap<Reverse<Queued>>,
    order: u64,
    course: Course,
    requests: u64,
}

impl Run {
    fn new(seats: Vec<Seat>, course: Course) -> Self {
        let seeded = |(index, seat)| (seat, stream(course.seed, index));
        let seats = (0_u64..).zip(seats).map(seeded).collect();
        Self { seats, heap: BinaryHeap::new(), order: 0, course, requests: 0 }
    }

    fn queue(&mut self, at: Timestamp, next: Next) {
        self.heap.push(Reverse(Queued { at, order: self.order, next }));
        self.order = self.order.wrapping_add(1);
    }

    /// Asks a seat what it does next and queues it, at `now` at the earliest.
    fn ask(&mut self, index: usize, last: Option<&Answer>, now: Timestamp) {
        let Some((seat, chance)) = self.seats.get_mut(index) else { return };
        let Some(act) = seat.actor.next(last, chance) else { return };
        let at = off(act.at, seat.jitter, chance).max(now);
        self.queue(at, Next::Act(index, act));
    }

    fn play(mut self, world: &mut World, sink: &mut dyn FnMut(&Event)) -> Played {
        while let Some(Reverse(Queued { at, next, .. })) = self.heap.pop() {
            if at >= self.course.until {
                break;
            }
            match next {
                Next::Incident(incident) => world.happens(&incident),
                Next::Act(index, act) => {
                    let answer = self.request(world, (index, at), &act, sink);
                    if self.requests >= self.course.most_requests {
                        return Played { requests: self.requests, ended: at };
                    }
                    self.ask(index, Some(&answer), at);
                }
            }
        }
        Played { requests: self.requests, ended: self.course.until }
    }

    /// Makes the requests of an act at an instant.
    fn request(
        &mut self,
        world: &mut World,
        (seat, at): (usize, Timestamp),
        act: &Act,
        sink: &mut dyn FnMut(&Event),
    ) -> Answer {
        let by = self.seats.get(seat).map(|(seat, _)| seat);
        let is_learning = by.is_some_and(|seat| seat.actor.is_learning());
        // What is not measured is held against no bound, and touches none.
        let role = by.filter(|_| !is_learning).map_or(Role::Person, |seat| seat.role);
        let party = by.map_or(0, |seat| seat.party);
        let mut answer = Answer { at, admitted: 0, refused: 0, retry_after: None, degraded: false };
        for _ in 0..act.requests {
            self.requests = self.requests.saturating_add(1);
            let seen = world.request_of(at, &act.who, act.outcome, (role, party));
            if seen.admitted {
                answer.admitted = answer.admitted.saturating_add(1);
            } else {
                answer.refused = answer.refused.saturating_add(1);
                answer.retry_after = seen.retry_after;
            }
            answer.degraded = seen.degraded;
            if is_learning {
                continue;
            }
            sink(&Event {
                at,
                seat,
                role,
                who: act.who,
                guesses: act.guesses,
                outcome: act.outcome,
                admitted: seen.admitted,
                degraded: seen.degraded,
                delay: seen.delay,
            });
        }
        answer
    }
}

/// Returns the stream of chance of one seat.
fn stream(seed: u64, index: u64) -> Chance {
    // An odd multiplier keeps the streams of neighbouring seeds and seats apart.
    Chance::seed_from_u64(seed ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns an instant near one, by a normal distribution.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "jitters are seconds at most"
)]
fn off(at: Timestamp, jitter: Span, chance: &mut Chance) -> Timestamp {
    if jitter == Span::ZERO {
        return at;
    }
    let Ok(normal) = Normal::new(0.0, jitter.as_micros() as f64) else { return at };
    let micros = at.as_micros().saturating_add_signed(normal.sample(chance).round() as i64);
    Timestamp::saturating_from_micros(micros)
}

impl Queued {
    fn place(&self) -> (Timestamp, u64) {
        (self.at, self.order)
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Queued {}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}
