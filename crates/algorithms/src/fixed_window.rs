//! Fixed window: a count that starts afresh with each window.
//!
//! Cheapest to keep and easiest to say, with a known edge: L at the end of one window and L at the start of the
//! next. With windows on the clock a closed span s meets ⌈s/W⌉ + 1 of them, so 2L pass in any W; a window opened by
//! the first hit admits one less, for that hit must have come before. The state keeps the instant at which its
//! window ends rather than a window's number: under other numbers the count then still stands until that instant,
//! or until the end of the window it would now be in, whichever comes first.

use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::quota::{Anchor, FixedWindow};
use crate::time::{Span, Timestamp};

/// A count of units and the end of the window it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// The end of the window, in microseconds since the epoch (below 2^53).
    pub ends_at: u64,
    /// The units admitted in the window.
    pub count: u32,
}

/// The window at an instant.
#[derive(Debug, Clone, Copy)]
struct Current {
    /// The units that count now.
    count: u32,
    /// When they cease to.
    ends_at: u64,
    /// When they do after one more charge: later only where the window has become longer.
    closes_at: u64,
    /// Whether the state ends later than any window of this instant.
    redated: bool,
}

#[inline]
pub(crate) fn decide(
    quota: FixedWindow,
    state: Option<Window>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(Window, Receipt)>) {
    let current = current(quota, state, now);
    let count = current.count.saturating_add(ask.cost());
    if ask.cost() > 0 && count > quota.limit {
        let wait = Span::from_micros(current.ends_at.saturating_sub(now.as_micros()));
        let retry = if ask.cost() > quota.limit { Retry::Never } else { Retry::after(wait, now) };
        return (decision(quota, current, Answer::Refuse(retry), now), None);
    }
    let closes_at = current.closes_at;
    let place = Place::Window { closes_at, opened: current.count == 0 };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place };
    let ends_at = if ask.cost() > 0 { closes_at } else { current.ends_at };
    let after = Current { count, ends_at, ..current };
    let answer = Answer::Admit { delay: Span::ZERO };
    (decision(quota, after, answer, now), Some((Window { ends_at: closes_at, count }, receipt)))
}

/// Returns the state to store for one that ends after every window of `now`: the same count, in the latest of them.
pub(crate) fn redate(quota: FixedWindow, state: Window, now: Timestamp) -> Option<Window> {
    let current = current(quota, Some(state), now);
    current.redated.then_some(Window { ends_at: current.ends_at, count: state.count })
}

/// Gives the charge back while the window that holds it lasts.
///
/// From the first hit, the charge that opened the window is given back only alone: beside others, its instant is
/// what ends the window, and without it the window would end later.
pub(crate) fn refund(quota: FixedWindow, state: Window, receipt: &Receipt, now: Timestamp) -> Option<Window> {
    let Place::Window { closes_at, opened } = receipt.place else {
        return None;
    };
    let count = state.count.checked_sub(receipt.units)?;
    let tells = quota.anchor == Anchor::Clock || !opened || count == 0;
    let holds = closes_at == state.ends_at && state.ends_at > now.as_micros();
    (holds && tells).then_some(Window { count, ..state })
}

/// Returns the end of the window that holds the count.
pub(crate) fn keep_until(state: Window) -> u64 {
    if state.count == 0 { 0 } else { state.ends_at }
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

#[inline]
fn current(quota: FixedWindow, state: Option<Window>, now: Timestamp) -> Current {
    let micros = now.as_micros();
    let window = quota.window.as_micros();
    let latest = match quota.anchor {
        Anchor::Clock => {
            let into = micros.checked_rem(window).unwrap_or(0);
            micros.saturating_sub(into).saturating_add(window)
        }
        Anchor::FirstHit => micros.saturating_add(window),
    };
    // A count of zero is no window: it neither began nor ends at any instant.
    let Some(state) = state.filter(|state| state.ends_at > micros && state.count > 0) else {
        return Current { count: 0, ends_at: latest, closes_at: latest, redated: false };
    };
    let ends_at = state.ends_at.min(latest);
    let closes_at = match quota.anchor {
        Anchor::Clock => latest,
        Anchor::FirstHit => ends_at,
    };
    Current { count: state.count, ends_at, closes_at, redated: state.ends_at > latest }
}

#[inline]
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
