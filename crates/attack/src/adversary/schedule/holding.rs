//! Keys that are kept full, so that whoever else is counted on them is refused: what a lockout of one and the poisoning of
//! a key that many share have in common.

use tidegate_algorithms::{Span, Timestamp};

use super::super::{Aim, Guard, Play};
use super::books::{Books, reading};
use super::evenly::Callers;
use crate::act::{Act, Actor, Answer, Chance, Outcome, Who};

const SECOND: Span = Span::from_secs(1);
/// So many requests show what holding a key comes to, however fast a limit is that it takes more a day.
pub(crate) const ENOUGH: u64 = 200_000;

/// Asks at every instant at which all limits have a unit free, so that nothing is left for anybody else.
///
/// He reckons with what he has used himself. Units that others take are news to him: he hears of them by a refusal, if he
/// heeds any.
pub(crate) struct InStep {
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
    pub(crate) fn heeding(callers: Callers, aim: &Aim, play: &Play) -> Self {
        let tenth = Guard::slowest(&aim.guards).as_micros() / 10;
        Self { patience: Some(Span::from_micros(tenth.max(1_000))), ..Self::blind(callers, aim, play) }
    }

    /// Heeds nothing: asks when what he asked for before will have been forgotten, had it passed.
    pub(crate) fn blind(callers: Callers, aim: &Aim, play: &Play) -> Self {
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
            copies: aim.setting.stores(),
        }
    }

    /// Takes note of an answer.
    fn hear(&mut self, answer: &Answer, patience: Span) {
        // Where several count apart, one of them refuses what others took there, and the rest is still to be taken.
        if answer.admitted == 0 {
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

/// Returns how long a play goes on that ends with enough requests, `often` as many as the slowest of some limits lets pass.
pub(crate) fn lasts<'g>(guards: impl IntoIterator<Item = &'g Guard>, often: u64, play: &Play) -> Span {
    let each = Guard::slowest(guards).as_micros().checked_div(often).unwrap_or(0).max(1);
    play.length.min(Span::from_micros(each.saturating_mul(ENOUGH)))
}
