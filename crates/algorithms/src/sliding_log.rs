//! Sliding log: the exact count over the last window.
//!
//! Every admitted charge is kept as (instant, units) until it is W old, so no half-open window ever holds more than
//! L: the only algorithm whose words "never more than L in any W" are simply true. It pays for that with memory, one
//! entry of 16 bytes per instant that charged. Entries are edited in place: a decision reads the log and returns the
//! edit, so that a refused batch leaves nothing to undo.

use std::collections::VecDeque;

use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::quota::SlidingLog;
use crate::time::{Span, Timestamp};

/// One instant that charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The instant, in microseconds since the epoch.
    pub at: u64,
    /// The units admitted then.
    pub units: u32,
}

/// The admitted charges of one key, oldest first.
///
/// On the heap as a whole: a log is rare beside the other states, and they all share the room of the largest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Log(Box<Held>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Held {
    stamps: VecDeque<Stamp>,
    total: u64,
}

impl Log {
    /// Builds a log from its stamps, oldest first; one out of order is taken as no older than those before it, and
    /// one of no units is left out.
    pub fn from_stamps(stamps: impl IntoIterator<Item = Stamp>) -> Self {
        let mut log = Self::default();
        for stamp in stamps {
            log.0.push(stamp);
        }
        log
    }

    /// Returns the stamps, oldest first.
    pub fn stamps(&self) -> impl DoubleEndedIterator<Item = &Stamp> + ExactSizeIterator {
        self.0.stamps.iter()
    }

    /// Returns the number of stamps.
    pub fn len(&self) -> usize {
        self.0.stamps.len()
    }

    /// Returns whether the log holds no stamp.
    pub fn is_empty(&self) -> bool {
        self.0.stamps.is_empty()
    }

    /// Returns the bytes the log keeps on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.stamps.capacity().saturating_mul(size_of::<Stamp>()).saturating_add(size_of::<Held>())
    }

    /// Carries out an edit that a decision on this log returned.
    pub fn apply(&mut self, edit: &LogEdit) {
        if let Some(now) = edit.redate {
            self.0.redate(now);
        }
        for _ in 0..edit.forget {
            if let Some(gone) = self.0.stamps.pop_front() {
                self.0.total = self.0.total.saturating_sub(u64::from(gone.units));
            }
        }
        match edit.then {
            Then::Nothing => {}
            Then::Push(stamp) => self.0.push(stamp),
            Then::Take(stamp) => self.0.take(stamp),
        }
    }

    /// Carries out an edit without growing: when there is no room for one more stamp, the newest one takes the new
    /// one's units in and its date on. All of them then leave later, never earlier.
    pub fn apply_in_place(&mut self, edit: &LogEdit) {
        self.apply(&LogEdit { then: Then::Nothing, ..*edit });
        if let Then::Push(stamp) = edit.then
            && !self.has_room()
            && let Some(last) = self.0.stamps.back_mut()
        {
            last.at = last.at.max(stamp.at);
        }
        self.apply(&LogEdit { redate: None, forget: 0, then: edit.then });
    }

    /// Returns whether one more stamp fits without growing.
    pub fn has_room(&self) -> bool {
        self.0.stamps.len() < self.0.stamps.capacity()
    }

    /// Gives back memory when three quarters of it are unused.
    pub fn shrink(&mut self) {
        const WORTH_WHILE: usize = 16;
        let unused = self.0.stamps.capacity().saturating_sub(self.0.stamps.len());
        if self.0.stamps.capacity() > WORTH_WHILE && unused > self.0.stamps.len().saturating_mul(3) {
            self.0.stamps.shrink_to(self.0.stamps.len().saturating_mul(2));
        }
    }

    /// Gives back all memory that no stamp takes.
    pub fn fit(&mut self) {
        self.0.stamps.shrink_to_fit();
    }

    fn newest(&self) -> Option<u64> {
        self.0.stamps.back().map(|last| last.at)
    }
}

impl Held {
    fn push(&mut self, stamp: Stamp) {
        match self.stamps.back_mut() {
            _ if stamp.units == 0 => {}
            Some(last) if last.at >= stamp.at => {
                // The total follows what the stamp takes in: units that no stamp holds would never leave.
                let units = last.units.saturating_add(stamp.units);
                self.total = self.total.saturating_add(u64::from(units.saturating_sub(last.units)));
                last.units = units;
            }
            _ => {
                self.total = self.total.saturating_add(u64::from(stamp.units));
                self.stamps.push_back(stamp);
            }
        }
    }

    fn take(&mut self, stamp: Stamp) {
        let Ok(found) = self.stamps.binary_search_by_key(&stamp.at, |held| held.at) else {
            return;
        };
        let Some(held) = self.stamps.get_mut(found) else {
            return;
        };
        let taken = held.units.min(stamp.units);
        held.units = held.units.saturating_sub(taken);
        self.total = self.total.saturating_sub(u64::from(taken));
        if held.units == 0 {
            self.stamps.remove(found);
        }
    }

    fn redate(&mut self, now: u64) {
        let mut moved = 0_u32;
        while let Some(last) = self.stamps.back().copied().filter(|last| last.at > now) {
            self.stamps.pop_back();
            self.total = self.total.saturating_sub(u64::from(last.units));
            moved = moved.saturating_add(last.units);
        }
        self.push(Stamp { at: now, units: moved });
    }
}

/// What a decision changes in a log: first re-date, then forget, then one more thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEdit {
    redate: Option<u64>,
    forget: usize,
    then: Then,
}

impl LogEdit {
    /// Returns the stamp the edit adds, if it charges.
    pub fn pushed(&self) -> Option<Stamp> {
        match self.then {
            Then::Push(stamp) => Some(stamp),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Nothing,
    Push(Stamp),
    Take(Stamp),
}

/// The log at an instant: `forget` stamps have left, `used` units are in the window.
#[derive(Debug, Clone, Copy)]
struct View {
    redated: bool,
    forget: usize,
    used: u64,
}

pub(crate) fn decide(
    quota: SlidingLog,
    log: Option<&Log>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(LogEdit, Receipt)>) {
    let view = view(quota, log, now);
    let used = view.used.saturating_add(u64::from(ask.cost()));
    if ask.cost() > 0 && used > u64::from(quota.limit) {
        let retry = if ask.cost() > quota.limit {
            Retry::Never
        } else {
            Retry::after(wait(quota, log, view, ask.cost(), now), now)
        };
        return (decision(quota, log, view, Answer::Refuse(retry), now), None);
    }
    let stamp = Stamp { at: now.as_micros(), units: ask.cost() };
    let edit = LogEdit {
        redate: view.redated.then_some(now.as_micros()),
        forget: view.forget,
        then: if ask.cost() == 0 { Then::Nothing } else { Then::Push(stamp) },
    };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place: Place::ByInstant };
    let answer = Answer::Admit { delay: Span::ZERO };
    let mut decision = decision(quota, log, View { used, ..view }, answer, now);
    if ask.cost() > 0 {
        // The new stamp is the last to leave.
        decision.reset_after = quota.window;
    }
    (decision, Some((edit, receipt)))
}

/// Returns the edit that re-dates stamps after `now`.
pub(crate) fn redate(log: &Log, now: Timestamp) -> Option<LogEdit> {
    let late = log.newest().is_some_and(|newest| newest > now.as_micros());
    late.then_some(LogEdit { redate: Some(now.as_micros()), forget: 0, then: Then::Nothing })
}

/// Returns the edit that takes the charge's units off its stamp.
pub(crate) fn refund(receipt: &Receipt) -> LogEdit {
    let stamp = Stamp { at: receipt.charged_at.as_micros(), units: receipt.units };
    LogEdit { redate: None, forget: 0, then: Then::Take(stamp) }
}

/// Returns the log under other numbers: what is in the window. Under a shorter one each stamp leaves when it would have,
/// or as one of now does, whichever comes first; under a longer one it stays longer.
pub(crate) fn carry(from: SlidingLog, log: &Log, to: SlidingLog, now: Timestamp) -> Log {
    let micros = now.as_micros();
    let (old, new) = (from.window.as_micros(), to.window.as_micros());
    let stamps = log.stamps().filter(|stamp| stamp.at.saturating_add(old) > micros);
    Log::from_stamps(stamps.map(|stamp| {
        let at = stamp.at.saturating_add(old.saturating_sub(new)).min(micros);
        Stamp { at, units: stamp.units }
    }))
}

/// Returns the instant at which the newest stamp leaves.
pub(crate) fn keep_until(quota: SlidingLog, log: &Log) -> u64 {
    log.newest().map_or(0, |newest| newest.saturating_add(quota.window.as_micros()))
}

/// Most units admitted in a closed span, from any history or from idle: L·(⌊s/W⌋ + 1).
pub(crate) fn most_in_closed(quota: SlidingLog, span: Span) -> u128 {
    let windows = span.as_micros().checked_div(quota.window.as_micros()).unwrap_or(0);
    u128::from(windows).saturating_add(1).saturating_mul(u128::from(quota.limit))
}

fn view(quota: SlidingLog, log: Option<&Log>, now: Timestamp) -> View {
    let Some(log) = log else {
        return View { redated: false, forget: 0, used: 0 };
    };
    let redated = log.newest().is_some_and(|newest| newest > now.as_micros());
    let window = quota.window.as_micros();
    let (mut forget, mut used) = (0_usize, log.0.total);
    for stamp in log.stamps() {
        if stamp.at.saturating_add(window) > now.as_micros() {
            break;
        }
        forget = forget.saturating_add(1);
        used = used.saturating_sub(u64::from(stamp.units));
    }
    View { redated, forget, used }
}

/// Returns how long until enough stamps have left for `cost` units.
fn wait(quota: SlidingLog, log: Option<&Log>, view: View, cost: u32, now: Timestamp) -> Span {
    let mut over = view.used.saturating_add(u64::from(cost)).saturating_sub(u64::from(quota.limit));
    let stamps = log.into_iter().flat_map(|log| log.stamps().skip(view.forget));
    for stamp in stamps {
        over = over.saturating_sub(u64::from(stamp.units));
        if over == 0 {
            let leaves = stamp.at.min(now.as_micros()).saturating_add(quota.window.as_micros());
            return Span::from_micros(leaves.saturating_sub(now.as_micros()));
        }
    }
    quota.window
}

fn decision(quota: SlidingLog, log: Option<&Log>, view: View, answer: Answer, now: Timestamp) -> Decision {
    let left = u64::from(quota.limit).saturating_sub(view.used);
    let remaining = u32::try_from(left).unwrap_or(u32::MAX);
    let next_unit = match (quota.limit, remaining) {
        (0, _) => Span::MAX,
        (_, 0) => wait(quota, log, view, 1, now),
        _ => Span::ZERO,
    };
    let newest = log.and_then(Log::newest).map(|newest| newest.min(now.as_micros()));
    let reset_after = match newest {
        Some(newest) if view.used > 0 => {
            let leaves = newest.saturating_add(quota.window.as_micros());
            Span::from_micros(leaves.saturating_sub(now.as_micros()))
        }
        _ => Span::ZERO,
    };
    Decision { answer, limit: quota.limit, remaining, next_unit, reset_after }
}
