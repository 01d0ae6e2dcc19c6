//! What an attack comes to, over every instant at which something was admitted.

use tidegate_algorithms::{LongRun, Span, Timestamp};

use crate::act::Role;
use crate::simulate::Event;
use crate::world::{Operations, World};

/// What is measured.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// When the attack begins.
    pub start: Timestamp,
    /// How long it goes on.
    pub length: Span,
    /// The half-open spans whose fullest is looked for.
    pub spans: Vec<Span>,
    /// The times from the first request within which is counted (closed).
    pub first: Vec<Span>,
    /// The rate that the envelope is drawn at: that of the long run.
    pub rate: LongRun,
    /// The numbers of guesses whose instants are wanted, ascending.
    pub guesses: Vec<u64>,
}

/// How many requests passed in a span, and the most that may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct InSpan {
    /// The span, in microseconds.
    pub micros: u64,
    /// How many passed; those that were decided without the store are not among them.
    pub seen: u64,
    /// The most that the limits let pass by their closed forms; `None` when nothing limits.
    pub bound: Option<u128>,
}

impl InSpan {
    /// Returns whether more passed than can have: a fault of ours.
    pub fn is_exceeded(&self) -> bool {
        self.bound.is_some_and(|bound| u128::from(self.seen) > bound)
    }
}

/// What people met beside the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PeopleSeen {
    /// Requests of people.
    pub tries: u64,
    /// How many of them were refused.
    pub denied: u64,
    /// How many people wanted something.
    pub people: u64,
    /// How many of them never got through.
    pub shut_out: u64,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Measured {
    /// The adversary's requests.
    pub requests: u64,
    /// How many passed.
    pub admitted: u64,
    /// How many guesses those carried.
    pub guesses: u64,
    /// How many passed that were decided without the store.
    pub without_store: u64,
    /// The fullest half-open spans.
    pub peaks: Vec<InSpan>,
    /// What passed within closed times from the first request.
    pub first: Vec<InSpan>,
    /// The least σ for which no span s held more than σ + ρ·s, ρ being the rate of the long run.
    pub envelope: u64,
    /// How many passed in the second half of the attack, and the length of that half in microseconds.
    pub sustained: (u64, u64),
    /// The times in microseconds after the first request at which the wanted guesses were made, as far as they were.
    pub times: Vec<Option<u64>>,
    /// How many subjects were reached by a guess.
    pub subjects: u64,
    /// What people met.
    pub people: PeopleSeen,
    /// The adversary's admitted requests as time in microseconds after the start and count so far, thinned out for a drawing.
    pub curve: Vec<(u64, u64)>,
    /// The most keys and bytes that stores held at the end.
    pub state: (u64, u64),
    /// What the stores were asked for.
    #[serde(skip)]
    pub operations: Operations,
}

/// Measures an attack while it goes on.
#[derive(Debug)]
pub struct Measure {
    wanted: Wanted,
    measured: Measured,
}

impl Measure {
    /// Begins.
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, measured: Measured::default() }
    }

    /// Takes a request in.
    pub fn event(&mut self, event: &Event) {
        if event.role == Role::Adversary {
            self.measured.requests += 1;
            self.measured.admitted += u64::from(event.admitted);
        }
    }

    /// Returns what was measured, with the bounds of what was touched in the world.
    pub fn finish(mut self, world: &World) -> Measured {
        let _ = &self.wanted;
        self.measured.operations = world.operations();
        self.measured
    }
}
