//! All that a key gives from idle: whatever is free at once, or rounds where a lock may follow.
//!
//! Who is about to lock a lockout has the choice: to stop one attempt short and wait for the window to end, or to take the
//! last one and wait for the lock to. What brings more by the end of a play is planned beforehand.

use tidegate_algorithms::{Lockout, Quota, Span, Timestamp};

use super::super::{Aim, Play, at_victim};
use super::instants::at_once;
use super::mirror::AsFree;
use crate::act::{Act, Actor, Answer, Chance};

/// Takes all that is free, in rounds where a lock may follow.
pub(crate) enum Taking {
    /// Whatever is free, at once.
    Free(AsFree),
    /// So much that it locks or does not, as is planned.
    Rounds(Rounds),
}

impl Taking {
    /// Begins at an instant at a fresh key of the guard in focus; `None` without one.
    pub(crate) fn new(aim: &Aim, play: &Play, begin: Timestamp) -> Option<Self> {
        let guard = aim.guard()?;
        let free = AsFree::new(aim, begin, play)?;
        match guard.quota {
            Quota::Lockout(quota) if quota.attempts().is_multiple_of(guard.cost.max(1)) => {
                let time = play.end().saturating_since(begin);
                let most = aim.burst();
                let planned = rounds(quota, most, time);
                Some(Self::Rounds(Rounds { quota, free, most, planned, locks: false, end: play.end() }))
            }
            _ => Some(Self::Free(free)),
        }
    }

    /// Takes a whole lot that locks before anything else, whatever that costs later.
    pub(crate) fn locking_first(mut self) -> Self {
        if let Self::Rounds(Rounds { quota, free, most, planned, locks, end }) = &mut self {
            let left = end.saturating_since(free.from()).as_micros().saturating_sub(quota.lock().as_micros());
            (*locks, *planned) = (true, rounds(*quota, *most, Span::from_micros(left)));
        }
        self
    }

    /// Returns what is known and when something is asked for next.
    pub(crate) fn free(&mut self) -> &mut AsFree {
        match self {
            Self::Free(free) => free,
            Self::Rounds(rounds) => &mut rounds.free,
        }
    }
}

impl Actor for Taking {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        match self {
            Self::Free(free) => free.next(last, chance),
            Self::Rounds(rounds) => rounds.next(last, chance),
        }
    }
}

/// How many rounds of each kind: so many that lock, and so many that stop one short of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    locking: u64,
    short: u64,
}

/// Returns the rounds that bring most by the end of a play, before one last of `most` that needs no time: i that lock and j
/// that do not with i·K + j·W < length, for the most of i·A + j·(A − 1).
fn rounds(quota: Lockout, most: u32, length: Span) -> Plan {
    let (lock, within) = (quota.lock().as_micros(), quota.within().as_micros());
    let time = length.as_micros().saturating_sub(1);
    let fill = |locking: u64| {
        let left = time.saturating_sub(locking.saturating_mul(lock));
        Plan { locking, short: left.checked_div(within).unwrap_or(0) }
    };
    let worth = |plan: &Plan| {
        let all = u128::from(plan.locking).saturating_mul(most.into());
        all.saturating_add(u128::from(plan.short).saturating_mul(most.saturating_sub(1).into()))
    };
    let locks = time.checked_div(lock).unwrap_or(0);
    // One kind is the better in the long run; of the other there are only as many as fit a remainder, which is less than
    // one of the better kind takes. The rest repeats.
    let few = 0..=locks.min(MOST_TRIED);
    let many = locks.saturating_sub(MOST_TRIED)..=locks;
    few.chain(many).map(fill).max_by_key(worth).unwrap_or(Plan { locking: 0, short: 0 })
}

/// So many numbers of rounds are tried from either end.
const MOST_TRIED: u64 = 1 << 12;

/// Plays the rounds of a plan.
pub(crate) struct Rounds {
    quota: Lockout,
    free: AsFree,
    most: u32,
    planned: Plan,
    /// Whether the next round locks, outside the plan.
    locks: bool,
    end: Timestamp,
}

impl Actor for Rounds {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            self.free.heard(answer);
        }
        // A round that did not lock is over with its window.
        let over = self.free.mirror().forgotten(self.free.from());
        let at = over.max(self.free.from());
        let Plan { locking, short } = self.planned;
        let is_last = at.saturating_add(self.quota.within()) >= self.end;
        let requests = if std::mem::take(&mut self.locks) {
            self.most
        } else if short > 0 && self.most > 1 && !is_last {
            self.planned.short = short.saturating_sub(1);
            self.most.saturating_sub(1)
        } else {
            self.planned.locking = locking.saturating_sub(1);
            self.most
        };
        let at = at.saturating_add(self.free.late());
        (at < self.end).then(|| Act::one(at, at_victim()).times(at_once(requests)))
    }
}
