//! Keys that are kept full, so that whoever else is counted on them is refused: what a lockout of one and the poisoning of
//! a key that many share have in common.

use std::net::IpAddr;

use tidegate_algorithms::{Span, Timestamp};

use super::books::{Books, reading};
use super::mirror::unit_time;
use super::rotation::copies;
use super::{Aim, Guard, Play, address};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Who};

const SECOND: Span = Span::from_secs(1);
/// So many requests show what holding a key comes to, however fast a limit is that it takes more a day.
pub(super) const ENOUGH: u64 = 200_000;

/// Who asks, one after the other: whatever a limit tells apart that is not to be filled changes from request to request.
#[derive(Debug, Clone)]
pub(super) struct Callers {
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
    /// Asks about so many subjects from `first` on in turn, from all addresses he has, and in new sessions where a limit
    /// tells them apart.
    pub(super) fn about((first, count): (u32, u32), aim: &Aim, play: &Play) -> Self {
        Self {
            subjects: (first, count.max(1)),
            from: None,
            addresses: play.means.addresses.max(1),
            renews: tells_sessions(aim),
            turn: 0,
        }
    }

    /// Asks from one address only.
    #[must_use]
    pub(super) fn from(self, address: IpAddr) -> Self {
        Self { from: Some(address), ..self }
    }

    fn who(&self) -> Who {
        let (first, count) = self.subjects;
        let in_turn = |count: u32| self.turn.checked_rem(count).unwrap_or(0);
        let from = self.from.unwrap_or_else(|| address(in_turn(self.addresses)));
        let session = if self.renews { self.turn } else { 0 };
        Who { session, ..Who::new(first.saturating_add(in_turn(count)), from) }
    }

    fn turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }
}

/// Asks at every instant at which all limits have a unit free, so that nothing is left for anybody else.
///
/// He reckons with what he has used himself. Units that others take are news to him: he hears of them by a refusal, if he
/// heeds any.
pub(super) struct InStep {
    books: Books,
    callers: Callers,
    /// The first instant at which he may ask next.
    from: Timestamp,
    end: Timestamp,
    /// How long he waits after a refusal that does not say; `None` when he heeds no answer and keeps to his reckoning.
    patience: Option<Span>,
    /// The most requests in a second, when the last began, and how many it has seen.
    rate: u32,
    second: Timestamp,
    made: u32,
    /// How many equal requests he makes at once, one for each store that counts by itself.
    copies: u32,
    asked: Who,
}

impl InStep {
    /// Heeds refusals: what others took he waits for.
    pub(super) fn heeding(callers: Callers, aim: &Aim, play: &Play) -> Self {
        let tenth = unit(&aim.guards).as_micros() / 10;
        Self { patience: Some(Span::from_micros(tenth.max(1_000))), ..Self::blind(callers, aim, play) }
    }

    /// Heeds nothing: asks when what he asked for before will have been forgotten, had it passed.
    pub(super) fn blind(callers: Callers, aim: &Aim, play: &Play) -> Self {
        // A session is new each time, so what it has used is always nothing.
        let counted = aim.guards.iter().filter(|guard| !guard.keyed.session);
        Self {
            books: Books::of(counted, reading(aim)),
            asked: callers.who(),
            callers,
            from: play.start,
            end: play.end(),
            patience: None,
            rate: play.means.rate.max(1),
            second: play.start,
            made: 0,
            copies: copies(aim),
        }
    }

    /// Takes note of an answer.
    fn hear(&mut self, answer: &Answer, patience: Span) {
        if answer.refused > 0 {
            let wait = answer.retry_after.unwrap_or(patience).max(patience);
            self.from = answer.at.saturating_add(wait);
        } else {
            self.books.charge(&self.asked, answer.at, Outcome::Failure);
            self.from = answer.at;
        }
    }

    /// Puts an instant off until his means allow another request.
    fn affordable(&mut self, at: Timestamp) -> Timestamp {
        let next = self.second.saturating_add(SECOND);
        let at = if self.made >= self.rate { at.max(next) } else { at };
        if at >= next {
            (self.second, self.made) = (at, 0);
        }
        self.made = self.made.saturating_add(self.copies);
        at
    }
}

impl Actor for InStep {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        if let (Some(answer), Some(patience)) = (last, self.patience) {
            self.hear(answer, patience);
        }
        self.asked = self.callers.who();
        self.callers.turn();
        let ready = self.books.ready(&self.asked, self.from)?;
        let at = self.affordable(ready);
        if self.patience.is_none() {
            self.books.charge(&self.asked, at, Outcome::Failure);
            self.from = at;
        }
        (at < self.end).then(|| Act::one(at, self.asked).times(self.copies))
    }
}

/// Asks every so often, whatever he is told.
pub(super) struct Evenly {
    callers: Callers,
    at: Timestamp,
    every: Span,
    end: Timestamp,
}

impl Evenly {
    /// Begins at once.
    pub(super) fn new(callers: Callers, every: Span, play: &Play) -> Self {
        // No faster than his means are.
        let fastest = 1_000_000_u64.checked_div(play.means.rate.into()).unwrap_or(1_000_000).max(1);
        Self { callers, at: play.start, every: every.max(Span::from_micros(fastest)), end: play.end() }
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

/// Returns whether a limit tells sessions apart.
pub(super) fn tells_sessions(aim: &Aim) -> bool {
    aim.guards.iter().any(|guard| guard.keyed.session)
}

/// Returns how long a play goes on that ends with enough requests, `often` as many as the slowest of some limits lets pass.
pub(super) fn lasts<'g>(guards: impl IntoIterator<Item = &'g Guard>, often: u64, play: &Play) -> Span {
    let each = unit(guards).as_micros().checked_div(often).unwrap_or(0).max(1);
    play.length.min(Span::from_micros(each.saturating_mul(ENOUGH)))
}

/// Returns the time that a request takes in the long run of the slowest of some limits.
pub(super) fn unit<'g>(guards: impl IntoIterator<Item = &'g Guard>) -> Span {
    let times = guards.into_iter().map(|guard| unit_time(&guard.quota, guard.cost));
    times.max().unwrap_or(SECOND)
}
