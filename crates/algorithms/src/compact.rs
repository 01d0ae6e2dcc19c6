//! The algorithms whose state is a few numbers: all but the sliding log.
//!
//! Whoever keeps millions of states packs them, and would spend most of a decision on making a [`State`] of one,
//! moving it about and taking it apart again. Here such a state is decided on as what it is.

#![allow(
    clippy::inline_always,
    reason = "a store has what is ruled written where it belongs only if all of it is one piece of code"
)]

use crate::decision::{Ask, Decision, Receipt};
use crate::fixed_window::{self, Window};
use crate::level::Level;
use crate::lockout::{self, Lock};
use crate::quota::{Anchor, FixedWindow, LeakyBucket, Lockout, Quota, SlidingCounter, TokenBucket};
use crate::sliding_counter::{self, Counter};
use crate::state::State;
use crate::time::Timestamp;
use crate::{leaky_bucket, token_bucket};

/// What [`decide`](crate::decide) tells, with the state to write as the algorithm knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling<S> {
    /// The answer.
    pub decision: Decision,
    /// What to write if the whole request is admitted; on a refusal, what to write at any rate.
    pub put: Option<S>,
    /// The receipt of the charge, when there is one.
    pub receipt: Option<Receipt>,
}

impl<S> Ruling<S> {
    /// Rules on what was evaluated. A refused request takes nothing: what it writes is a new date, if one is due.
    #[inline(always)]
    pub(crate) fn new(
        (decision, charge): (Decision, Option<(S, Receipt)>),
        ask: Ask,
        redated: impl FnOnce() -> Option<S>,
    ) -> Self {
        match charge {
            _ if ask.cost() == 0 => Self { decision, put: None, receipt: None },
            Some((put, receipt)) => Self { decision, put: Some(put), receipt: Some(receipt) },
            None => Self { decision, put: redated(), receipt: None },
        }
    }
}

/// The numbers of one of these algorithms.
pub trait Compact: Copy + PartialEq {
    /// What it remembers of a key.
    type State: Copy;

    /// Returns the numbers of a quota of this algorithm.
    fn of(quota: &Quota) -> Option<Self>;

    /// Returns the state as this algorithm knows it, `None` for another's.
    fn held(self, state: &State) -> Option<Self::State>;

    /// Returns the state as all know it.
    fn state(self, state: Self::State) -> State;

    /// Evaluates an ask: the decision, and what an admission writes.
    fn evaluate(
        self,
        state: Option<Self::State>,
        ask: Ask,
        now: Timestamp,
    ) -> (Decision, Option<(Self::State, Receipt)>);

    /// Returns the state to write for one dated after `now`, as [`settle`](crate::settle) does.
    fn redate(self, state: Self::State, now: Timestamp) -> Option<Self::State>;

    /// Decides as [`decide`](crate::decide) does.
    #[inline(always)]
    fn rule(self, state: Option<Self::State>, ask: Ask, now: Timestamp) -> Ruling<Self::State> {
        let evaluated = self.evaluate(state, ask, now);
        Ruling::new(evaluated, ask, || self.redate(state?, now))
    }
}

macro_rules! compact {
    ($quota:ident, $held:ty, $module:ident, |$numbers:ident, $state:ident| $of:expr, $wrap:expr) => {
        impl Compact for $quota {
            type State = $held;

            #[inline]
            fn of(quota: &Quota) -> Option<Self> {
                if let Quota::$quota(quota) = quota { Some(*quota) } else { None }
            }

            #[inline]
            fn held(self, $state: &State) -> Option<$held> {
                let $numbers = self;
                $of
            }

            #[inline]
            fn state(self, $state: $held) -> State {
                let $numbers = self;
                $wrap
            }

            #[inline(always)]
            fn evaluate(
                self,
                state: Option<$held>,
                ask: Ask,
                now: Timestamp,
            ) -> (Decision, Option<($held, Receipt)>) {
                $module::decide(self, state, ask, now)
            }

            #[inline]
            fn redate(self, state: $held, now: Timestamp) -> Option<$held> {
                $module::redate(self, state, now)
            }
        }
    };
}

compact!(
    FixedWindow,
    Window,
    fixed_window,
    |quota, state| window_of(quota, state),
    window_state(quota, state)
);
compact!(SlidingCounter, Counter, sliding_counter, |_quota, state| state.as_counter(), State::Counter(state));
compact!(TokenBucket, Level, token_bucket, |_quota, state| state.as_credit(), State::Credit(state));
compact!(LeakyBucket, Level, leaky_bucket, |_quota, state| state.as_backlog(), State::Backlog(state));
compact!(Lockout, Lock, lockout, |_quota, state| state.as_lock(), State::Lock(state));

#[inline]
fn window_of(quota: FixedWindow, state: &State) -> Option<Window> {
    match (quota.anchor, state) {
        (Anchor::Clock | Anchor::Calendar(_), State::ClockWindow(window))
        | (Anchor::FirstHit, State::HitWindow(window)) => Some(*window),
        _ => None,
    }
}

#[inline]
fn window_state(quota: FixedWindow, window: Window) -> State {
    match quota.anchor {
        Anchor::Clock | Anchor::Calendar(_) => State::ClockWindow(window),
        Anchor::FirstHit => State::HitWindow(window),
    }
}
