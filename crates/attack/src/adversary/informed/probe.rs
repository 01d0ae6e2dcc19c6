//! Telling an algorithm by when requests pass.
//!
//! One account is emptied at once and asked until something passes again; others are emptied a while later, and again others
//! opened with one request and emptied later. What they have when the first one has something again tells them apart:
//!
//! | the first has | one emptied later has | one opened with one and emptied later has | it is |
//! |---|---|---|---|
//! | all | all | | a window of the clock |
//! | some | some | | a sliding counter |
//! | some | nothing | | a bucket |
//! | all | nothing | all | a window from the first hit |
//! | all | nothing | one | a log |
//! | all | nothing | nothing | a lockout |

use tidegate_algorithms::{Span, Timestamp};

use super::asking::{Accounts, Between, Pace, Poller, Said, ask};
use crate::act::{Answer, Who};

/// So many times in a row, each four times as long as the one before, accounts are emptied after the first: up to 400 days.
const PAIRS: u32 = 23;

/// A limit of more than so much at once is not looked into.
const MOST_LIMIT: u32 = 1 << 14;

/// Probing begins anew when something passes after less than so many microseconds: too short to tell anything apart.
const TOO_SOON: u64 = 16;

/// So often it does at most.
const MOST_RESTARTS: u32 = 3;

/// An algorithm, as it can be told by when requests pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Clock,
    FirstHit,
    Log,
    Counter,
    Bucket,
    Lockout,
}

/// What probing has shown.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// How many requests pass at once.
    pub(super) limit: u32,
    /// When the first account was emptied.
    pub(super) emptied: Timestamp,
    /// When it had something again.
    pub(super) back: Between,
    /// Accounts that were emptied later and not touched since, with when.
    pub(super) others: Vec<(Who, Timestamp)>,
}

/// Two accounts that are emptied so long after the first, one of them opened with it.
#[derive(Debug)]
struct Pair {
    later: Who,
    opened: Who,
    /// When they were emptied.
    emptied: Option<Timestamp>,
    /// How much was left in the opened one.
    left: u32,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Fill,
    Open(usize),
    Poll,
    Empty(usize),
    EmptyOpened(usize),
    Take,
    AskLater(usize),
    AskOpened(usize),
}

/// Finds out what algorithm a limit is.
#[derive(Debug)]
pub(super) struct Probe {
    step: Step,
    first: Who,
    pairs: Vec<Pair>,
    limit: u32,
    emptied: Timestamp,
    poller: Poller,
    back: Option<Between>,
    taken: u32,
    is_absolute: bool,
    restarts: u32,
}

impl Probe {
    /// Begins at an instant.
    pub(super) fn new(at: Timestamp, accounts: &mut Accounts) -> Self {
        let first = accounts.fresh();
        let pair = |_| Pair { later: accounts.fresh(), opened: accounts.fresh(), emptied: None, left: 0 };
        Self {
            step: Step::Fill,
            first,
            pairs: (0..PAIRS).map(pair).collect(),
            limit: 0,
            emptied: at,
            poller: Poller { who: first, last: at, pace: Pace::Since(at) },
            back: None,
            taken: 0,
            is_absolute: false,
            restarts: 0,
        }
    }

    pub(super) fn next(&mut self, last: Option<&Answer>, accounts: &mut Accounts) -> Said<Found> {
        let Some(answer) = last else { return self.fill() };
        match self.step {
            Step::Fill => {
                self.limit = self.limit.saturating_add(answer.admitted);
                self.emptied = answer.at;
                match (answer.refused, self.limit) {
                    (0, ..=MOST_LIMIT) => self.fill(),
                    (0, _) | (_, 0) => Said::GivesUp,
                    _ => self.open(0),
                }
            }
            Step::Open(index) => self.open(index.saturating_add(1)),
            Step::Poll => match self.poller.heard(answer) {
                Some(back) => {
                    self.back = Some(back);
                    self.step = Step::Take;
                    Said::Does(ask(back.by, self.first, self.limit))
                }
                None => self.watch(),
            },
            Step::Empty(index) => {
                self.step = Step::EmptyOpened(index);
                let Some(pair) = self.pairs.get_mut(index) else { return self.watch() };
                pair.emptied = Some(answer.at);
                Said::Does(ask(answer.at, pair.opened, self.limit))
            }
            Step::EmptyOpened(index) => {
                if let Some(pair) = self.pairs.get_mut(index) {
                    pair.left = answer.admitted;
                }
                self.watch()
            }
            Step::Take => {
                self.taken = answer.admitted.saturating_add(1);
                self.tell(answer.at, accounts)
            }
            Step::AskLater(index) => {
                self.is_absolute = answer.admitted > 0;
                if self.is_absolute {
                    return self.found(index, 0);
                }
                self.step = Step::AskOpened(index);
                self.pairs
                    .get(index)
                    .map_or(Said::GivesUp, |pair| Said::Does(ask(answer.at, pair.opened, self.limit)))
            }
            Step::AskOpened(index) => self.found(index, answer.admitted),
        }
    }

    /// Asks for more of the first account, twice as much each time.
    fn fill(&mut self) -> Said<Found> {
        self.step = Step::Fill;
        Said::Does(ask(self.emptied, self.first, self.limit.max(8)))
    }

    /// Opens an account with one request.
    fn open(&mut self, index: usize) -> Said<Found> {
        if let Some(pair) = self.pairs.get(index) {
            self.step = Step::Open(index);
            return Said::Does(ask(self.emptied, pair.opened, 1));
        }
        self.poller.last = self.emptied;
        self.poller.pace = Pace::Since(self.emptied);
        self.watch()
    }

    /// Asks the first account, or empties others whose time has come.
    fn watch(&mut self) -> Said<Found> {
        let poll = self.poller.next();
        let to_empty = self.pairs.iter().position(|pair| pair.emptied.is_none());
        let due = to_empty.and_then(|index| {
            let after = 1_u64.checked_shl(u32::try_from(index).ok()?.saturating_mul(2))?;
            Some((index, self.emptied.saturating_add(Span::from_micros(after))))
        });
        let Some((index, at)) = due.filter(|(_, at)| *at <= poll.at) else {
            self.step = Step::Poll;
            return Said::Does(poll);
        };
        self.step = Step::Empty(index);
        self.pairs.get(index).map_or(Said::GivesUp, |pair| Said::Does(ask(at, pair.later, self.limit)))
    }

    /// Asks an account that was emptied later what it has when the first has something again.
    fn tell(&mut self, at: Timestamp, accounts: &mut Accounts) -> Said<Found> {
        let Some((index, pair)) = self.telling().and_then(|index| Some((index, self.pairs.get(index)?)))
        else {
            // It came back before anything could be told: just after a boundary there is more time.
            let restarts = self.restarts.saturating_add(1);
            *self = Self { restarts, ..Self::new(at, accounts) };
            return if restarts > MOST_RESTARTS { Said::GivesUp } else { self.fill() };
        };
        self.step = Step::AskLater(index);
        Said::Does(ask(at, pair.later, self.limit))
    }

    /// Returns the last pair that was emptied in the first half of the time that it took.
    fn telling(&self) -> Option<usize> {
        let took = self.back?.by.saturating_since(self.emptied).as_micros();
        let half = self.emptied.saturating_add(Span::from_micros(took >> 1));
        let is_early = |pair: &Pair| pair.emptied.is_some_and(|emptied| emptied <= half);
        (took >= TOO_SOON).then(|| self.pairs.iter().rposition(is_early))?
    }

    /// Tells the algorithm.
    fn found(&self, index: usize, opened_has: u32) -> Said<Found> {
        let (Some(back), Some(told_by)) = (self.back, self.pairs.get(index)) else { return Said::GivesUp };
        let is_whole = self.taken >= self.limit;
        let kind = match (self.is_absolute, is_whole) {
            (true, true) => Kind::Clock,
            (true, false) => Kind::Counter,
            (false, false) => Kind::Bucket,
            (false, true) if self.limit == 1 => Kind::Log,
            // Its first request was forgotten by then, or the last one locked it.
            (false, true) if told_by.left >= self.limit || opened_has == 0 => Kind::Lockout,
            (false, true) if opened_has >= self.limit => Kind::FirstHit,
            (false, true) => Kind::Log,
        };
        let others = self.pairs.iter().filter_map(|pair| Some((pair.later, pair.emptied?))).collect();
        Said::Knows(Found { kind, limit: self.limit, emptied: self.emptied, back, others })
    }
}
