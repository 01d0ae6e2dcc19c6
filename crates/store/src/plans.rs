//! What a limit remembers of one key that is asked about under several quotas: plans, overrides, changed numbers.
//!
//! The state it was last written under is carried over to another quota that comes ([`carry`]). That may lose what the
//! other cannot hold: a count above its limit, a window longer than its own. Then the state that is left is kept as long
//! as it means something, and whoever comes back to its quota meets it, unless what is carried back is stricter.
//! However a key goes to and fro, no plan then admits more than its own bound.

use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Change, Quota, State, Timestamp, carry, keep_until, peek};

use crate::check::Algorithm;

/// A state and the quota it was last written under.
pub type Held = (State, Quota);

/// The states of one key.
#[derive(Debug, Clone, Default)]
pub struct Plans {
    /// The state that was written last.
    pub current: Option<Held>,
    /// Those that were left for when their quota comes back.
    pub left: SmallVec<[Held; 2]>,
}

impl Plans {
    /// Forgets what cannot be told from a fresh state.
    pub fn forget(&mut self, now: Timestamp) {
        let live = |(state, quota): &Held| keep_until(quota, state, now) > now;
        self.current = self.current.take().filter(live);
        self.left.retain(|held| live(held));
    }

    /// Returns the state that a check is held against.
    pub fn state(&self, quota: &Quota, now: Timestamp) -> Option<State> {
        let left = || self.left.iter().find(|(_, of)| of == quota).map(|(state, _)| state.clone());
        match &self.current {
            Some((state, of)) if of == quota => Some(state.clone()),
            Some((state, of)) => stricter(quota, carry(of, state, quota, now), left(), now),
            None => left(),
        }
    }

    /// Writes a change that was decided on [`Plans::state`], and that with it: even if the change is none, unless it is
    /// as good as fresh.
    pub fn change(&mut self, quota: &Quota, change: &Change, now: Timestamp) {
        let before = self.state(quota, now);
        let mut state = before.clone();
        change.clone().apply(&mut state);
        let Some(state) = state else { return };
        let gone = self.current.replace((state, *quota)).filter(|(_, of)| of != quota);
        self.left.retain(|(_, of)| of != quota);
        let gone = gone.filter(|gone| is_worth_keeping(gone, before.as_ref(), quota, now));
        self.left.extend(gone);
    }
}

/// Returns the stricter of a state carried over to a quota and one that was left under it.
///
/// The one left when both leave as much: what is carried was charged just now, so that a key which goes to and fro while
/// it waits would wait for ever.
pub(crate) fn stricter(
    quota: &Quota,
    carried: Option<State>,
    left: Option<State>,
    now: Timestamp,
) -> Option<State> {
    let (Some(carried), Some(left)) = (&carried, &left) else { return carried.or(left) };
    let remaining = |state| peek(quota, Some(state), Ask::units(0), now).remaining;
    Some(if remaining(left) <= remaining(carried) { left.clone() } else { carried.clone() })
}

/// Tells whether a state that is left says anything that the one in its place under `to` does not: that less is left of
/// its own quota, or for longer. After a number was raised it does not, and there is no need for two. Where the algorithm is
/// another, or fewer units show, a third plan may lose what is carried, so that a key on a round of three would gain.
pub(crate) fn is_worth_keeping(gone: &Held, new: Option<&State>, to: &Quota, now: Timestamp) -> bool {
    let (state, from) = gone;
    let Some(new) = new else { return true };
    let used =
        |of: &Quota, state| of.nominal().saturating_sub(peek(of, Some(state), Ask::units(0), now).remaining);
    // Of a lockout an attempt is left by every change that comes from elsewhere.
    let is_raised = Algorithm::of(from) == Algorithm::of(to)
        && from.nominal() <= to.nominal()
        && !matches!(from, Quota::Lockout(_));
    if used(from, state) > if is_raised { used(to, new) } else { 0 } {
        return true;
    }
    let Some(back) = carry(to, new, from, now) else { return true };
    let remaining = |state| peek(from, Some(state), Ask::units(0), now).remaining;
    let until = keep_until(from, state, now);
    remaining(&back) > remaining(state)
        || keep_until(from, &back, now) < until
        || keep_until(to, new, now) < until
}
