//! Whom requests reached, and who reached nothing.

use std::collections::{HashMap, HashSet};

use super::PeopleSeen;

/// So many subjects are told apart, in some 40 MB; what comes after is not counted.
pub(super) const MOST_SUBJECTS: usize = 1 << 22;

/// The subjects of guesses.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    distinct: HashSet<u32>,
    last: Option<u32>,
}

impl Subjects {
    pub(super) fn reached(&mut self, subject: u32) {
        // Most attacks stay at one, and a hash for every guess is not free.
        if self.last != Some(subject) && self.distinct.len() < MOST_SUBJECTS {
            self.distinct.insert(subject);
        }
        self.last = Some(subject);
    }

    pub(super) fn count(&self) -> u64 {
        u64::try_from(self.distinct.len()).unwrap_or(u64::MAX)
    }
}

/// People by their seats, each with whether a request of his ever passed.
#[derive(Debug, Default)]
pub(super) struct People {
    seats: HashMap<usize, bool>,
    tries: u64,
    denied: u64,
}

impl People {
    pub(super) fn tried(&mut self, seat: usize, admitted: bool) {
        *self.seats.entry(seat).or_default() |= admitted;
        self.tries = self.tries.saturating_add(1);
        self.denied = self.denied.saturating_add(u64::from(!admitted));
    }

    pub(super) fn seen(&self) -> PeopleSeen {
        let count = |people: usize| u64::try_from(people).unwrap_or(u64::MAX);
        PeopleSeen {
            tries: self.tries,
            denied: self.denied,
            people: count(self.seats.len()),
            shut_out: count(self.seats.values().filter(|passed| !**passed).count()),
        }
    }
}
