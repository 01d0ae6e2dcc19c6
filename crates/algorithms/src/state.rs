//! What a limit remembers about a key, and how a decision changes it.
//!
//! State is made of instants, counts and fractions of one, never of a quota's own units, so that after a change of
//! numbers it still means something: the count stays, and is held against the new numbers.

use crate::fixed_window::Window;
use crate::level::Level;
use crate::lockout::Lock;
use crate::sliding_counter::Counter;
use crate::sliding_log::{Log, LogEdit};

/// The state of one limit for one key. No state is the fresh state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// Of a fixed window on the clock or the calendar.
    ClockWindow(Window),
    /// Of a fixed window from the first hit.
    HitWindow(Window),
    /// Of a sliding log.
    Log(Log),
    /// Of a sliding counter.
    Counter(Counter),
    /// Of a token bucket: credit.
    Credit(Level),
    /// Of a leaky bucket: work ahead.
    Backlog(Level),
    /// Of a lockout.
    Lock(Lock),
}

impl State {
    /// Returns the log, if it is one.
    #[inline]
    pub(crate) fn as_log(&self) -> Option<&Log> {
        if let Self::Log(log) = self { Some(log) } else { None }
    }

    /// Returns the counts of a sliding counter, if they are.
    #[inline]
    pub(crate) fn as_counter(&self) -> Option<Counter> {
        if let Self::Counter(counter) = self { Some(*counter) } else { None }
    }

    /// Returns the credit of a token bucket, if it is one.
    #[inline]
    pub(crate) fn as_credit(&self) -> Option<Level> {
        if let Self::Credit(level) = self { Some(*level) } else { None }
    }

    /// Returns the work ahead of a leaky bucket, if it is one.
    #[inline]
    pub(crate) fn as_backlog(&self) -> Option<Level> {
        if let Self::Backlog(level) = self { Some(*level) } else { None }
    }

    /// Returns the attempts and the lock of a lockout, if they are.
    #[inline]
    pub(crate) fn as_lock(&self) -> Option<Lock> {
        if let Self::Lock(lock) = self { Some(*lock) } else { None }
    }
}

/// What a decision writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// This state in place of the one decided on.
    Put(State),
    /// An edit of the log decided on, or of an empty one.
    Edit(LogEdit),
}

impl Change {
    /// Carries the change out on the state it was decided on.
    #[inline]
    pub fn apply(self, state: &mut Option<State>) {
        match self {
            Self::Keep => {}
            Self::Put(new) => *state = Some(new),
            Self::Edit(edit) => {
                if !matches!(state, Some(State::Log(_))) {
                    *state = Some(State::Log(Log::default()));
                }
                if let Some(State::Log(log)) = state {
                    log.apply(&edit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    /// A store keeps millions of these: one more word in the largest is eight megabytes a million keys.
    #[test]
    fn a_state_and_whether_there_is_one_are_four_words() {
        assert_eq!(size_of::<Option<State>>(), 32);
    }
}
