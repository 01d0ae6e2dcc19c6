//! Legitimate people: who comes when, mistypes how often, and what a refusal makes them do.
//!
//! They come at random, each by a Poisson process of his own, so that what they meet is what anybody meets who comes at any
//! time. What an attack denies them is measured beside what they are denied without it.

use std::net::IpAddr;

use rand_distr::{Bernoulli, Distribution, Exp1};
use tidegate_algorithms::{Span, Timestamp};

use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat, Who};
use crate::adversary::home;

/// The first session of people's: adversaries count theirs from zero.
const SESSIONS: u32 = 1 << 31;
/// The sessions of one person and of the next begin so far apart: more visits than anybody makes in a simulation.
const VISITS: u32 = 1 << 14;

/// People who want nothing but their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct People {
    /// How many.
    pub count: u32,
    /// The subject of the first; the others' follow. Zero makes him the one whom attacks on one account are about.
    pub first: u32,
    /// The mean time between two visits of one of them; visits come by a Poisson process. A refusal that says to wait for
    /// longer ends the visit.
    pub every: Span,
    /// The chance that a try is wrong, from 0 to 1.
    pub typo: f64,
    /// The most tries of one visit, at least one.
    pub tries: u32,
    /// The mean pause before the next try of a visit, when no refusal says how long to wait; exponential.
    pub think: Span,
    /// How many of them share one address, at least one.
    pub share: u32,
    /// The instant from which they come.
    pub start: Timestamp,
    /// The first instant at which they no longer do.
    pub end: Timestamp,
}

impl People {
    /// Returns a seat for each of them: his own subject, his address or the one he shares.
    pub fn seats(&self) -> Vec<Seat> {
        self.seats_at(home, true)
    }

    /// Returns a seat for each of them, at the address that `address` gives to their home's number. Where no limit tells
    /// sessions apart, all visits of one may be one session: equal requests are planned once.
    pub(crate) fn seats_at(&self, address: impl Fn(u32) -> IpAddr, renews: bool) -> Vec<Seat> {
        let people = *self;
        let seat = |number| {
            let subject = people.first.saturating_add(number);
            // Subjects differ, and so do the homes of those who share none with each other.
            let place = subject.checked_div(people.share.max(1)).unwrap_or(subject);
            Seat::person(Person {
                people,
                who: Who::new(subject, address(place)),
                sessions: SESSIONS | subject.wrapping_mul(VISITS),
                renews,
                visit: people.start,
                left: 0,
                outcome: Outcome::Success,
            })
        };
        (0..self.count).map(seat).collect()
    }
}

/// One of them.
struct Person {
    people: People,
    who: Who,
    /// The session of his first visit; each has its own.
    sessions: u32,
    renews: bool,
    /// When the visit was to begin that he is at.
    visit: Timestamp,
    /// How many tries it has left.
    left: u32,
    /// How the last try was to go.
    outcome: Outcome,
}

impl Actor for Person {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        let at = last.and_then(|answer| self.again(answer, chance)).unwrap_or_else(|| self.come(chance));
        if at >= self.people.end {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        let mistypes = Bernoulli::new(self.people.typo).is_ok_and(|typo| typo.sample(chance));
        self.outcome = if mistypes { Outcome::Failure } else { Outcome::Success };
        Some(Act { guesses: 0, outcome: self.outcome, ..Act::one(at, self.who) })
    }
}

impl Person {
    /// Returns when he tries again in the same visit; `None` when he has what he wants or gives up.
    fn again(&self, answer: &Answer, chance: &mut Chance) -> Option<Timestamp> {
        let is_through = answer.refused == 0 && self.outcome == Outcome::Success;
        if is_through || self.left == 0 {
            return None;
        }
        let told = answer.retry_after.filter(|_| answer.refused > 0);
        // Nobody waits for longer than until he would come again anyway.
        if told.is_some_and(|wait| wait > self.people.every) {
            return None;
        }
        let pause = told.unwrap_or_else(|| exponential(self.people.think, chance));
        Some(answer.at.saturating_add(pause))
    }

    /// Begins the next visit and returns when it is to be.
    fn come(&mut self, chance: &mut Chance) -> Timestamp {
        self.visit = self.visit.saturating_add(exponential(self.people.every, chance));
        self.left = self.people.tries.max(1);
        self.who.session = self.sessions;
        self.sessions = SESSIONS | self.sessions.wrapping_add(self.renews.into());
        self.visit
    }
}

/// Returns a time with that mean, exponentially distributed: how long until something happens that may happen at any time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a time drawn at random is right to many digits, and the conversion saturates"
)]
fn exponential(mean: Span, chance: &mut Chance) -> Span {
    let times: f64 = Exp1.sample(chance);
    Span::from_micros((times * mean.as_micros() as f64).round() as u64)
}

#[cfg(test)]
mod tests;
