//! Refill: asks at exactly every instant at which a unit is free.
//!
//! Whoever knows the numbers and what has passed knows the state of the key, and when the next unit is free to the
//! microsecond. Against buckets and logs nothing gets more: the whole of it at once and each unit as it comes is B + ⌊R·s⌋,
//! or L·(⌊s/W⌋ + 1). Against windows it is all that an attack from idle gets, begun just before a boundary where there is
//! one. A lockout is asked in rounds: as many attempts as lock, or one less in every window, whichever brings more by
//! the end, the last of all locking.

use tidegate_algorithms::{Lockout, Quota, Span, Timestamp};

use super::mirror::{AsFree, at_once, opening};
use super::{Adversary, Aim, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Asks at each instant at which something is free.
#[derive(Debug)]
pub(super) struct Refill;

impl Adversary for Refill {
    fn name(&self) -> &'static str {
        "refill"
    }

    fn what(&self) -> &'static str {
        "Takes all there is at once, then each unit at the very instant it is free."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Phase]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        // The weighted straddler is the same at a sliding counter.
        aim.burst() > 0 && aim.guard().is_some_and(|guard| !matches!(guard.quota, Quota::SlidingCounter(_)))
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let Some(guard) = aim.guard() else { return Vec::new() };
        let begin = opening(&guard.quota, play).unwrap_or(play.start);
        let taking = Taking::new(aim, play, begin);
        taking.map(|taking| Seat::adversary(taking).with_jitter(play.jitter)).into_iter().collect()
    }
}

/// Takes all that is free, in rounds where a lock may follow.
pub(super) enum Taking {
    /// Whatever is free, at once.
    Free(AsFree),
    /// So much that it locks or does not, as is planned.
    Rounds(Rounds),
}

impl Taking {
    /// Begins at an instant at a fresh key of the guard in focus; `None` without one.
    pub(super) fn new(aim: &Aim, play: &Play, begin: Timestamp) -> Option<Self> {
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
    pub(super) fn locking_first(mut self) -> Self {
        if let Self::Rounds(Rounds { quota, free, most, planned, locks, end }) = &mut self {
            let left = end.saturating_since(free.from()).as_micros().saturating_sub(quota.lock().as_micros());
            (*locks, *planned) = (true, rounds(*quota, *most, Span::from_micros(left)));
        }
        self
    }

    /// Returns what is known and when something is asked for next.
    pub(super) fn free(&mut self) -> &mut AsFree {
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
pub(super) struct Rounds {
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

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Rate};

    use super::super::trial::{bucket, fixed, log, play, trial};
    use super::*;

    /// The closed forms of an attack from idle, at the last instant that a play holds.
    fn attains_from_idle(quota: Quota, phase: Span, length: Span) {
        let play = play(phase, length);
        let trial = trial(&Refill, quota, &play);
        let closed = Span::from_micros(length.as_micros() - 1);
        assert_eq!(u128::try_from(trial.admitted.len()).unwrap(), quota.most_from_idle(closed), "{quota:?}");
        assert_eq!(trial.refused, 0, "{quota:?}: every instant is exact");
    }

    /// 364 in a closed hour, which no retry at intervals finds to the second.
    #[test]
    fn a_bucket_gives_all_that_its_form_says_from_idle() {
        attains_from_idle(bucket(), Span::from_micros(77), Span::from_micros(3_600_000_001));
        let thirds = Quota::token_bucket(2, Rate::new(3, Span::from_secs(1)).unwrap()).unwrap();
        attains_from_idle(thirds, Span::ZERO, Span::from_micros(100_000_001));
        let leaky = Quota::leaky_bucket(Rate::new(3, Span::from_secs(7)).unwrap(), 4).unwrap();
        attains_from_idle(leaky, Span::from_micros(3), Span::from_secs(700));
    }

    #[test]
    fn a_log_and_a_window_from_the_first_hit_give_theirs() {
        for quota in [log(), fixed(Anchor::FirstHit)] {
            attains_from_idle(quota, Span::from_micros(12_345), Span::from_micros(3_600_000_001));
        }
    }

    /// Locks that are longer than the window are worth taking only as far as windows do not fill the time.
    #[test]
    fn a_lockout_gives_what_the_best_mixture_of_rounds_does() {
        for (attempts, within, lock) in [(5, 30, 600), (5, 30, 20), (3, 10, 14), (1, 7, 9), (2, 10, 30)] {
            let quota = Quota::lockout(attempts, Span::from_secs(within), Span::from_secs(lock)).unwrap();
            for length in [1_u64, 9_000_001, 29_999_999, 30_000_001, 100_000_000, 601_000_000] {
                attains_from_idle(quota, Span::from_micros(5), Span::from_micros(length));
            }
        }
    }

    /// A window of the clock, begun at its start, would give one limit less than begun at its end.
    #[test]
    fn a_window_of_the_clock_gives_one_more_than_it_has_windows() {
        let start = Span::from_micros(30_000_000 - 1);
        attains_from_idle(fixed(Anchor::Clock), start, Span::from_micros(3_600_000_001));
        let trial = trial(&Refill, fixed(Anchor::Clock), &play(start, Span::from_micros(3_600_000_001)));
        assert_eq!(trial.admitted.len(), 605);
    }
}
