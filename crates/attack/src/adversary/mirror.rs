//! What somebody knows of a key who has read the policy and sees what passes: its state, by the algorithm itself.

use tidegate_algorithms::{Anchor, Ask, Quota, Span, State, Timestamp, decide, peek};

use super::{Aim, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance};

/// The most requests that are made at once, however many a limit lets pass: more would show nothing else.
const MOST_AT_ONCE: u32 = 1 << 17;

/// Returns so many requests, as far as they can be made at once.
pub(super) fn at_once(requests: u32) -> u32 {
    requests.min(MOST_AT_ONCE)
}

/// Returns the first boundary after an instant, for a quota whose windows begin by the clock.
pub(super) fn boundary_after(quota: &Quota, at: Timestamp) -> Option<Timestamp> {
    let span = match quota {
        Quota::FixedWindow(window) if window.anchor() != Anchor::FirstHit => {
            decide(quota, None, Ask::ONE, at).decision.reset_after
        }
        Quota::SlidingCounter(counter) => {
            let window = counter.window().as_micros();
            Span::from_micros(window.saturating_sub(at.as_micros().checked_rem(window)?))
        }
        _ => return None,
    };
    // A window of no units has no end that anybody could see.
    (span > Span::ZERO).then_some(at)?.checked_add(span)
}

/// Returns how far from an instant he aims who wants to arrive on one side of it: three standard deviations of his
/// jitter, but no more than a quarter of the window, so that both sides lie in one.
pub(super) fn margin(quota: &Quota, play: &Play) -> Span {
    let quarter = quota.window().as_micros() >> 2;
    Span::from_micros(play.jitter.as_micros().saturating_mul(3).min(quarter))
}

/// Returns the last instant before a boundary that one aims at who begins with a play, for a quota that has boundaries.
pub(super) fn opening(quota: &Quota, play: &Play) -> Option<Timestamp> {
    let off = margin(quota, play).as_micros().max(1);
    let from = play.start.saturating_add(Span::from_micros(off.saturating_sub(1)));
    Some(before(boundary_after(quota, from)?, Span::from_micros(off)))
}

/// Returns the instant a span earlier.
pub(super) fn before(at: Timestamp, span: Span) -> Timestamp {
    Timestamp::saturating_from_micros(at.as_micros().saturating_sub(span.as_micros()))
}

/// The time that a request's units take in the long run, rounded up.
pub(super) fn unit_time(quota: &Quota, cost: u32) -> Span {
    let rate = quota.long_run();
    let micros = u128::from(rate.micros).saturating_mul(cost.max(1).into());
    let each = micros.div_ceil(u128::from(rate.units.max(1)));
    Span::from_micros(u64::try_from(each).unwrap_or(u64::MAX))
}

/// A key's state as it follows from what has passed.
#[derive(Debug)]
pub(super) struct Mirror {
    quota: Quota,
    cost: u32,
    state: Option<State>,
}

impl Mirror {
    /// Mirrors a fresh key under the guard in focus.
    pub(super) fn new(aim: &Aim) -> Option<Self> {
        let guard = aim.guard()?;
        Some(Self { quota: guard.quota, cost: guard.cost.max(1), state: None })
    }

    /// Takes note of requests that have passed.
    pub(super) fn passed(&mut self, answer: &Answer) {
        let units = self.cost.saturating_mul(answer.admitted);
        decide(&self.quota, self.state.as_ref(), Ask::units(units), answer.at).change.apply(&mut self.state);
    }

    /// Returns how many requests pass at an instant.
    pub(super) fn free(&self, at: Timestamp) -> u32 {
        let left = peek(&self.quota, self.state.as_ref(), Ask::units(self.cost), at).remaining;
        left.checked_div(self.cost).unwrap_or(0)
    }

    /// Returns the first instant from `at` on at which a request passes; `None` for never.
    pub(super) fn next(&self, at: Timestamp) -> Option<Timestamp> {
        match peek(&self.quota, self.state.as_ref(), Ask::units(self.cost), at).retry() {
            None => Some(at),
            Some(retry) => at.checked_add(retry.wait()?),
        }
    }

    /// Returns when all is forgotten if nothing more passes: the end of a window, or of a lock.
    pub(super) fn forgotten(&self, at: Timestamp) -> Timestamp {
        at.saturating_add(peek(&self.quota, self.state.as_ref(), Ask::units(0), at).reset_after)
    }
}

/// Asks for all that is free, at every instant at which something is.
#[derive(Debug)]
pub(super) struct AsFree {
    mirror: Mirror,
    not_before: Timestamp,
    end: Timestamp,
    /// How far after the instant he aims.
    late: Span,
    /// How long he waits after a refusal that he did not expect.
    patience: Span,
}

impl AsFree {
    /// Begins at an instant at a fresh key of the guard in focus; `None` without one.
    pub(super) fn new(aim: &Aim, from: Timestamp, play: &Play) -> Option<Self> {
        let mirror = Mirror::new(aim)?;
        // The slowest limit is the one that refuses what he does not expect.
        let units = aim.guards.iter().map(|guard| unit_time(&guard.quota, guard.cost).as_micros());
        let patience = (units.max().unwrap_or(0) / 50).max(play.jitter.as_micros()).max(1);
        let patience = Span::from_micros(patience);
        Some(Self { mirror, not_before: from, end: play.end(), late: play.jitter, patience })
    }

    /// Returns what is known of the key.
    pub(super) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Returns the instant before which nothing is asked.
    pub(super) fn from(&self) -> Timestamp {
        self.not_before
    }

    /// Asks for nothing before an instant.
    pub(super) fn not_before(&mut self, at: Timestamp) {
        self.not_before = self.not_before.max(at);
    }

    /// Returns how far after an instant he aims.
    pub(super) fn late(&self) -> Span {
        self.late
    }

    /// Takes note of an answer.
    pub(super) fn heard(&mut self, answer: &Answer) {
        self.mirror.passed(answer);
        // Another limit refuses, or the requests came early: by this one's they would have passed.
        let wait = match answer.retry_after {
            _ if answer.refused == 0 => Span::ZERO,
            Some(told) => told.max(self.patience),
            None => self.patience,
        };
        self.not_before(answer.at.saturating_add(wait));
    }
}

impl Actor for AsFree {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            self.heard(answer);
        }
        let free = self.mirror.next(self.not_before)?;
        let at = free.saturating_add(self.late);
        let requests = at_once(self.mirror.free(free).max(1));
        (at < self.end).then(|| Act::one(at, at_victim()).times(requests))
    }
}
