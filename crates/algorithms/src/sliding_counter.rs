//! Sliding counter: the last window estimated from two counts.
//!
//! Two clock-aligned counts are kept; the previous one is weighted by how much of it still overlaps the sliding
//! window. A unit is admitted while previous·(1 − elapsed) + current < L, in exact integers. The estimate is good
//! for traffic that does not know the boundary; for traffic that does, the worst window is 2L, taken within
//! (1 − 1/L)·W: L at the end of an empty window's successor, and L more as the weight falls. What it
//! gains over a fixed window is how fast that can be taken, not how much.

use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::quota::SlidingCounter;
use crate::time::{Span, Timestamp};
use crate::wide::{mul, mul_div_ceil, mul_div_floor};

/// The counts of the window of the last charge and of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counter {
    /// The instant of the last charge, in microseconds since the epoch.
    pub charged_at: u64,
    /// The units admitted in the window of `at`.
    pub current: u32,
    /// The units admitted in the window before.
    pub previous: u32,
}

/// The counts at an instant, and how far into the window it lies.
#[derive(Debug, Clone, Copy)]
struct View {
    current: u32,
    previous: u32,
    elapsed: u64,
    redated: bool,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "see `crate::compact`")]
pub(crate) fn decide(
    quota: SlidingCounter,
    state: Option<Counter>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(Counter, Receipt)>) {
    let view = view(quota, state, now);
    if ask.cost() > remaining(quota, view) {
        let retry = match wait(quota, view, ask.cost()) {
            Some(wait) => Retry::after(wait, now),
            None => Retry::Never,
        };
        return (decision(quota, view, Answer::Refuse(retry)), None);
    }
    let after = View { current: view.current.saturating_add(ask.cost()), ..view };
    let counter = Counter { charged_at: now.as_micros(), current: after.current, previous: after.previous };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place: Place::ByInstant };
    (decision(quota, after, Answer::Admit { delay: Span::ZERO }), Some((counter, receipt)))
}

/// Returns the state to store for one dated after `now`: the same counts, in the windows of `now`.
pub(crate) fn redate(quota: SlidingCounter, state: Counter, now: Timestamp) -> Option<Counter> {
    view(quota, Some(state), now).redated.then_some(Counter { charged_at: now.as_micros(), ..state })
}

/// Takes the charge out of the count of the window that holds it.
pub(crate) fn refund(
    quota: SlidingCounter,
    state: Counter,
    receipt: &Receipt,
    now: Timestamp,
) -> Option<Counter> {
    if view(quota, Some(state), now).redated {
        return None;
    }
    let held = index(receipt.charged_at.as_micros(), quota.window);
    let last = index(state.charged_at, quota.window);
    if held == last {
        let current = state.current.checked_sub(receipt.units)?;
        return Some(Counter { current, ..state });
    }
    if held.checked_add(1) == Some(last) {
        let previous = state.previous.checked_sub(receipt.units)?;
        return Some(Counter { previous, ..state });
    }
    None
}

/// Returns the counts under other numbers. Under another window, whose parts lie elsewhere, what weighs now counts as
/// charged now.
pub(crate) fn carry(from: SlidingCounter, state: Counter, to: SlidingCounter, now: Timestamp) -> Counter {
    if from.window == to.window {
        return state;
    }
    let current = u32::try_from(used(from, view(from, Some(state), now))).unwrap_or(u32::MAX);
    Counter { charged_at: now.as_micros(), current, previous: 0 }
}

/// Returns the end of the last window in which a count still weighs.
pub(crate) fn keep_until(quota: SlidingCounter, state: Counter) -> u64 {
    let windows: u64 = match (state.current, state.previous) {
        (0, 0) => return 0,
        (0, _) => 1,
        _ => 2,
    };
    index(state.charged_at, quota.window).saturating_add(windows).saturating_mul(quota.window.as_micros())
}

/// Most units admitted in a closed span on the microsecond grid, from any history or from idle.
///
/// The supremum over real instants is L + ⌈L·s/W⌉. On a grid the last step before the boundary costs a step: with
/// s − 1 = m·W + r it is L + m·L + ⌈L·r/W⌉, and L in a single instant. That is reached while L < W, less than a unit
/// a microsecond, or s ≤ W + 1; beyond, where several units are due between two steps, it is an upper bound.
pub(crate) fn most_in_closed(quota: SlidingCounter, span: Span) -> u128 {
    let limit = u128::from(quota.limit);
    let window = quota.window.as_micros();
    let Some(steps) = span.as_micros().checked_sub(1) else {
        return limit;
    };
    let whole = steps.checked_div(window).unwrap_or(0);
    let rest = steps.checked_rem(window).unwrap_or(0);
    let tail = mul_div_ceil(u64::from(quota.limit), rest, window);
    u128::from(whole).saturating_add(1).saturating_mul(limit).saturating_add(u128::from(tail))
}

/// Fewest units that keep a key refused throughout a closed span that begins fresh.
///
/// Best begun with a window, which L units fill. In each window after, the weight of the one before falls, and a unit is
/// due at each whole one lost: ⌈L·e/W⌉ by elapsed e, of which all but ⌊L/W⌋ come before the window's end. So with
/// s = m·W + r it is L + (m − 1)·(L − ⌊L/W⌋) + ⌈L·r/W⌉, and L while m = 0.
pub(crate) fn requests_to_deny(quota: SlidingCounter, span: Span) -> Option<u64> {
    let (limit, window) = (u64::from(quota.limit), quota.window.as_micros());
    let whole = span.as_micros().checked_div(window)?;
    let Some(later) = whole.checked_sub(1) else { return Some(limit) };
    let rest = span.as_micros().checked_rem(window)?;
    let each = limit.saturating_sub(limit.checked_div(window)?);
    limit.checked_add(later.checked_mul(each)?)?.checked_add(mul_div_ceil(limit, rest, window))
}

#[inline]
fn view(quota: SlidingCounter, state: Option<Counter>, now: Timestamp) -> View {
    let micros = now.as_micros();
    let this = index(micros, quota.window);
    let elapsed = micros.saturating_sub(this.saturating_mul(quota.window.as_micros()));
    let none = View { current: 0, previous: 0, elapsed, redated: false };
    let Some(state) = state else { return none };
    let same = View { current: state.current, previous: state.previous, ..none };
    if state.charged_at > micros {
        return View { redated: true, ..same };
    }
    match this.saturating_sub(index(state.charged_at, quota.window)) {
        0 => same,
        1 => View { previous: state.current, ..none },
        _ => none,
    }
}

/// Returns the units that pass now: the largest n with previous·(1 − elapsed) + current + (n − 1) < L, which is
/// L − current − ⌊previous·(1 − elapsed)⌋.
#[inline]
fn remaining(quota: SlidingCounter, view: View) -> u32 {
    u32::try_from(u64::from(quota.limit).saturating_sub(used(quota, view))).unwrap_or(0)
}

/// Returns the units that weigh now, rounded down.
#[inline]
fn used(quota: SlidingCounter, view: View) -> u64 {
    let window = quota.window.as_micros();
    let weighted = mul_div_floor(u64::from(view.previous), window.saturating_sub(view.elapsed), window);
    weighted.saturating_add(u64::from(view.current))
}

/// Returns how long until `cost` units pass if nothing else is admitted; `None` for never.
fn wait(quota: SlidingCounter, view: View, cost: u32) -> Option<Span> {
    let window = quota.window.as_micros();
    let to_end = window.saturating_sub(view.elapsed);
    if cost > quota.limit {
        return None;
    }
    // In this window the previous count fades; in the next one the current count does; after that all is empty.
    if let Some(at) = fades_at(quota, view.previous, view.current, cost).filter(|at| *at < window) {
        return Some(Span::from_micros(at.saturating_sub(view.elapsed)));
    }
    let at = fades_at(quota, view.current, 0, cost).unwrap_or(window).min(window);
    Some(Span::from_micros(to_end.saturating_add(at)))
}

/// Returns the smallest elapsed e ≥ 0 with fading·(W − e) < (L − counted − cost + 1)·W, `None` when there is none.
///
/// With room a = L − counted − cost + 1 that is W − e < a·W/fading, so e = W − ⌈a·W/fading⌉ + 1.
fn fades_at(quota: SlidingCounter, fading: u32, counted: u32, cost: u32) -> Option<u64> {
    let window = quota.window.as_micros();
    let room = quota.limit.checked_sub(counted)?.checked_sub(cost)?.saturating_add(1);
    if mul(u64::from(fading), window) < mul(u64::from(room), window) {
        return Some(0);
    }
    let left = mul_div_ceil(u64::from(room), window, u64::from(fading));
    Some(window.saturating_sub(left).saturating_add(1))
}

/// Returns how long until neither count weighs.
fn fresh_in(quota: SlidingCounter, view: View) -> Span {
    let window = quota.window.as_micros();
    let to_end = window.saturating_sub(view.elapsed);
    match (view.current, view.previous) {
        (0, 0) => Span::ZERO,
        (0, _) => Span::from_micros(to_end),
        _ => Span::from_micros(to_end.saturating_add(window)),
    }
}

#[inline]
fn decision(quota: SlidingCounter, view: View, answer: Answer) -> Decision {
    let remaining = remaining(quota, view);
    let next_unit = if remaining > 0 { Span::ZERO } else { wait(quota, view, 1).unwrap_or(Span::MAX) };
    Decision { answer, limit: quota.limit, remaining, next_unit, reset_after: fresh_in(quota, view) }
}

fn index(micros: u64, window: Span) -> u64 {
    micros.checked_div(window.as_micros()).unwrap_or(0)
}
