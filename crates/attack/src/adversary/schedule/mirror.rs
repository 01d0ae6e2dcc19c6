//! What somebody knows of a key who has read the policy and sees what passes: its state, by the algorithm itself.

use tidegate_algorithms::{Ask, Quota, Span, State, Timestamp, decide, peek};

use super::super::{Aim, Guard, Play, at_victim};
use super::instants::at_once;
use crate::act::{Act, Actor, Answer, Chance};

/// A key's state as it follows from what has passed.
#[derive(Debug)]
pub(crate) struct Mirror {
    quota: Quota,
    cost: u32,
    state: Option<State>,
}

impl Mirror {
    /// Mirrors a fresh key under the guard in focus.
    pub(crate) fn new(aim: &Aim) -> Option<Self> {
        let guard = aim.guard()?;
        Some(Self { quota: guard.quota, cost: guard.cost.max(1), state: None })
    }

    /// Takes note of requests that have passed.
    pub(crate) fn passed(&mut self, answer: &Answer) {
        let units = self.cost.saturating_mul(answer.admitted);
        decide(&self.quota, self.state.as_ref(), Ask::units(units), answer.at).change.apply(&mut self.state);
    }

    /// Returns how many requests pass at an instant.
    pub(crate) fn free(&self, at: Timestamp) -> u32 {
        let left = peek(&self.quota, self.state.as_ref(), Ask::units(self.cost), at).remaining;
        left.checked_div(self.cost).unwrap_or(0)
    }

    /// Returns the first instant from `at` on at which a request passes; `None` for never.
    pub(crate) fn next(&self, at: Timestamp) -> Option<Timestamp> {
        match peek(&self.quota, self.state.as_ref(), Ask::units(self.cost), at).retry() {
            None => Some(at),
            Some(retry) => at.checked_add(retry.wait()?),
        }
    }

    /// Returns when all is forgotten if nothing more passes: the end of a window, or of a lock.
    pub(crate) fn forgotten(&self, at: Timestamp) -> Timestamp {
        at.saturating_add(peek(&self.quota, self.state.as_ref(), Ask::units(0), at).reset_after)
    }
}

/// Asks for all that is free, at every instant at which something is.
#[derive(Debug)]
pub(crate) struct AsFree {
    mirror: Mirror,
    not_before: Timestamp,
    end: Timestamp,
    /// How far after the instant he aims.
    late: Span,
    /// How long he waits after a refusal that he did not expect.
    patience: Span,
}

impl AsFree {
    /// Begins at an instant at a fresh key of the guard in focus; `None` without one.
    pub(crate) fn new(aim: &Aim, from: Timestamp, play: &Play) -> Option<Self> {
        let mirror = Mirror::new(aim)?;
        // The slowest limit is the one that refuses what he does not expect.
        let slowest = Guard::slowest(&aim.guards);
        let patience = (slowest.as_micros() / 50).max(play.jitter.as_micros()).max(1);
        let patience = Span::from_micros(patience);
        Some(Self { mirror, not_before: from, end: play.end(), late: play.jitter, patience })
    }

    /// Returns what is known of the key.
    pub(crate) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Returns the instant before which nothing is asked.
    pub(crate) fn from(&self) -> Timestamp {
        self.not_before
    }

    /// Asks for nothing before an instant.
    pub(crate) fn not_before(&mut self, at: Timestamp) {
        self.not_before = self.not_before.max(at);
    }

    /// Returns how far after an instant he aims.
    pub(crate) fn late(&self) -> Span {
        self.late
    }

    /// Takes note of an answer.
    pub(crate) fn heard(&mut self, answer: &Answer) {
        self.mirror.passed(answer);
        // Another limit refuses, or the requests came early: by this one's they would have passed.
        let wait = match answer.retry_after {
            _ if answer.refused == 0 => Span::ZERO,
            Some(told) => told.max(self.patience),
            None => self.patience,
        };
        self.not_before(answer.at.saturating_add(wait));
    }
}

impl Actor for AsFree {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            self.heard(answer);
        }
        let free = self.mirror.next(self.not_before)?;
        let at = free.saturating_add(self.late);
        let requests = at_once(self.mirror.free(free).max(1));
        (at < self.end).then(|| Act::one(at, at_victim()).times(requests))
    }
}
