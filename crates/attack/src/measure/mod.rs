//! What an attack comes to, over every instant at which something was admitted.

mod beyond;
mod curve;
mod envelope;
mod guess;
mod measured;
mod reached;
mod spans;

use tidegate_algorithms::{LongRun, Span, Timestamp};
use tidegate_review::{DAY, Guess, float};

use crate::act::Role;
use crate::simulate::Event;
use crate::world::{Exposure, World};

pub use guess::{Guessing, guess_numbers};
pub use measured::{InSpan, Measured, PeopleSeen};

use curve::{Curve, Point};
use envelope::Envelope;
use guess::Guesser;
use reached::{People, Subjects};
use spans::Fullest;

/// So long a time that what is admitted in it is the long run: 142 years.
const LONG_RUN: Span = Span::from_micros(1 << 52);
/// So many windows of its limits an attack has to last for its half to tell what it sustains.
const SETTLED_WINDOWS: u64 = 4;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// When the attack begins.
    pub start: Timestamp,
    /// How long it goes on; what is decided after that is not measured.
    pub length: Span,
    /// The half-open spans whose fullest is looked for.
    pub spans: Vec<Span>,
    /// The times from the first request within which is counted (closed).
    pub first: Vec<Span>,
    /// The rate that the envelope is drawn at: that of the long run.
    pub rate: LongRun,
    /// The longest window of the limits, lock of a lockout, or time that a bucket takes to fill.
    pub window: Span,
    /// Whether nobody was at the limits before the adversary, but for people who are told of in events: then what passes
    /// within a time from his first request is held to the bound from idle.
    pub is_first: bool,
    /// The numbers of guesses whose instants are wanted, ascending.
    pub guesses: Vec<u64>,
    /// The code that is guessed at, if times to a hit are wanted.
    pub guess: Option<Guess>,
}

impl Wanted {
    fn end(&self) -> Timestamp {
        self.start.saturating_add(self.length)
    }

    /// Returns the instant at which the second half begins.
    fn middle(&self) -> Timestamp {
        self.start.saturating_add(Span::from_micros(self.length.as_micros() / 2))
    }
}

/// Measures an attack while it goes on.
///
/// What it keeps does not grow with the attack: the instants that lie in the longest wanted span which is shorter than the
/// attack (16 bytes for each at which something passed), 2,000 points of the curve, a number for each of 2^22 subjects at
/// most, and one for each person.
#[derive(Debug)]
pub struct Measure {
    wanted: Wanted,
    measured: Measured,
    /// The instant of the last event.
    now: Timestamp,
    /// The instant of the adversary's first request.
    begun: Option<Timestamp>,
    fullest: Fullest,
    /// What passed within each of the wanted times from the first request.
    first: Vec<u64>,
    envelope: Envelope,
    curve: Curve,
    /// How many guesses passed that were decided without the store.
    without_store: u64,
    /// How many requests and guesses passed without the store before the half of the attack.
    before_half: (u64, u64),
    guesser: Option<Guesser>,
    subjects: Subjects,
    people: People,
}

impl Measure {
    /// Begins.
    pub fn new(wanted: Wanted) -> Self {
        let times = vec![None; wanted.guesses.len()];
        Self {
            measured: Measured { times, ..Measured::default() },
            now: Timestamp::EPOCH,
            begun: None,
            fullest: Fullest::new(&wanted.spans, wanted.end()),
            first: vec![0; wanted.first.len()],
            envelope: Envelope::new(wanted.rate),
            curve: Curve::new(),
            without_store: 0,
            before_half: (0, 0),
            guesser: wanted.guess.map(Guesser::new),
            subjects: Subjects::default(),
            people: People::default(),
            wanted,
        }
    }

    /// Takes a request in. They come in the order of their instants; one that does not counts at the instant of the one
    /// before it.
    pub fn event(&mut self, event: &Event) {
        let at = event.at.max(self.now);
        if at >= self.wanted.end() {
            return;
        }
        self.now = at;
        match event.role {
            Role::Person => self.people.tried(event.seat, event.admitted),
            Role::Adversary => {
                self.measured.requests = self.measured.requests.saturating_add(1);
                let begun = *self.begun.get_or_insert(at);
                if event.admitted {
                    self.admitted(event, at, at.saturating_since(begun));
                }
            }
        }
    }

    /// Takes in a request of the adversary's that passed, at an instant and so long after his first.
    fn admitted(&mut self, event: &Event, at: Timestamp, after: Span) {
        let guesses = u64::from(event.guesses);
        let measured = &mut self.measured;
        measured.admitted = measured.admitted.saturating_add(1);
        measured.guesses = measured.guesses.saturating_add(guesses);
        if at >= self.wanted.middle() {
            measured.sustained.0 = measured.sustained.0.saturating_add(1);
            measured.sustained_guesses = measured.sustained_guesses.saturating_add(guesses);
        }
        if event.degraded {
            measured.without_store = measured.without_store.saturating_add(1);
            self.without_store = self.without_store.saturating_add(guesses);
        }
        let without_store = (measured.without_store, self.without_store);
        let point = Point { at, admitted: measured.admitted, guesses: measured.guesses, without_store };
        if at < self.wanted.middle() {
            self.before_half = without_store;
        }
        self.curve.passed(point);
        if !event.degraded {
            self.fullest.passed(at);
            self.envelope.passed(at);
            for (span, count) in self.wanted.first.iter().zip(&mut self.first) {
                *count = count.saturating_add(u64::from(after <= *span));
            }
        }
        if guesses > 0 {
            self.guessed(event.who.subject, guesses, after);
        }
    }

    fn guessed(&mut self, subject: u32, guesses: u64, after: Span) {
        self.subjects.reached(subject);
        if let Some(guesser) = &mut self.guesser {
            guesser.made(guesses, after);
        }
        let made = self.measured.guesses;
        for (number, time) in self.wanted.guesses.iter().zip(&mut self.measured.times) {
            if *number > made {
                break;
            }
            time.get_or_insert(after.as_micros());
        }
    }

    /// Takes in that the attack ended, if that was earlier than wanted.
    pub fn ended(&mut self, at: Timestamp) {
        if at >= self.wanted.end() {
            return;
        }
        let went_on = at.saturating_since(self.wanted.start);
        self.wanted.length = went_on;
        let before = self.curve.before(self.wanted.middle());
        let measured = &mut self.measured;
        measured.ended = Some(went_on.as_micros());
        measured.sustained.0 = measured.admitted.saturating_sub(before.admitted);
        measured.sustained.1 = at.saturating_since(before.at).as_micros();
        measured.sustained_guesses = measured.guesses.saturating_sub(before.guesses);
        self.before_half = before.without_store;
    }

    /// Returns what was measured in a world, with the bounds of what was touched there: by all adversaries, or by the one who
    /// was measured ([`World::exposure`], [`World::exposure_of`]).
    pub fn finish(self, world: &World, touched: &Exposure) -> Measured {
        let (keys, bytes) = world.usage();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let mut measured = self.closed(touched);
        measured.state = (count(keys), count(bytes));
        measured.operations = world.operations();
        measured
    }

    /// Returns what was measured of requests that touched so much.
    fn closed(self, exposure: &Exposure) -> Measured {
        let Self { wanted, mut measured, .. } = self;
        if measured.ended.is_none() {
            measured.sustained.1 = wanted.end().saturating_since(wanted.middle()).as_micros();
        }
        let peak = |(span, seen): (Span, u64)| InSpan {
            micros: span.as_micros(),
            seen,
            bound: exposure.most_in_half_open(span),
        };
        let [requests, guesses] =
            [(measured.without_store, self.before_half.0), (self.without_store, self.before_half.1)]
                .map(|(all, before)| all.saturating_sub(before));
        measured.sustained_without_store = (requests, guesses);
        measured.peaks = self.fullest.most().map(peak).collect();
        measured.people = self.people.seen();
        // Who comes after others does not find fresh states: a window that they opened may end just after he begins.
        let is_from_idle = wanted.is_first && measured.people.tries == 0;
        let within = |span: Span| {
            if is_from_idle {
                return exposure.most_from_idle(span);
            }
            // A closed span holds one microsecond more than a half-open one.
            exposure.most_in_half_open(Span::from_micros(span.as_micros().saturating_add(1)))
        };
        let first =
            |(span, seen): (&Span, u64)| InSpan { micros: span.as_micros(), seen, bound: within(*span) };
        let seen = wanted.first.iter().zip(self.first).filter(|(span, _)| **span <= wanted.length);
        measured.first = seen.map(first).collect();
        measured.most_per_day = exposure.most_from_idle(LONG_RUN).map(long_run_a_day);
        let half = wanted.start.saturating_add(wanted.length);
        let half = Timestamp::saturating_from_micros(half.as_micros().saturating_sub(measured.sustained.1));
        let settled = exposure.most_from_idle_settled(LONG_RUN, half);
        measured.settled_per_day = settled.map(long_run_a_day);
        let settled = wanted.window.as_micros().saturating_mul(SETTLED_WINDOWS);
        measured.is_short = wanted.length.as_micros() < settled;
        let micros = |at: Timestamp| at.saturating_since(wanted.start).as_micros();
        measured.begun = self.begun.map_or(0, micros);
        measured.envelope = self.envelope.sigma();
        measured.rate_per_second = float(wanted.rate.units) * 1e6 / float(wanted.rate.micros.max(1));
        measured.bounds = drawn_bounds(within, wanted.length);
        measured.subjects = self.subjects.count();
        measured.curve = self.curve.points().map(|point| (micros(point.at), point.admitted)).collect();
        measured.guessing = self.guesser.map(Guesser::finish);
        measured
    }
}

/// Returns the bound over closed times from the first request, 24 for each power of ten, for a drawing.
fn drawn_bounds(within: impl Fn(Span) -> Option<u128>, length: Span) -> Vec<(u64, u128)> {
    const SHORTEST: f64 = 1e5;
    let most = |micros: u64| Some((micros, within(Span::from_micros(micros))?));
    let length = length.as_micros();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
    let spread = (0..=240_u32).map(|step| (SHORTEST * 10_f64.powf(f64::from(step) / 24.0)).round() as u64);
    let times = std::iter::once(0).chain(spread.filter(|at| *at < length)).chain([length]);
    times.filter_map(most).collect()
}

/// Returns what is admitted in the long run as a rate a day.
fn long_run_a_day(most: u128) -> f64 {
    float(most) * float(DAY.as_micros()) / float(LONG_RUN.as_micros())
}

#[cfg(test)]
mod tests;
