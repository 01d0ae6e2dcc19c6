//! A state that meets another quota than it was written under: a change of plan, or of numbers.
//!
//! What is in use stays in use. Nothing is refilled, whatever the pair of quotas: time up to the change counts as the old
//! quota says, counts stay, windows and locks end no later than if they began now. Under another algorithm the units in
//! use, as many as it can hold, are charged to a fresh state at the instant of the change.

use crate::algorithm::{decide, keep_until, peek, window_state};
use crate::decision::Ask;
use crate::quota::Quota;
use crate::state::State;
use crate::time::Timestamp;
use crate::{fixed_window, leaky_bucket, lockout, sliding_counter, sliding_log, token_bucket};

/// Expresses a state last written under `from` for `to`, as of `now`; `None` where the result cannot be told from a
/// fresh state.
///
/// Just after, at most as many units remain under `to` as it admits at once less those in use under `from` (all it
/// admits at once less what a peek said remained); from bucket to bucket no more than remained. A lockout that was not
/// locked is not locked by this: one attempt is left. A state that is fresh under `from` is so under `to`, and one of
/// another algorithm than `from`'s counts as none.
pub fn carry(from: &Quota, state: &State, to: &Quota, now: Timestamp) -> Option<State> {
    if keep_until(from, state, now) <= now {
        return None;
    }
    let carried = if from == to { Some(state.clone()) } else { alike(from, state, to, now) };
    let carried = carried.or_else(|| charged(from, state, to, now))?;
    (keep_until(to, &carried, now) > now).then_some(carried)
}

/// Expresses a state for other numbers of the same algorithm.
fn alike(from: &Quota, state: &State, to: &Quota, now: Timestamp) -> Option<State> {
    Some(match (from, state, to) {
        (
            Quota::FixedWindow(_),
            State::ClockWindow(window) | State::HitWindow(window),
            Quota::FixedWindow(to),
        ) => window_state(*to, fixed_window::carry(*to, *window, now)),
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
