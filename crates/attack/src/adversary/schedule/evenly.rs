//! One request every so often, by one caller or by many in turn.

use std::net::IpAddr;

use tidegate_algorithms::{Span, Timestamp};

use super::super::{Aim, Play, VICTIM, address};
use crate::act::{Act, Actor, Answer, Chance, Who};

/// Who asks, one after the other: whatever a limit tells apart that is not to be filled changes from request to request.
#[derive(Debug, Clone)]
pub(crate) struct Callers {
    /// The first subject, and how many follow one another.
    subjects: (u32, u32),
    /// Where they come from, if not from addresses of the adversary's own.
    from: Option<IpAddr>,
    addresses: u32,
    /// Whether each request comes in a session of its own.
    renews: bool,
    turn: u32,
}

impl Callers {
    /// Asks about the victim from his first address, always in the same session.
    pub(crate) fn one() -> Self {
        Self { subjects: (VICTIM, 1), from: None, addresses: 1, renews: false, turn: 0 }
    }

    /// Asks about so many subjects from `first` on in turn, from all addresses he has, and in new sessions where a limit
    /// tells them apart.
    pub(crate) fn about((first, count): (u32, u32), aim: &Aim, play: &Play) -> Self {
        Self {
            subjects: (first, count.max(1)),
            from: None,
            addresses: play.means.addresses.max(1),
            renews: aim.tells_sessions_apart(),
            turn: 0,
        }
    }

    /// Asks from one address only.
    #[must_use]
    pub(crate) fn from(self, address: IpAddr) -> Self {
        Self { from: Some(address), ..self }
    }

    pub(super) fn who(&self) -> Who {
        let (first, count) = self.subjects;
        let in_turn = |count: u32| self.turn.checked_rem(count).unwrap_or(0);
        let from = self.from.unwrap_or_else(|| address(in_turn(self.addresses)));
        let session = if self.renews { self.turn } else { 0 };
        Who { session, ..Who::new(first.saturating_add(in_turn(count)), from) }
    }

    pub(super) fn turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }
}

/// Asks every so often, whatever he is told.
pub(crate) struct Evenly {
    callers: Callers,
    at: Timestamp,
    every: Span,
    end: Timestamp,
}

impl Evenly {
    /// Begins at an instant, and asks no faster than his means are.
    pub(crate) fn new(callers: Callers, at: Timestamp, every: Span, play: &Play) -> Self {
        Self { callers, at, every: every.max(play.means.step()), end: play.end() }
    }
}

impl Actor for Evenly {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let (at, who) = (self.at, self.callers.who());
        self.callers.turn();
        self.at = at.saturating_add(self.every);
        (at < self.end).then(|| Act::one(at, who))
    }
}
