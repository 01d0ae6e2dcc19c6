//! Asking on throw-away accounts.

use tidegate_algorithms::{Span, Timestamp};

use super::super::{Means, OWN, address};
use crate::act::{Act, Answer, Who};

/// Between two polls of an account passes so small a part of the time since it was emptied.
const FINENESS: u64 = 256;

/// Accounts of the adversary's own, of which there are as many as he likes.
#[derive(Debug)]
pub(super) struct Accounts {
    next: u32,
    addresses: u32,
}

impl Accounts {
    pub(super) fn new(means: Means) -> Self {
        Self { next: 0, addresses: means.addresses }
    }

    /// Returns one that was never used, from an address that the attack itself does not come from, if he has more than one.
    pub(super) fn fresh(&mut self) -> Who {
        let index = self.next;
        self.next = index.wrapping_add(1);
        let others = self.addresses.saturating_sub(1);
        let from = index.checked_rem(others).map_or(0, |index| index.saturating_add(1));
        Who::new(OWN.saturating_add(index), address(from))
    }
}

/// What a step of somebody who finds something out comes to.
pub(super) enum Said<T> {
    /// He does this, and goes on with the answer to it.
    Does(Act),
    /// He knows.
    Knows(T),
    /// He will not know.
    GivesUp,
}

impl<T> Said<T> {
    /// Goes on with what he knows.
    pub(super) fn then<U>(self, on: impl FnOnce(T) -> Said<U>) -> Said<U> {
        match self {
            Self::Does(act) => Said::Does(act),
            Self::Knows(known) => on(known),
            Self::GivesUp => Said::GivesUp,
        }
    }
}

/// Something happened after an instant, and by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Between {
    pub(super) after: Timestamp,
    pub(super) by: Timestamp,
}

/// Returns requests that guess nothing.
pub(super) fn ask(at: Timestamp, who: Who, requests: u32) -> Act {
    Act { guesses: 0, ..Act::one(at, who).times(requests) }
}

/// How often an account is asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// Every so many microseconds.
    Every(u64),
    /// The more rarely the longer it is since an instant.
    Since(Timestamp),
}

/// Asks an account until something passes.
#[derive(Debug)]
pub(super) struct Poller {
    pub(super) who: Who,
    /// The last instant at which nothing passed.
    pub(super) last: Timestamp,
    pub(super) pace: Pace,
}

impl Poller {
    pub(super) fn next(&self) -> Act {
        let step = match self.pace {
            Pace::Every(micros) => micros,
            Pace::Since(origin) => self.last.saturating_since(origin).as_micros() / FINENESS,
        };
        ask(self.last.saturating_add(Span::from_micros(step.max(1))), self.who, 1)
    }

    /// Takes an answer in, and returns when something passed.
    pub(super) fn heard(&mut self, answer: &Answer) -> Option<Between> {
        if answer.admitted > 0 {
            return Some(Between { after: self.last, by: answer.at });
        }
        self.last = self.last.max(answer.at);
        None
    }
}
