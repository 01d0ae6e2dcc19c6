//! Fixed window: a count that starts afresh with each window.
//!
//! Cheapest to keep and easiest to say, with a known edge: L at the end of one window and L at the start of the
//! next. With windows on the clock a closed span s meets ⌈s/W⌉ + 1 of them, so 2L pass in any W; a window opened by
//! the first hit admits one less, for that hit must have come before. The state keeps the instant of the last
//! charge, or of the window's end, rather than a window's number, so that it means something under other numbers.

use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::quota::{Anchor, FixedWindow};
use crate::time::{Span, Timestamp};

/// A count of units and the instant that places it.
///
/// On the clock, `at` is the last charge; from the first hit, it is the end of the window, in microseconds since the
/// epoch (below 2^53).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// The instant that places the count, in microseconds since the epoch.
    pub at: u64,
    /// The units admitted in the window.
    pub count: u32,
}

/// The window at an instant.
#[derive(Debug, Clone, Copy)]
struct Current {
    count: u32,
    ends_at: u64,
    redated: bool,
    open: bool,
}

pub(crate) fn decide(
    quota: FixedWindow,
    state: Option<Window>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(Window, Receipt)>) {
    let current = current(quota, state, now);
    let count = current.count.saturating_add(ask.cost());
    if count > quota.limit {
        let wait = Span::from_micros(current.ends_at.saturating_sub(now.as_micros()));
        let retry = if ask.cost() > quota.limit { Retry::Never } else { Retry::after(wait, now) };
        return (decision(quota, current, Answer::Refuse(retry), now), None);
    }
    let (at, place) = match quota.anchor {
        Anchor::Clock => (now.as_micros(), Place::ByInstant),
        Anchor::FirstHit => {
            (current.ends_at, Place::Window { closes_at: current.ends_at, opened: !current.open })
        }
    };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place };
    let after = Current { count, ..current };
    let answer = Answer::Admit { delay: Span::ZERO };
    (decision(quota, after, answer, now), Some((Window { at, count }, receipt)))
}

/// Returns the state to store for one dated after `now`: the same count, in the window of `now`.
pub(crate) fn redate(quota: FixedWindow, state: Window, now: Timestamp) -> Option<Window> {
    let current = current(quota, Some(state), now);
    let at = match quota.anchor {
        Anchor::Clock => now.as_micros(),
        Anchor::FirstHit => current.ends_at,
    };
    current.redated.then_some(Window { at, count: state.count })
}

/// Gives the charge back while the window that holds it lasts.
///
/// From the first hit, the charge that opened the window is given back only alone: beside others, its instant is
/// what ends the window, and without it the window would end later.
pub(crate) fn refund(quota: FixedWindow, state: Window, receipt: &Receipt, now: Timestamp) -> Option<Window> {
    let current = current(quota, Some(state), now);
    let count = state.count.checked_sub(receipt.units)?;
    let holds = match (quota.anchor, receipt.place) {
        (Anchor::Clock, _) => {
            let index = |micros| index(micros, quota.window);
            index(receipt.charged_at.as_micros()) == index(state.at)
        }
        (Anchor::FirstHit, Place::Window { closes_at, opened }) => {
            closes_at == state.at && (!opened || count == 0)
        }
        (Anchor::FirstHit, _) => false,
    };
    let ended = quota.anchor == Anchor::FirstHit && count == 0;
    let at = if ended { now.as_micros() } else { state.at };
    (holds && current.open && !current.redated).then_some(Window { at, count })
}

/// Returns the end of the window that holds the count.
pub(crate) fn keep_until(quota: FixedWindow, state: Window, now: Timestamp) -> u64 {
    let current = current(quota, Some(state), now);
    if current.open { current.ends_at } else { now.as_micros() }
}

/// Most units admitted in a closed span, from any history.
///
/// On the clock L·(⌈s/W⌉ + 1), for a span of one instant L; from the first hit max(L·⌈s/W⌉ + L − 1, L·(⌊s/W⌋ + 1)).
pub(crate) fn most_in_closed(quota: FixedWindow, span: Span) -> u128 {
    let limit = u128::from(quota.limit);
    let (s, w) = (span.as_micros(), quota.window.as_micros());
    let up = u128::from(s.div_ceil(w)).saturating_mul(limit);
    match quota.anchor {
        Anchor::Clock => up.saturating_add(limit),
        Anchor::FirstHit => up.saturating_add(limit.saturating_sub(1)).max(most_from_idle(quota, span)),
    }
}

/// Most units admitted in a closed span that begins idle: on the clock as from any history, from the first hit
/// L·(⌊s/W⌋ + 1).
pub(crate) fn most_from_idle(quota: FixedWindow, span: Span) -> u128 {
    match quota.anchor {
        Anchor::Clock => most_in_closed(quota, span),
        Anchor::FirstHit => {
            let windows = span.as_micros().checked_div(quota.window.as_micros()).unwrap_or(0);
            u128::from(windows).saturating_add(1).saturating_mul(u128::from(quota.limit))
        }
    }
}

fn current(quota: FixedWindow, state: Option<Window>, now: Timestamp) -> Current {
    let micros = now.as_micros();
    let window = quota.window.as_micros();
    match quota.anchor {
        Anchor::Clock => {
            let this = index(micros, quota.window);
            let ends_at = this.saturating_add(1).saturating_mul(window);
            let fresh = Current { count: 0, ends_at, redated: false, open: false };
            match state {
                Some(state) if state.at > micros => {
                    Current { count: state.count, redated: true, open: true, ..fresh }
                }
                Some(state) if index(state.at, quota.window) == this => {
                    Current { count: state.count, open: true, ..fresh }
                }
                _ => fresh,
            }
        }
        Anchor::FirstHit => {
            let latest = micros.saturating_add(window);
            match state {
                Some(state) if state.at > micros => Current {
                    count: state.count,
                    ends_at: state.at.min(latest),
                    redated: state.at > latest,
                    open: true,
                },
                _ => Current { count: 0, ends_at: latest, redated: false, open: false },
            }
        }
    }
}

fn decision(quota: FixedWindow, current: Current, answer: Answer, now: Timestamp) -> Decision {
    let left = Span::from_micros(current.ends_at.saturating_sub(now.as_micros()));
    let remaining = quota.limit.saturating_sub(current.count);
    let next_unit = match (quota.limit, remaining) {
        (0, _) => Span::MAX,
        (_, 0) => left,
        _ => Span::ZERO,
    };
    let reset_after = if current.count == 0 { Span::ZERO } else { left };
    Decision { answer, limit: quota.limit, remaining, next_unit, reset_after }
}

fn index(micros: u64, window: Span) -> u64 {
    micros.checked_div(window.as_micros()).unwrap_or(0)
}
