//! The one dispatch from a quota to its algorithm.
//!
//! A state of another algorithm means nothing to a quota and counts as none.

use crate::compact::{Compact as _, Ruling};
use crate::decision::{Ask, Decision, Receipt};
use crate::quota::{Quota, SlidingLog};
use crate::state::{Change, State};
use crate::time::Timestamp;
use crate::{fixed_window, leaky_bucket, lockout, sliding_counter, sliding_log, token_bucket};

/// Does one thing with the numbers of a log, or another, written once, with those of any other algorithm.
macro_rules! each {
    ($quota:expr, $log:ident => $with_log:expr, $compact:ident => $with_compact:expr) => {
        match $quota {
            Quota::SlidingLog($log) => $with_log,
            Quota::FixedWindow($compact) => $with_compact,
            Quota::SlidingCounter($compact) => $with_compact,
            Quota::TokenBucket($compact) => $with_compact,
            Quota::LeakyBucket($compact) => $with_compact,
            Quota::Lockout($compact) => $with_compact,
        }
    };
}

/// An answer, and what it would write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub decision: Decision,
    /// What to write if the whole request is admitted; on a refusal, what to write at any rate.
    pub change: Change,
    /// The receipt of the charge, when there is one.
    pub receipt: Option<Receipt>,
}

/// Decides whether a request may pass and what it leaves behind.
///
/// A refused request takes nothing: its change only re-dates a state dated after `now`. An ask for zero units is
/// admitted and changes nothing.
// Inlined into the stores, which are other crates: a call that moves its outcome around takes twice as long.
#[inline]
pub fn decide(quota: &Quota, state: Option<&State>, ask: Ask, now: Timestamp) -> Outcome {
    each!(quota, log => decide_log(*log, state, ask, now), compact => {
        let held = state.and_then(|state| compact.held(state));
        let Ruling { decision, put, receipt } = compact.rule(held, ask, now);
        let change = put.map_or(Change::Keep, |put| Change::Put(compact.state(put)));
        Outcome { decision, change, receipt }
    })
}

fn decide_log(quota: SlidingLog, state: Option<&State>, ask: Ask, now: Timestamp) -> Outcome {
    let log = state.and_then(State::as_log);
    let evaluated = sliding_log::decide(quota, log, ask, now);
    let Ruling { decision, put, receipt } = Ruling::new(evaluated, ask, || sliding_log::redate(log?, now));
    Outcome { decision, change: put.map_or(Change::Keep, Change::Edit), receipt }
}

/// Tells what [`decide`] would answer, and what is there without it: the answer is for the ask, the numbers are
/// those of the untouched state. Nothing is written, not even a new date.
pub fn peek(quota: &Quota, state: Option<&State>, ask: Ask, now: Timestamp) -> Decision {
    let asked = evaluate(quota, state, ask, now);
    let untouched = evaluate(quota, state, Ask::units(0), now);
    Decision { answer: asked.answer, ..untouched }
}

/// Re-dates a state dated after `now` to `now`, its counts and credit kept.
///
/// A batch that is refused because of another limit writes this and nothing else.
pub fn settle(quota: &Quota, state: Option<&State>, now: Timestamp) -> Change {
    each!(quota, _log => {
        let redated = state.and_then(State::as_log).and_then(|log| sliding_log::redate(log, now));
        redated.map_or(Change::Keep, Change::Edit)
    }, compact => {
        let redated = state.and_then(|state| compact.redate(compact.held(state)?, now));
        redated.map_or(Change::Keep, |state| Change::Put(compact.state(state)))
    })
}

/// Gives a charge back, never leaving more than if the request had not been made.
///
/// The caller sees to it that a receipt is used once. Where the charge can no longer be told apart (its window or its
/// lock is over, the bucket has refilled, another slot has become the tail) nothing is given. Without the charge that
/// opened a window the window would end later, so its refund may put the end off. The promise holds while, between
/// the charge and its refund, time does not go back and the quota stays the same. A bucket's level is told by an
/// instant up to one unit's time ago, so in that time after the epoch a refund may come out up to a unit short.
pub fn refund(quota: &Quota, state: Option<&State>, receipt: &Receipt, now: Timestamp) -> Change {
    let put = match (quota, state) {
        (Quota::FixedWindow(quota), Some(state)) => quota
            .held(state)
            .and_then(|window| fixed_window::refund(*quota, window, receipt, now))
            .map(|window| quota.state(window)),
        (Quota::SlidingLog(_), Some(State::Log(_))) => return Change::Edit(sliding_log::refund(receipt)),
        (Quota::SlidingCounter(quota), Some(State::Counter(counter))) => {
            sliding_counter::refund(*quota, *counter, receipt, now).map(State::Counter)
        }
        (Quota::TokenBucket(quota), Some(State::Credit(level))) => {
            token_bucket::refund(*quota, *level, receipt, now).map(State::Credit)
        }
        (Quota::LeakyBucket(quota), Some(State::Backlog(level))) => {
            leaky_bucket::refund(*quota, *level, receipt, now).map(State::Backlog)
        }
        (Quota::Lockout(quota), Some(State::Lock(lock))) => {
            lockout::refund(*quota, *lock, receipt, now).map(State::Lock)
        }
        _ => None,
    };
    put.map_or(Change::Keep, Change::Put)
}

/// Returns the instant from which no decision differs from a fresh state's, `now` when none does already;
/// [`Timestamp::MAX`] also stands for every later one.
///
/// A state dated after `now` is judged as it stands: until it is re-dated, so may any decision before its date.
pub fn keep_until(quota: &Quota, state: &State, now: Timestamp) -> Timestamp {
    let micros = match (quota, state) {
        (Quota::FixedWindow(quota), state) => quota.held(state).map_or(0, fixed_window::keep_until),
        (Quota::SlidingLog(quota), State::Log(log)) => sliding_log::keep_until(*quota, log),
        (Quota::SlidingCounter(quota), State::Counter(counter)) => {
            sliding_counter::keep_until(*quota, *counter)
        }
        (Quota::TokenBucket(quota), State::Credit(level)) => token_bucket::keep_until(*quota, *level),
        (Quota::LeakyBucket(quota), State::Backlog(level)) => leaky_bucket::keep_until(*quota, *level),
        (Quota::Lockout(_), State::Lock(lock)) => lockout::keep_until(*lock),
        _ => 0,
    };
    Timestamp::saturating_from_micros(micros.max(now.as_micros()))
}

/// Evaluates an ask.
#[inline]
fn evaluate(quota: &Quota, state: Option<&State>, ask: Ask, now: Timestamp) -> Decision {
    each!(quota, log => sliding_log::decide(*log, state.and_then(State::as_log), ask, now).0, compact => {
        compact.evaluate(state.and_then(|state| compact.held(state)), ask, now).0
    })
}
