//! Lockout: so many attempts within a window, then a lock.
//!
//! The first attempt opens a window of `within`; the last that is allowed in it starts a lock of `lock` from that
//! instant, after which all is forgotten. Refusals never extend a lock. Somebody who stops one short of the lock is never
//! locked: A − 1 attempts a window pass for ever, and [`Lockout::most_without_locking_in_closed`] says how many that
//! is. Somebody who means the victim needs only A requests a lock ([`Quota::requests_to_deny`]).
//!
//! [`Quota::requests_to_deny`]: crate::Quota::requests_to_deny

use crate::bounds::LongRun;
use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::first_hit::{self, Hit};
use crate::fixed_window::{self, Window};
use crate::quota::{Anchor, FixedWindow, Lockout};
use crate::time::{Span, Timestamp};

/// A count of attempts, the end of the window it stands in, and the end of the lock that it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lock {
    /// The end of the window, in microseconds since the epoch (below 2^53).
    pub ends_at: u64,
    /// The units admitted in the window.
    pub count: u32,
    /// Those of them that were admitted before a refund put the window's end off; zero if none did.
    pub early: u32,
    /// The end of the lock, in microseconds since the epoch (below 2^53); zero for none.
    pub locked_until: u64,
}

impl Lock {
    fn window(self) -> Window {
        Window { ends_at: self.ends_at, count: self.count, early: self.early }
    }

    fn open(window: Window) -> Self {
        Self { ends_at: window.ends_at, count: window.count, early: window.early, locked_until: 0 }
    }
}

/// The state at an instant.
#[derive(Debug, Clone, Copy)]
struct View {
    /// What counts now; its lock is zero unless it lasts.
    lock: Lock,
    /// Whether it ended after any that begins now.
    redated: bool,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "see `crate::compact`")]
pub(crate) fn decide(
    quota: Lockout,
    state: Option<Lock>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(Lock, Receipt)>) {
    let View { lock, .. } = view(quota, state, now);
    if ask.cost() == 0 {
        let receipt = receipt(lock, ask, now);
        return (decision(quota, lock, Answer::Admit { delay: Span::ZERO }, now), Some((lock, receipt)));
    }
    let count = lock.count.saturating_add(ask.cost());
    if lock.locked_until > 0 || count > quota.attempts {
        let wait = Span::from_micros(free_at(lock).saturating_sub(now.as_micros()));
        let retry = if ask.cost() > quota.attempts { Retry::Never } else { Retry::after(wait, now) };
        return (decision(quota, lock, Answer::Refuse(retry), now), None);
    }
    let receipt = receipt(lock, ask, now);
    let locks = count == quota.attempts;
    let locked_until = if locks { now.as_micros().saturating_add(quota.lock.as_micros()) } else { 0 };
    let after = Lock { count, locked_until, ..lock };
    (decision(quota, after, Answer::Admit { delay: Span::ZERO }, now), Some((after, receipt)))
}

/// Returns the state to store for one whose window or lock ends after any that begins now: the same count, and the
/// latest of such ends.
pub(crate) fn redate(quota: Lockout, state: Lock, now: Timestamp) -> Option<Lock> {
    let View { lock, redated } = view(quota, Some(state), now);
    redated.then_some(lock)
}

/// Gives a charge back, and undoes the lock that its window began: without the charge there would be none.
///
/// A charge from before a lock that is over is not given back, nor can it be taken for one of the window after: in that
/// window an end was put off no earlier than the lock's end, `lock` after the last charge before it.
pub(crate) fn refund(quota: Lockout, state: Lock, receipt: &Receipt, now: Timestamp) -> Option<Lock> {
    let Place::Attempt { closes_at, opened } = receipt.place else {
        return None;
    };
    let (micros, charged_at) = (now.as_micros(), receipt.charged_at.as_micros());
    let holds = if state.locked_until > 0 { state.locked_until > micros } else { state.ends_at > micros };
    let within = quota.within.as_micros();
    let before_a_lock = state.early > 0
        && charged_at.saturating_add(within).saturating_add(quota.lock.as_micros()) <= state.ends_at;
    if !holds || before_a_lock {
        return None;
    }
    let hit = Hit { charged_at, units: receipt.units, closes_at, opened };
    let window = first_hit::give_back(state.window(), hit, within, micros)?;
    let fresh = Window { ends_at: window.ends_at, count: 0, early: 0 };
    Some(Lock::open(if window.ends_at > micros { window } else { fresh }))
}

/// Returns the window in which attempts are counted.
pub(crate) fn window(state: Lock) -> Window {
    state.window()
}

/// Returns the end of the lock, or of the window that holds the count.
pub(crate) fn keep_until(state: Lock) -> u64 {
    if state.count == 0 { 0 } else { free_at(state) }
}

/// Returns a state under other numbers: the same count; window and lock end no later than any that begins now.
pub(crate) fn carry(to: Lockout, state: Lock, now: Timestamp) -> Lock {
    view(to, Some(state), now).lock
}

impl Lockout {
    /// Returns the most units admitted in a closed span, from any history, to somebody who is never locked: those of a
    /// first-hit window of one attempt less.
    pub fn most_without_locking_in_closed(&self, span: Span) -> u128 {
        fixed_window::most_in_closed(self.without_locking(), span)
    }

    fn without_locking(self) -> FixedWindow {
        FixedWindow { limit: self.attempts.saturating_sub(1), window: self.within, anchor: Anchor::FirstHit }
    }
}

/// Most units admitted in a closed span, from any history.
///
/// Whatever passes comes in rounds: A units and a lock K from the last of them, or A − 1 and the rest of a window W. A
/// span's last round can be A units at its last instant, so the most is A + g(s), where g is what whole rounds
/// bring in a time. Besides, the span can begin in a window that one unit opened before and that is over a microsecond
/// later: A − 2 + A + g(s − 1).
pub(crate) fn most_in_closed(quota: Lockout, span: Span) -> u128 {
    let idle = most_from_idle(quota, span);
    let (Some(late), Some(prepared)) = (span.as_micros().checked_sub(1), quota.attempts.checked_sub(2))
    else {
        return idle;
    };
    most_from_idle(quota, Span::from_micros(late)).saturating_add(prepared.into()).max(idle)
}

/// Most units admitted in a closed span that begins idle: A + g(s).
pub(crate) fn most_from_idle(quota: Lockout, span: Span) -> u128 {
    rounds(quota, span.as_micros()).saturating_add(quota.attempts.into())
}

/// Most that whole rounds bring in a time s, g(s): i·A + j·(A − 1) with i·K + j·W ≤ s.
///
/// If a lock is no longer than the window, it is the better round: ⌊s/K⌋·A. Else, of n rounds,
/// min(n, ⌊(s − n·W) / (K − W)⌋) can be locks. Up to ⌊s/K⌋ rounds all can; beyond, each more brings A − 1 and takes the
/// time of W/(K − W) of the others' difference, so that the most is at one end: the first beyond, or ⌊s/W⌋.
fn rounds(quota: Lockout, time: u64) -> u128 {
    let (within, lock) = (quota.within.as_micros(), quota.lock.as_micros());
    let whole = |time: u64, by: u64| time.checked_div(by).unwrap_or(0);
    let locks = whole(time, lock);
    let Some(longer) = lock.checked_sub(within).filter(|longer| *longer > 0) else {
        return u128::from(locks).saturating_mul(quota.attempts.into());
    };
    let windows = whole(time, within);
    let brings = |n: u64| {
        let left = time.saturating_sub(n.saturating_mul(within));
        let few = u128::from(n).saturating_mul(quota.attempts.saturating_sub(1).into());
        few.saturating_add(whole(left, longer).min(n).into())
    };
    let beyond = locks.saturating_add(1).min(windows);
    brings(locks).max(brings(beyond)).max(brings(windows))
}

/// The better of A a lock and A − 1 a window.
pub(crate) fn long_run(quota: Lockout) -> LongRun {
    let (within, lock) = (quota.within.as_micros(), quota.lock.as_micros());
    let few = quota.attempts.saturating_sub(1);
    if crate::wide::mul(few.into(), lock) > crate::wide::mul(quota.attempts.into(), within) {
        LongRun { units: few, micros: within }
    } else {
        LongRun { units: quota.attempts, micros: lock }
    }
}

#[inline]
fn view(quota: Lockout, state: Option<Lock>, now: Timestamp) -> View {
    let micros = now.as_micros();
    let latest_end = micros.saturating_add(quota.within.as_micros());
    let latest_lock = micros.saturating_add(quota.lock.as_micros());
    let fresh = Lock { ends_at: latest_end, count: 0, early: 0, locked_until: 0 };
    match state {
        Some(state) if state.count > 0 && free_at(state) > micros => {
            let redated = state.ends_at > latest_end || state.locked_until > latest_lock;
            let ends_at = state.ends_at.min(latest_end);
            View {
                lock: Lock { ends_at, locked_until: state.locked_until.min(latest_lock), ..state },
                redated,
            }
        }
        _ => View { lock: fresh, redated: false },
    }
}

/// Returns when all is forgotten if nothing else happens.
#[inline]
fn free_at(lock: Lock) -> u64 {
    if lock.locked_until > 0 { lock.locked_until } else { lock.ends_at }
}

fn receipt(lock: Lock, ask: Ask, now: Timestamp) -> Receipt {
    let place = Place::Attempt { closes_at: lock.ends_at, opened: lock.count == 0 };
    Receipt { charged_at: now, units: ask.cost(), place }
}

#[inline]
fn decision(quota: Lockout, lock: Lock, answer: Answer, now: Timestamp) -> Decision {
    let left = Span::from_micros(free_at(lock).saturating_sub(now.as_micros()));
    let remaining = if lock.locked_until > 0 { 0 } else { quota.attempts.saturating_sub(lock.count) };
    Decision {
        answer,
        limit: quota.attempts,
        remaining,
        next_unit: if remaining > 0 { Span::ZERO } else { left },
        reset_after: if lock.count == 0 { Span::ZERO } else { left },
    }
}
