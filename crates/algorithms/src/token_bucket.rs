//! Token bucket: up to B units at once, then n per T.
//!
//! The bucket holds credit, refilled continuously and capped at B; a request takes its cost or nothing. In any
//! span it admits B plus what flowed in: B + ⌊R·s⌋ over a closed span s. To promise at
//! most L in any window W, choose B + ⌈R·W⌉ − 1 ≤ L: a bucket of 4 with one per 10 s lets 6 through in some 30 s.

use crate::bounds::LongRun;
use crate::decision::{Answer, Ask, Decision, Place, Receipt, Retry};
use crate::level::{Level, Mark, flow, split, whole_at};
use crate::quota::{Rate, TokenBucket};
use crate::time::{Span, Timestamp};
use crate::wide::{div_ceil, mul, mul_div_floor};

/// The credit at an instant: whole units and the rest in 1/q of one.
#[derive(Debug, Clone, Copy)]
struct Credit {
    whole: u32,
    rest: u64,
    redated: bool,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "see `crate::compact`")]
pub(crate) fn decide(
    quota: TokenBucket,
    state: Option<Level>,
    ask: Ask,
    now: Timestamp,
) -> (Decision, Option<(Level, Receipt)>) {
    let credit = credit(quota, state, now);
    let Some(left) = credit.whole.checked_sub(ask.cost()) else {
        let retry = if ask.cost() > quota.capacity {
            Retry::Never
        } else {
            Retry::after(wait(quota.refill, credit, ask.cost()), now)
        };
        return (decision(quota, credit, Answer::Refuse(retry)), None);
    };
    let after = Credit { whole: left, ..credit };
    let level = Level { whole: left, mark: whole_at(now, credit.rest, quota.refill) };
    let receipt = Receipt { charged_at: now, units: ask.cost(), place: Place::ByInstant };
    (decision(quota, after, Answer::Admit { delay: Span::ZERO }), Some((level, receipt)))
}

/// Returns the state to store for one dated after `now`: the same whole credit, dated `now`.
pub(crate) fn redate(quota: TokenBucket, state: Level, now: Timestamp) -> Option<Level> {
    let credit = credit(quota, Some(state), now);
    credit.redated.then(|| Level { whole: credit.whole, mark: Mark::at(now) })
}

/// Gives back max(0, n − R·(now − charged at)): what the bucket refilled meanwhile may have been lost at its brim.
pub(crate) fn refund(quota: TokenBucket, state: Level, receipt: &Receipt, now: Timestamp) -> Option<Level> {
    let rate = quota.refill;
    let flowed = mul(now.saturating_since(receipt.charged_at).as_micros(), u64::from(rate.units()));
    let given =
        mul(u64::from(receipt.units), rate.micros()).checked_sub(flowed).filter(|given| *given > 0)?;
    let credit = credit(quota, Some(state), now);
    let total = mul(u64::from(credit.whole), rate.micros())
        .saturating_add(u128::from(credit.rest))
        .saturating_add(given);
    let total = split(total, rate);
    let capacity = u64::from(quota.capacity);
    let (whole, rest) =
        if total.units >= capacity { (quota.capacity, 0) } else { (small(total.units), total.rest) };
    Some(Level { whole, mark: whole_at(now, rest, rate) })
}

/// Returns the credit under other numbers: what the old rate had brought, at most the new capacity.
pub(crate) fn carry(from: TokenBucket, state: Level, to: TokenBucket, now: Timestamp) -> Level {
    let credit = credit(from, Some(state), now);
    if credit.whole >= to.capacity {
        return Level { whole: to.capacity, mark: Mark::at(now) };
    }
    // The fraction of a unit, rounded down.
    let rest = mul_div_floor(credit.rest, to.refill.micros(), from.refill.micros());
    Level { whole: credit.whole, mark: whole_at(now, rest, to.refill) }
}

/// Returns the instant from which the bucket is full.
pub(crate) fn keep_until(quota: TokenBucket, state: Level) -> u64 {
    match quota.capacity.saturating_sub(state.whole) {
        0 => 0,
        missing => state.mark.after(missing, quota.refill),
    }
}

/// Most units admitted in a closed span on the microsecond grid, from any history or from idle.
///
/// B + ⌊R·s⌋, as long as a step brings at most B − 1: what is left after whole units are taken, less than one, then
/// still fits beside it. A faster refill spills over the brim between two steps. Then a step brings B − 1 units and
/// φ = R − (B − 1), and one more unit every ⌈1/φ⌉ steps: B + (B − 1)·s + ⌊s / ⌈1/φ⌉⌋.
pub(crate) fn most_in_closed(capacity: u32, rate: Rate, span: Span) -> u128 {
    let (capacity, steps) = (u128::from(capacity), u128::from(span.as_micros()));
    let flowed = match spill(capacity, rate) {
        None => {
            let flowed = mul(span.as_micros(), u64::from(rate.units()));
            flowed.checked_div(u128::from(rate.micros())).unwrap_or(0)
        }
        Some(period) => {
            let more = steps.checked_div(period).unwrap_or(0);
            steps.saturating_mul(capacity.saturating_sub(1)).saturating_add(more)
        }
    };
    flowed.saturating_add(capacity)
}

/// Returns the rate that a client who asks at every microsecond gets: the refill, less what spills over the brim.
pub(crate) fn long_run(capacity: u32, rate: Rate) -> LongRun {
    let refill = LongRun { units: rate.units(), micros: rate.micros() };
    let Some(period) = spill(u128::from(capacity), rate) else { return refill };
    let units = period.saturating_mul(u128::from(capacity.saturating_sub(1))).saturating_add(1);
    match (u32::try_from(units), u64::try_from(period)) {
        (Ok(units), Ok(micros)) => LongRun { units, micros },
        _ => refill,
    }
}

/// Returns ⌈1/φ⌉ where a microsecond brings B − 1 + φ units with φ > 0, `None` where it brings no more than B − 1.
fn spill(capacity: u128, rate: Rate) -> Option<u128> {
    let held = capacity.saturating_sub(1).saturating_mul(u128::from(rate.micros()));
    let over = u128::from(rate.units()).checked_sub(held).filter(|over| *over > 0)?;
    Some(u128::from(rate.micros()).div_ceil(over))
}

#[inline]
fn credit(quota: TokenBucket, state: Option<Level>, now: Timestamp) -> Credit {
    let full = Credit { whole: quota.capacity, rest: 0, redated: false };
    let Some(level) = state else { return full };
    let Some(flow) = flow(level.mark, quota.refill, now) else {
        return Credit { whole: level.whole.min(quota.capacity), rest: 0, redated: true };
    };
    let whole = u64::from(level.whole).saturating_add(flow.units);
    if whole >= u64::from(quota.capacity) {
        return full;
    }
    Credit { whole: small(whole), rest: flow.rest, redated: false }
}

#[inline]
fn decision(quota: TokenBucket, credit: Credit, answer: Answer) -> Decision {
    let next_unit = if credit.whole > 0 { Span::ZERO } else { wait(quota.refill, credit, 1) };
    Decision {
        answer,
        limit: quota.capacity,
        remaining: credit.whole,
        next_unit,
        reset_after: wait(quota.refill, credit, quota.capacity),
    }
}

/// Returns how long until the credit reaches `target` units: ⌈((target − whole)·q − rest) / p⌉.
#[inline]
fn wait(rate: Rate, credit: Credit, target: u32) -> Span {
    let missing = target.saturating_sub(credit.whole);
    let missing = mul(u64::from(missing), rate.micros()).saturating_sub(u128::from(credit.rest));
    Span::from_micros(div_ceil(missing, u64::from(rate.units())))
}

/// Narrows a count that is known to be below a capacity.
fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
