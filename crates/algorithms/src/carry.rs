//! A state that meets another quota than it was written under: a change of plan, or of numbers.
//!
//! What is in use stays in use. Nothing is refilled, whatever the pair of quotas: time up to the change counts as the old
//! quota says, counts stay, windows and locks end no later than if they began now. Under another algorithm the units in
//! use, as many as it can hold, are charged to a fresh state at the instant of the change.

use crate::algorithm::{decide, peek, settle};
use crate::compact::Compact as _;
use crate::decision::Ask;
use crate::quota::Quota;
use crate::state::State;
use crate::time::{Span, Timestamp};
use crate::{fixed_window, leaky_bucket, lockout, sliding_counter, sliding_log, token_bucket};

/// Expresses a state last written under `from` for `to`, as of `now`; `None` where the result cannot be told from a
/// fresh state.
///
/// Just after, `to` has left what it admits at once less the units in use under `from`, which are those it admits at once
/// less those a peek says remain; and never more. There are two exceptions. From token bucket to token bucket what
/// remains is what remained, at most the new capacity: credit is cut, never raised. And nobody is locked by a change:
/// unless the lockout is carried from one that was locked, or counted as many, an attempt is left.
///
/// A state that is as good as fresh under `from` is so under `to`, whether or not it had been forgotten; one of another
/// algorithm than `from`'s counts as none. What `to` cannot hold is forgotten, so a change there and back may leave
/// less in use than before.
pub fn carry(from: &Quota, state: &State, to: &Quota, now: Timestamp) -> Option<State> {
    let mut settled = Some(state.clone());
    settle(from, Some(state), now).apply(&mut settled);
    let settled = settled.filter(|state| !is_fresh(from, state, now))?;
    let carried = match alike(from, &settled, to, now) {
        _ if from == to => settled,
        Some(alike) => alike,
        None => charged(from, &settled, to, now)?,
    };
    (!is_fresh(to, &carried, now)).then_some(carried)
}

/// Returns whether a state cannot be told from a fresh one; also at the last instant, for which `keep_until` cannot say.
fn is_fresh(quota: &Quota, state: &State, now: Timestamp) -> bool {
    peek(quota, Some(state), Ask::units(0), now).reset_after == Span::ZERO
}

/// Expresses a state for other numbers of the same algorithm.
fn alike(from: &Quota, state: &State, to: &Quota, now: Timestamp) -> Option<State> {
    Some(match (from, state, to) {
        (
            Quota::FixedWindow(_),
            State::ClockWindow(window) | State::HitWindow(window),
            Quota::FixedWindow(to),
        ) => to.state(fixed_window::carry(*to, *window, now)),
        (Quota::SlidingLog(from), State::Log(log), Quota::SlidingLog(to)) => {
            State::Log(sliding_log::carry(*from, log, *to, now))
        }
        (Quota::SlidingCounter(from), State::Counter(counter), Quota::SlidingCounter(to)) => {
            State::Counter(sliding_counter::carry(*from, *counter, *to, now))
        }
        (Quota::TokenBucket(from), State::Credit(level), Quota::TokenBucket(to)) => {
            State::Credit(token_bucket::carry(*from, *level, *to, now))
        }
        (Quota::LeakyBucket(from), State::Backlog(level), Quota::LeakyBucket(to)) => {
            State::Backlog(leaky_bucket::carry(*from, *level, *to, now))
        }
        (Quota::Lockout(_), State::Lock(lock), Quota::Lockout(to)) => {
            State::Lock(lockout::carry(*to, *lock, now))
        }
        _ => return None,
    })
}

/// Charges what is in use under `from` to a fresh state of `to`.
fn charged(from: &Quota, state: &State, to: &Quota, now: Timestamp) -> Option<State> {
    let remaining = peek(from, Some(state), Ask::units(0), now).remaining;
    let used = from.nominal().saturating_sub(remaining);
    let most = match to {
        Quota::Lockout(to) => to.attempts.saturating_sub(1),
        _ => to.nominal(),
    };
    let mut fresh = None;
    decide(to, None, Ask::units(used.min(most)), now).change.apply(&mut fresh);
    fresh
}
