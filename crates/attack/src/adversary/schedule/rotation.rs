//! Rotation: somebody who changes a coordinate of his requests as soon as limits hold what he was before.
//!
//! A limit holds a key, and a key is made of coordinates. Whoever may choose one, his address, his session, the spelling of a
//! name, has as many keys as there are values of it. He keeps [`Books`] on all of them and asks only where he is let
//! through, so a play costs about as many requests as pass.

mod axis;

use tidegate_algorithms::{Span, Timestamp};

use super::super::{Aim, Beside, Guard, Play, VICTIM};
use super::books::{Books, reading};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Who};

use axis::Axis;
pub(crate) use axis::{Order, Vary};

/// The most requests of one play: a day of one hundred clients at a limit of five in 30 seconds each.
pub(crate) const MOST_REQUESTS: u64 = 1_500_000;
/// So long he goes on at his full rate where nothing holds him; what comes after would be the same.
const AT_FULL_RATE: u64 = 60;
/// Refused for no reason that stands in his books, he waits so long.
const PAUSE: Span = Span::from_secs(1);
/// So many pairs of values are looked at for one that is let through; the best of them is taken.
const MOST_LOOKS: u32 = 64;

/// Somebody who rotates.
pub(crate) struct Rotation {
    pub(crate) books: Books,
    /// What does not change.
    pub(crate) base: Who,
    axes: Vec<Axis>,
    /// The limits that no change of a coordinate leads around, and those that each pair of values has by itself.
    fixed: Vec<usize>,
    crossed: Vec<usize>,
    /// The next instant at which his means let him send.
    pub(crate) free: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) gap: Span,
    /// How many equal requests he makes at once, one for each store that counts by itself.
    pub(crate) copies: u32,
    guesses: u32,
    sent: Option<Sent>,
}

/// What was sent last.
struct Sent {
    who: Who,
    picks: Vec<u32>,
}

impl Rotation {
    /// Prepares somebody who knows the limits and changes nothing yet.
    pub(crate) fn new(aim: &Aim, play: &Play, base: Who) -> Self {
        Self::knowing(Books::of(&aim.guards, reading(aim)), aim, play, base)
    }

    /// Prepares somebody with books of his own.
    pub(crate) fn knowing(books: Books, aim: &Aim, play: &Play, base: Who) -> Self {
        let copies = aim.setting.stores();
        let gap = play.means.time_for(copies.into()).max(Span::from_micros(1));
        Self {
            fixed: (0..books.len()).collect(),
            books,
            base,
            axes: Vec::new(),
            crossed: Vec::new(),
            free: play.start,
            end: play.end(),
            gap,
            copies,
            guesses: 1,
            sent: None,
        }
    }

    /// Changes a coordinate over so many values.
    #[must_use]
    pub(crate) fn over(mut self, vary: Vary, count: u32, order: Order) -> Self {
        self.axes.push(Axis::new(vary, count.max(1), order));
        self.sort_limits();
        self
    }

    /// Puts so many guesses into each request.
    #[must_use]
    pub(crate) fn guessing(self, guesses: u32) -> Self {
        Self { guesses, ..self }
    }

    /// Sorts limits by what leads around them: nothing, one coordinate, or any of several.
    fn sort_limits(&mut self) {
        self.fixed.clear();
        self.crossed.clear();
        for axis in &mut self.axes {
            axis.limits.clear();
        }
        for limit in 0..self.books.len() {
            let plain = self.books.key(limit, &self.with(|_| 0));
            let changes = |index: usize| {
                let one = |axis: usize| {
                    u32::from(axis == index && self.axes.get(axis).is_some_and(|axis| axis.count > 1))
                };
                self.books.key(limit, &self.with(one)) != plain
            };
            let around: Vec<usize> = (0..self.axes.len()).filter(|index| changes(*index)).collect();
            match *around.as_slice() {
                [] => self.fixed.push(limit),
                [one] => {
                    if let Some(axis) = self.axes.get_mut(one) {
                        axis.limits.push(limit);
                    }
                }
                _ => self.crossed.push(limit),
            }
        }
    }

    /// Returns the request with a value of each coordinate.
    fn with(&self, value: impl Fn(usize) -> u32) -> Who {
        let mut who = self.base;
        for (index, axis) in self.axes.iter().enumerate() {
            axis.vary.put(value(index), &mut who);
        }
        who
    }

    /// Enters into the books what became of the last request.
    pub(crate) fn saw(&mut self, answer: &Answer) {
        let Some(sent) = self.sent.take() else { return };
        self.free = self.free.max(answer.at);
        if answer.admitted > 0 {
            self.books.charge(&sent.who, answer.at, Outcome::Failure);
        } else if self.books.ready(&sent.who, answer.at) == Some(answer.at) {
            self.free = self.free.max(answer.at.saturating_add(PAUSE));
        }
        for (axis, pick) in self.axes.iter_mut().zip(sent.picks) {
            axis.used(pick, self.base, &self.books, answer.at);
        }
    }

    /// Chooses the next request: when, and with which values; `None` when nothing is let through any more.
    pub(crate) fn choose(&mut self) -> Option<(Timestamp, Who)> {
        let open = self.fixed.iter().try_fold(self.free, |at, limit| {
            self.books.ready_at(*limit, &self.base, self.free).map(|ready| ready.max(at))
        })?;
        let (at, picks) = self.look(open)?;
        if at >= self.end {
            return None;
        }
        self.free = at.saturating_add(self.gap);
        let who = self.with(|index| picks.get(index).copied().unwrap_or(0));
        self.sent = Some(Sent { who, picks });
        Some((at, who))
    }

    /// Looks for values that are let through from an instant on: the first together, or the last of many pairs.
    fn look(&mut self, open: Timestamp) -> Option<(Timestamp, Vec<u32>)> {
        for look in 1.. {
            let mut picks = Vec::with_capacity(self.axes.len());
            let mut at = open;
            for axis in &mut self.axes {
                let (ready, value) = axis.pick(self.base, &self.books, open)?;
                at = at.max(ready);
                picks.push((ready, value));
            }
            let who = self.with(|index| picks.get(index).map_or(0, |(_, value)| *value));
            let crossed = self.crossed.iter().try_fold(at, |latest, limit| {
                self.books.ready_at(*limit, &who, at).map(|ready| ready.max(latest))
            });
            if crossed == Some(at) || look >= MOST_LOOKS {
                return Some((
                    crossed.unwrap_or(self.end),
                    picks.into_iter().map(|(_, value)| value).collect(),
                ));
            }
            // Another value of the first coordinate may do with this one of the other.
            let mut until = crossed;
            for (axis, (ready, value)) in self.axes.iter_mut().zip(picks) {
                axis.put_off(value, until.take().unwrap_or(ready));
            }
        }
        None
    }
}

impl Actor for Rotation {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            self.saw(answer);
        }
        let (at, who) = self.choose()?;
        Some(Act { guesses: self.guesses, ..Act::one(at, who).times(self.copies) })
    }
}

/// Returns the most requests that limits let through on one key each in the time that an attack went on.
pub(crate) fn most_beside(aim: &Aim, beside: &Beside<'_>, is_meant: impl Fn(&Guard) -> bool) -> Option<u128> {
    most_on_one_key(aim, beside.attack.went_on(beside.play.length), is_meant)
}

/// Returns how many requests show what it comes to when nothing holds somebody.
pub(crate) fn at_full_rate(play: &Play) -> u64 {
    AT_FULL_RATE.saturating_mul(play.means.rate.max(1).into())
}

/// Returns the most requests that limits let through on one key each in a time; `None` when there are none of them.
pub(crate) fn most_on_one_key(aim: &Aim, time: Span, is_meant: impl Fn(&Guard) -> bool) -> Option<u128> {
    let meant = aim.guards.iter().filter(|guard| is_meant(guard));
    let most = meant.filter_map(|guard| guard.requests(guard.quota.most_from_idle(time)));
    most.min().map(|most| most.saturating_mul(aim.setting.stores().into()))
}

/// Lets somebody whose address holds him no longer go around limits on accounts too, by trying many.
pub(crate) fn around_accounts(rotation: Rotation, aim: &Aim, play: &Play) -> Rotation {
    if holds_accounts(aim) {
        let all = Vary::Subject { count: play.means.subjects.max(1), first: VICTIM, step: 1 };
        rotation.over(all, play.means.subjects, Order::InTurn)
    } else {
        rotation
    }
}

/// Returns how many requests show what it comes to when many accounts are tried: a minute's at the full rate, unless accounts
/// run out.
pub(crate) fn until_accounts_run_out(aim: &Aim, play: &Play) -> u64 {
    if holds_accounts(aim) { MOST_REQUESTS } else { at_full_rate(play) }
}

/// Returns whether a limit holds one account of many.
fn holds_accounts(aim: &Aim) -> bool {
    aim.guards.iter().any(|guard| guard.keyed.is_of_account())
}

/// Returns the greatest common divisor: turns of so many steps each meet again after their product, divided by it.
pub(crate) fn common_divisor(one: u128, other: u128) -> u128 {
    one.checked_rem(other).map_or(one, |rest| common_divisor(other, rest))
}
