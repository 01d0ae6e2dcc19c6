//! Fixed window: a count that starts afresh with each window.
//!
//! Cheapest to keep and easiest to say, with a known edge: L at the end of one window and L at the start of the
//! next. With windows on the clock a closed span s meets ⌈s/W⌉ + 1 of them, so 2L pass in any W; a window opened by
//! the first hit admits one less, for that hit must have come before. The state keeps the instant at which its
//! window ends rather than a window's number: under other numbers the count then still stands until that instant,
//! or until the end of the window it would now be in, whichever comes first.

use crate::bounds::LongRun;
use crate::calendar;
use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::first_hit::{self, Hit};
use crate::quota::{Anchor, Calendar, FixedWindow};
use crate::time::{Span, Timestamp};

/// A count of units and the end of the window it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// The end of the window, in microseconds since the epoch (below 2^53).
    pub ends_at: u64,
    /// The units admitted in the window.
    pub count: u32,
    /// From the first hit, those of them that were admitted before a refund put the window's end off; zero if none
    /// did. Less than 2^30.
    pub early: u32,
}

/// The window at an instant.
#[derive(Debug, Clone, Copy)]
struct Current {
    /// The units that count now.
    count: u32,
    early: u32,
    /// When they cease to.
    ends_at: u64,
    /// When they do after one more charge: later only where the window has become longer.
    closes_at: u64,
    /// Whether the state ends later than any window of this instant.
    redated: bool,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "see `crate::compact`")]
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
    let place = match quota.anchor {
        Anchor::FirstHit => Place::HitWindow { closes_at, opened: current.count == 0 },
        Anchor::Clock | Anchor::Calendar(_) => Place::ClockWindow { closes_at },
    };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place };
    let ends_at = if ask.cost() > 0 { closes_at } else { current.ends_at };
    let after = Current { count, ends_at, ..current };
    let answer = Answer::Admit { delay: Span::ZERO };
    let window = Window { ends_at: closes_at, count, early: current.early };
    (decision(quota, after, answer, now), Some((window, receipt)))
}

/// Returns the state to store for one that ends after every window of `now`: the same count, in the latest of them.
pub(crate) fn redate(quota: FixedWindow, state: Window, now: Timestamp) -> Option<Window> {
    let current = current(quota, Some(state), now);
    current.redated.then_some(Window { ends_at: current.ends_at, ..state })
}

/// Gives the charge back while the window that holds it lasts. From the first hit that may put the window's end off.
pub(crate) fn refund(quota: FixedWindow, state: Window, receipt: &Receipt, now: Timestamp) -> Option<Window> {
    let (micros, units) = (now.as_micros(), receipt.units);
    if state.ends_at <= micros {
        return None;
    }
    match (quota.anchor, receipt.place) {
        (Anchor::FirstHit, Place::HitWindow { closes_at, opened }) => {
            let hit = Hit { charged_at: receipt.charged_at.as_micros(), units, closes_at, opened };
            first_hit::give_back(state, hit, quota.window.as_micros(), micros)
        }
        (Anchor::Clock | Anchor::Calendar(_), Place::ClockWindow { closes_at }) => {
            let count = state.count.checked_sub(units)?;
            (closes_at == state.ends_at).then_some(Window { count, ..state })
        }
        _ => None,
    }
}

/// Returns a state under other numbers: the same count, until it ends or any window of now does.
pub(crate) fn carry(to: FixedWindow, state: Window, now: Timestamp) -> Window {
    let current = current(to, Some(state), now);
    let early = if to.anchor == Anchor::FirstHit { current.early } else { 0 };
    Window { ends_at: current.ends_at, count: current.count, early }
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
        Anchor::Calendar(calendar) => u128::from(calendar::most_touched(calendar, s)).saturating_mul(limit),
        Anchor::FirstHit => up.saturating_add(limit.saturating_sub(1)).max(most_from_idle(quota, span)),
    }
}

/// Most units admitted in a closed span that begins idle: on the clock as from any history, from the first hit
/// L·(⌊s/W⌋ + 1).
pub(crate) fn most_from_idle(quota: FixedWindow, span: Span) -> u128 {
    match quota.anchor {
        Anchor::Clock | Anchor::Calendar(_) => most_in_closed(quota, span),
        Anchor::FirstHit => {
            let windows = span.as_micros().checked_div(quota.window.as_micros()).unwrap_or(0);
            u128::from(windows).saturating_add(1).saturating_mul(u128::from(quota.limit))
        }
    }
}

/// L a window; of a month, the mean of the calendar's, 146,097 days for 4,800 months.
pub(crate) fn long_run(quota: FixedWindow) -> LongRun {
    const MEAN_MONTH: u64 = 2_629_746_000_000;
    let month = quota.anchor == Anchor::Calendar(Calendar::Month);
    LongRun { units: quota.limit, micros: if month { MEAN_MONTH } else { quota.window.as_micros() } }
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
        Anchor::Calendar(calendar) => calendar::end_of(calendar, micros),
    };
    // A count of zero is no window: it neither began nor ends at any instant.
    let Some(state) = state.filter(|state| state.ends_at > micros && state.count > 0) else {
        return Current { count: 0, early: 0, ends_at: latest, closes_at: latest, redated: false };
    };
    let ends_at = state.ends_at.min(latest);
    let closes_at = match quota.anchor {
        Anchor::Clock | Anchor::Calendar(_) => latest,
        Anchor::FirstHit => ends_at,
    };
    let (count, early) = (state.count, state.early);
    Current { count, early, ends_at, closes_at, redated: state.ends_at > latest }
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
