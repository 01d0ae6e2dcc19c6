//! Leaky bucket as a queue: starts requests at an even rate and lets up to Q units wait.
//!
//! The level is the work ahead, in units: those that wait and what is left of the one that started last. It drains
//! at the rate, and a request starts when the level it found has drained, its delay. This is the token bucket of
//! capacity Q + 1 seen from the other side, but kept as a level: what was promised to those who wait stays, whatever
//! becomes of the queue's length. Admitted in a closed span s: Q + 1 + ⌊R·s⌋; started: see [`most_started_in_closed`].

use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::level::{Level, Mark, flow, whole_at};
use crate::quota::{LeakyBucket, Rate};
use crate::time::{Span, Timestamp};
use crate::token_bucket;
use crate::wide::{div_ceil, mul, mul_div_floor};

/// The level at an instant, `whole` − `rest`/q units.
#[derive(Debug, Clone, Copy)]
struct Backlog {
    whole: u32,
    rest: u64,
    redated: bool,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "see `crate::compact`")]
pub(crate) fn decide(
    quota: LeakyBucket,
    state: Option<Level>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(Level, Receipt)>) {
    let backlog = backlog(quota, state, now);
    if let Some(retry) = refusal(quota, backlog, ask, now) {
        return (decision(quota, backlog, Answer::Refuse(retry)), None);
    }
    let after = Backlog { whole: backlog.whole.saturating_add(ask.cost()), ..backlog };
    let level = Level { whole: after.whole, mark: whole_at(now, backlog.rest, quota.rate) };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place: Place::Tail(level) };
    let answer = Answer::Admit { delay: drain(quota.rate, backlog, 0) };
    (decision(quota, after, answer), Some((level, receipt)))
}

/// Returns the state to store for one dated after `now`: the same backlog, dated `now`.
pub(crate) fn redate(quota: LeakyBucket, state: Level, now: Timestamp) -> Option<Level> {
    let backlog = backlog(quota, Some(state), now);
    backlog.redated.then(|| Level { whole: backlog.whole, mark: Mark::at(now) })
}

/// Gives the charge back if it still holds the tail of the queue: every other slot was promised to somebody.
pub(crate) fn refund(quota: LeakyBucket, state: Level, receipt: &Receipt, now: Timestamp) -> Option<Level> {
    let Place::Tail(tail) = receipt.place else {
        return None;
    };
    let end = |level: Level| level.mark.plus_units(level.whole, quota.rate);
    if end(tail) != end(state) {
        return None;
    }
    let backlog = backlog(quota, Some(state), now);
    let whole = backlog.whole.saturating_sub(receipt.units);
    let mark = if whole == 0 { Mark::at(now) } else { whole_at(now, backlog.rest, quota.rate) };
    (!backlog.redated).then_some(Level { whole, mark })
}

/// Returns whether one unit is being served and none waits.
pub(crate) fn only_serves(quota: LeakyBucket, state: Level, now: Timestamp) -> bool {
    let backlog = backlog(quota, Some(state), now);
    backlog.whole == 1 && !backlog.redated
}

/// Returns the backlog under other numbers: what the old rate had left of it, all of it promised to somebody.
pub(crate) fn carry(from: LeakyBucket, state: Level, to: LeakyBucket, now: Timestamp) -> Level {
    let backlog = backlog(from, Some(state), now);
    if backlog.whole == 0 {
        return Level { whole: 0, mark: Mark::at(now) };
    }
    // What is done of the unit being served, rounded down.
    let rest = mul_div_floor(backlog.rest, to.rate.micros(), from.rate.micros());
    Level { whole: backlog.whole, mark: whole_at(now, rest, to.rate) }
}

/// Returns the instant from which nothing waits or is being served.
pub(crate) fn keep_until(quota: LeakyBucket, state: Level) -> u64 {
    if state.whole == 0 { 0 } else { state.mark.after(state.whole, quota.rate) }
}

/// Most units started in a closed span on the microsecond grid, from any history, each unit at its own slot.
///
/// Starts lie a period 1/R apart and each on the next whole microsecond, so a closed span of s holds those of
/// s + 1 grid steps, ⌈R·(s + 1)⌉, as long as a queue can outlast a step: R ≤ Q. A shorter one runs dry between
/// two steps and starts what it admits, at once or a step later, as much as arrives in such a span.
pub(crate) fn most_started_in_closed(quota: LeakyBucket, span: Span) -> u128 {
    let (p, q) = (u128::from(quota.rate.units()), u128::from(quota.rate.micros()));
    if p > u128::from(quota.queue).saturating_mul(q) {
        return token_bucket::most_in_closed(quota.places(), quota.rate, span);
    }
    let steps = u128::from(span.as_micros()).saturating_add(1);
    steps.saturating_mul(p).div_ceil(q)
}

#[inline]
fn backlog(quota: LeakyBucket, state: Option<Level>, now: Timestamp) -> Backlog {
    let idle = Backlog { whole: 0, rest: 0, redated: false };
    let Some(level) = state else { return idle };
    let Some(flow) = flow(level.mark, quota.rate, now) else {
        return Backlog { whole: level.whole, rest: 0, redated: true };
    };
    match u32::try_from(flow.units).ok().and_then(|drained| level.whole.checked_sub(drained)) {
        None | Some(0) => idle,
        Some(whole) => Backlog { whole, rest: flow.rest, redated: false },
    }
}

/// Returns when a request that must be refused now would be admitted.
#[inline]
fn refusal(quota: LeakyBucket, backlog: Backlog, ask: Ask, now: Timestamp) -> Option<Retry> {
    if ask.cost() == 0 {
        return None;
    }
    let Some(room) = quota.places().checked_sub(ask.cost()) else { return Some(Retry::Never) };
    let full = (backlog.whole > room).then(|| drain(quota.rate, backlog, room));
    let late = match slack(quota.rate, ask) {
        Slack::Any => None,
        Slack::None => return Some(Retry::Never),
        Slack::Of(slack) => amount(quota.rate, backlog).checked_sub(slack).filter(|over| *over > 0),
    };
    let late = late.map(|over| Span::from_micros(div_ceil(over, u64::from(quota.rate.units()))));
    full.max(late).map(|wait| Retry::after(wait, now))
}

/// How much may be ahead of an ask.
enum Slack {
    /// As much as there may: its delay does not matter, not even one that no span holds.
    Any,
    /// So much, in 1/q of a unit.
    Of(u128),
    /// Less than nothing: its own units take longer than it can be held.
    None,
}

#[inline]
fn slack(rate: Rate, ask: Ask) -> Slack {
    if ask.max_delay() == Span::MAX {
        return Slack::Any;
    }
    let own = mul(u64::from(ask.cost().saturating_sub(1)), rate.micros());
    let allowed = mul(ask.max_delay().as_micros(), u64::from(rate.units()));
    allowed.checked_sub(own).map_or(Slack::None, Slack::Of)
}

#[inline]
fn decision(quota: LeakyBucket, backlog: Backlog, answer: Answer) -> Decision {
    let remaining = quota.places().saturating_sub(backlog.whole);
    let next_unit = if remaining > 0 { Span::ZERO } else { drain(quota.rate, backlog, quota.queue) };
    Decision {
        answer,
        limit: quota.places(),
        remaining,
        next_unit,
        reset_after: drain(quota.rate, backlog, 0),
    }
}

/// Returns the backlog in 1/q of a unit.
fn amount(rate: Rate, backlog: Backlog) -> u128 {
    mul(u64::from(backlog.whole), rate.micros()).saturating_sub(u128::from(backlog.rest))
}

/// Returns how long until the backlog has drained to `target` units.
#[inline]
fn drain(rate: Rate, backlog: Backlog, target: u32) -> Span {
    let over = amount(rate, backlog).saturating_sub(mul(u64::from(target), rate.micros()));
    Span::from_micros(div_ceil(over, u64::from(rate.units())))
}
