//! Finding instants and spans to the microsecond, by asking at many instants within what is known of them.

use tidegate_algorithms::{Span, Timestamp};

use super::super::schedule::instants::before;
use super::asking::{Accounts, Between, Pace, Poller, Said, ask};
use super::probe::Found;
use crate::act::{Answer, Who};

/// What is known of an instant or span is cut into so many parts.
const PARTS: u64 = 1_000;

/// A span in microseconds: more than `above`, at most `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) above: u64,
    pub(super) most: u64,
}

impl Known {
    /// Returns what is known of the span between two instants of which as much is known.
    fn between(earlier: Between, later: Between) -> Self {
        let span = |from: Timestamp, to: Timestamp| to.saturating_since(from).as_micros();
        // The earlier one lies a microsecond after what it lies after, at least.
        Self { above: span(earlier.by, later.after), most: span(earlier.after, later.by).saturating_sub(1) }
    }

    /// Returns the same of each of so many equal parts.
    fn each(self, parts: u64) -> Self {
        let parts = parts.max(1);
        Self { above: self.above / parts, most: self.most / parts }
    }

    fn and(self, other: Self) -> Self {
        Self { above: self.above.max(other.above), most: self.most.min(other.most) }
    }

    /// Returns the roundest number that it may be: that is what people write, and what is known may be little.
    pub(super) fn roundest(self) -> u64 {
        const MINUTE: u64 = 60_000_000;
        let tens = (0..8_u32).rev().filter_map(|zeros| 10_u64.checked_pow(zeros));
        let units = [24 * 60 * MINUTE, 60 * MINUTE, 10 * MINUTE, MINUTE].into_iter().chain(tens);
        let mut multiples = units.map(|unit| (self.most / unit).saturating_mul(unit));
        multiples.find(|multiple| *multiple > self.above).unwrap_or(self.most)
    }

    /// Returns by how much it may be less.
    pub(super) fn open(self) -> u64 {
        self.most.saturating_sub(self.above).saturating_sub(1)
    }
}

/// Returns an instant as one of which nothing is left to be known.
fn exactly(at: Timestamp) -> Between {
    Between { after: before(at, Span::from_micros(1)), by: at }
}

/// Measures how long it takes until something passes again, on accounts that were emptied at known instants.
#[derive(Debug)]
pub(super) struct Relative {
    known: Known,
    /// Accounts that were emptied, with when, the earliest first.
    accounts: Vec<(Who, Timestamp)>,
    /// The account that is asked now.
    asked: Option<(Timestamp, Poller)>,
}

impl Relative {
    pub(super) fn new(found: &Found) -> Self {
        let known = Known::between(exactly(found.emptied), found.back);
        Self { known, accounts: found.others.clone(), asked: None }
    }

    pub(super) fn next(&mut self, last: Option<&Answer>, now: Timestamp) -> Said<Known> {
        let mut now = now;
        if let (Some((emptied, poller)), Some(answer)) = (&mut self.asked, last) {
            let Some(back) = poller.heard(answer) else { return Said::Does(poller.next()) };
            self.known = self.known.and(Known::between(exactly(*emptied), back));
            self.asked = None;
            now = answer.at;
        }
        if self.known.above >= self.known.most {
            return Said::GivesUp;
        }
        let from = |emptied: Timestamp| emptied.saturating_add(Span::from_micros(self.known.above));
        let next = self.accounts.iter().position(|(_, emptied)| from(*emptied) >= now);
        let Some(index) = next.filter(|_| self.known.open() > 0) else { return Said::Knows(self.known) };
        let (who, emptied) = self.accounts.remove(index);
        let pace = Pace::Every(self.known.open() / PARTS);
        let poller = Poller { who, last: from(emptied), pace };
        let act = poller.next();
        self.asked = Some((emptied, poller));
        Said::Does(act)
    }
}

/// Windows of the clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    /// The last boundary.
    pub(super) boundary: Between,
    /// The length of a window.
    pub(super) window: Known,
}

/// Finds boundaries, on an account that is emptied in every window.
#[derive(Debug)]
pub(super) struct Boundaries {
    first: Between,
    last: Between,
    /// How many windows lie between the two.
    windows: u64,
    window: Option<Known>,
    limit: u32,
    poller: Option<Poller>,
    /// Whether the account is being emptied that is asked afterwards.
    is_emptying: bool,
    /// What lies within so much needs not be told apart.
    blur: Span,
    end: Timestamp,
}

impl Boundaries {
    pub(super) fn new(found: &Found, blur: Span, end: Timestamp) -> Self {
        let (first, limit) = (found.back, found.limit);
        Self {
            first,
            last: first,
            windows: 0,
            window: None,
            limit,
            poller: None,
            is_emptying: false,
            blur,
            end,
        }
    }

    pub(super) fn next(&mut self, last: Option<&Answer>, accounts: &mut Accounts) -> Said<Windows> {
        let (Some(poller), Some(answer)) = (&mut self.poller, last) else { return self.empty(accounts) };
        if self.is_emptying {
            self.is_emptying = false;
            return Said::Does(poller.next());
        }
        match poller.heard(answer) {
            Some(boundary) => self.met(boundary, accounts),
            None => Said::Does(poller.next()),
        }
    }

    /// Empties a fresh account just after a boundary.
    fn empty(&mut self, accounts: &mut Accounts) -> Said<Windows> {
        let who = accounts.fresh();
        let at = self.last.by;
        let (last, pace) = match self.window {
            None => (at, Pace::Since(at)),
            Some(window) => {
                let from = self.last.after.saturating_add(Span::from_micros(window.above));
                let width =
                    self.last.by.saturating_since(self.last.after).as_micros().saturating_add(window.open());
                (from.max(at), Pace::Every(width / PARTS))
            }
        };
        self.poller = Some(Poller { who, last, pace });
        self.is_emptying = true;
        Said::Does(ask(at, who, self.limit))
    }

    fn met(&mut self, boundary: Between, accounts: &mut Accounts) -> Said<Windows> {
        self.windows = self.windows.saturating_add(1);
        let here = Known::between(self.last, boundary);
        let over_all = Known::between(self.first, boundary).each(self.windows);
        let window = here.and(over_all).and(self.window.unwrap_or(here));
        if window.above >= window.most {
            return Said::GivesUp;
        }
        (self.last, self.window) = (boundary, Some(window));
        let seen = boundary.by.saturating_since(boundary.after).as_micros().saturating_sub(1);
        let is_exact = window.open().max(seen) <= self.blur.as_micros();
        let two_more = Span::from_micros(window.most.saturating_mul(2));
        if is_exact || boundary.by.saturating_add(two_more) > self.end {
            return Said::Knows(Windows { boundary, window });
        }
        self.empty(accounts)
    }
}

/// So many accounts measure at once how long a lockout counts.
const AT_ONCE: u64 = 128;

/// So many times they do, each within what the last time has shown.
const ROUNDS: u32 = 3;

/// Measures the window in which a lockout counts: on accounts that are left one short of the lock, it is over where all
/// passes that a fresh one lets pass.
#[derive(Debug)]
pub(super) struct Within {
    known: Known,
    attempts: u32,
    begun: Timestamp,
    accounts: Vec<Who>,
    asked: usize,
    rounds: u32,
}

impl Within {
    /// Begins to look for one of up to so many microseconds.
    pub(super) fn new(most: u64, attempts: u32, now: Timestamp) -> Self {
        let known = Known { above: 0, most };
        Self { known, attempts, begun: now, accounts: Vec::new(), asked: 0, rounds: ROUNDS }
    }

    /// Knows `None` when it is longer.
    pub(super) fn next(&mut self, last: Option<&Answer>, accounts: &mut Accounts) -> Said<Option<Known>> {
        if u64::try_from(self.accounts.len()).is_ok_and(|filled| filled < AT_ONCE) {
            let who = accounts.fresh();
            self.accounts.push(who);
            return Said::Does(ask(self.begun, who, self.attempts.saturating_sub(1)));
        }
        let Some(answer) = last.filter(|_| self.asked > 0) else { return self.ask() };
        if answer.admitted < self.attempts {
            return self.ask();
        }
        let known = Known { above: self.due(self.asked.saturating_sub(1)), most: self.due(self.asked) };
        let rounds = self.rounds.saturating_sub(1);
        if rounds == 0 || known.open() == 0 {
            return Said::Knows(Some(known));
        }
        *self = Self { known, rounds, ..Self::new(known.most, self.attempts, answer.at) };
        self.next(None, accounts)
    }

    /// Asks the next account, as far as there is one.
    fn ask(&mut self) -> Said<Option<Known>> {
        let Some(who) = self.accounts.get(self.asked).copied() else { return Said::Knows(None) };
        self.asked = self.asked.saturating_add(1);
        let at = self.begun.saturating_add(Span::from_micros(self.due(self.asked)));
        Said::Does(ask(at, who, self.attempts))
    }

    /// Returns how long after the beginning the n-th account is asked.
    fn due(&self, asked: usize) -> u64 {
        let parts = u64::try_from(asked).unwrap_or(u64::MAX);
        let width = self.known.most.saturating_sub(self.known.above);
        self.known.above.saturating_add(width.saturating_mul(parts) / AT_ONCE)
    }
}
