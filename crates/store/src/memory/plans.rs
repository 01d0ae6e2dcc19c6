//! Keys that come with another quota than their state was last written under: after a reload, or on another plan.
//!
//! The current state of a key is in one table of its limit, whatever quota it came with. Under another it is carried over
//! first, to the table of the other's algorithm, and the state that is left stays in its own under a name derived from
//! the key and its quota where it says more than the one that comes ([`crate::plans`]), and as long as it means something.
//! Without room for both, the one that comes takes the place of the one that goes.

use siphasher::sip128::SipHasher13;
use smallvec::SmallVec;
use tidegate_algorithms::{Change, Quota, State};

use super::digest::LEFT;
use super::overflow::Newcomer;
use super::room::Account;
use super::shard::LimitStates;
use super::snapshot::code;
use super::states::{Entry, States};
use crate::check::{Algorithm, KeyDigest};
use crate::plans::{Held, Plans, is_worth_keeping, stricter};

impl LimitStates {
    /// Returns the states of the quota's algorithm and the account.
    #[inline]
    pub(super) fn of(&mut self, quota: &Quota) -> Option<(&mut States, &Account)> {
        let algorithm = Algorithm::of(quota);
        let states = self.states.iter_mut().find(|states| states.algorithm() == algorithm)?;
        Some((states, &self.account))
    }

    /// Returns whether a check of this quota meets a state that is not one to forget.
    pub(super) fn has_live(&self, key: KeyDigest, newcomer: Newcomer<'_>) -> bool {
        let live = |states: &States| states.find_live(key, newcomer.now).is_some();
        self.states.iter().any(live) || self.left(key, newcomer).is_some()
    }

    /// Returns the state that a check of this quota meets.
    pub(super) fn state(&self, key: KeyDigest, newcomer: Newcomer<'_>) -> Option<State> {
        let Newcomer { quota, now, .. } = newcomer;
        let current = self.states.iter().find_map(|states| Some((states, states.find_live(key, now)?)));
        let left = || self.left(key, newcomer).and_then(|(states, slot)| Some(states.held(slot)?.0));
        match current {
            Some((states, slot)) if states.is_under(slot, quota) => states.read(slot, &mut None).cloned(),
            Some((states, slot)) => stricter(quota, states.carry(slot, quota, now), left(), now),
            None => left(),
        }
    }

    /// Adds the current state of a key to `plans`, and the one that was left under this quota.
    pub(super) fn load(&self, key: KeyDigest, newcomer: Newcomer<'_>, plans: &mut Plans) {
        if plans.current.is_none() {
            plans.current = self.current(key, newcomer);
        }
        let left = self.left(key, newcomer).and_then(|(states, slot)| states.held(slot));
        plans.left.extend(left.filter(|_| plans.left.iter().all(|(_, quota)| quota != newcomer.quota)));
    }

    /// Writes a change that was decided on [`LimitStates::state`], and that with it; tells whether there was any. A state
    /// that is as good as fresh under the quota is not written until something is charged.
    pub(super) fn rewrite(&mut self, key: KeyDigest, newcomer: Newcomer<'_>, change: &Change) -> bool {
        let quota = newcomer.quota;
        let current = self.find_any(key);
        if let Some((at, slot)) = current
            && let Some(states) = self.states.get_mut(at).filter(|states| states.is_under(slot, quota))
        {
            states.write(slot, quota, change, &self.account);
            return true;
        }
        if current.is_none() && self.left(key, newcomer).is_none() {
            return false;
        }
        let state = self.state(key, newcomer);
        if state.is_some() || *change != Change::Keep {
            let placed = self.take_left(key, newcomer);
            let placed = self.leave(key, newcomer, (placed, state.as_ref()));
            if let Some((states, account)) = self.of(quota).filter(|_| placed) {
                states.insert(Entry { key, quota, seed: state.as_ref() }, change, account);
            }
            self.changed = true;
        }
        true
    }

    /// Takes out the state that was left under this quota, and keeps its place claimed; `false` when there is none.
    fn take_left(&mut self, key: KeyDigest, newcomer: Newcomer<'_>) -> bool {
        let name = left_name(key, newcomer.quota);
        let Some((states, account)) = self.of(newcomer.quota) else { return false };
        let Some(slot) = states.find_any(name) else { return false };
        states.cede(slot, account);
        states.adopt_place();
        true
    }

    /// Leaves the current state of a key where a check of its own quota will find it, if that is worth a place, and
    /// claims one for the `next` unless it is `placed`. Else, and without room for both, the next has that of the one that
    /// goes.
    fn leave(
        &mut self,
        key: KeyDigest,
        newcomer: Newcomer<'_>,
        (placed, next): (bool, Option<&State>),
    ) -> bool {
        let Newcomer { quota, now, .. } = newcomer;
        let gone = self.current(key, newcomer).filter(|gone| is_worth_keeping(gone, next, quota, now));
        let bytes = if let Some(State::Log(log)) = next { log.heap_bytes() } else { 0 };
        let claimed = placed
            || gone.is_some()
                && self.of(quota).is_some_and(|(states, account)| states.claim_place(bytes, account));
        // Whatever was claimed or taken out may have moved it.
        let Some((at, slot)) = self.find_any(key) else { return claimed };
        match (gone, self.states.get_mut(at)) {
            (Some((_, old)), Some(states)) if claimed => {
                states.rename(key, left_name(key, &old), &self.account);
            }
            _ => self.give_up((at, slot), quota, claimed),
        }
        true
    }

    /// Empties a slot, and has its place claimed under a quota unless another is `placed`.
    fn give_up(&mut self, (at, slot): (usize, usize), quota: &Quota, placed: bool) {
        if let Some(states) = self.states.get_mut(at) {
            states.cede(slot, &self.account);
        }
        match self.of(quota).filter(|_| !placed) {
            Some((states, _)) => states.adopt_place(),
            None => self.account.release_key(),
        }
    }

    /// Returns the current state of a key with its quota, unless it is one to forget.
    fn current(&self, key: KeyDigest, newcomer: Newcomer<'_>) -> Option<Held> {
        self.states.iter().find_map(|states| states.held(states.find_live(key, newcomer.now)?))
    }

    /// Returns where the state is that was left under this quota, unless it is one to forget.
    fn left(&self, key: KeyDigest, newcomer: Newcomer<'_>) -> Option<(&States, usize)> {
        if !self.changed {
            return None;
        }
        let algorithm = Algorithm::of(newcomer.quota);
        let states = self.states.iter().find(|states| states.algorithm() == algorithm)?;
        let slot = states.find_live(left_name(key, newcomer.quota), newcomer.now)?;
        Some((states, slot))
    }

    /// Drops the state of a key, one to forget, and claims its place for a new one; `false` when it has none.
    pub(super) fn keep_place(&mut self, key: KeyDigest, quota: &Quota) -> bool {
        let place = self.find_any(key);
        if let Some(place) = place {
            self.give_up(place, quota, false);
        }
        place.is_some()
    }

    /// Claims for `to` the place that is claimed for `from`.
    pub(super) fn hand_over(&mut self, from: &Quota, to: &Quota) {
        if let Some((states, account)) = self.of(from) {
            states.cede_claim(account);
        }
        match self.of(to) {
            Some((states, _)) => states.adopt_place(),
            None => self.account.release_key(),
        }
    }

    /// Forgets a key.
    pub(super) fn forget(&mut self, key: KeyDigest) {
        for states in &mut self.states {
            let quotas = if self.changed { states.quotas() } else { &[] };
            let names: SmallVec<[KeyDigest; 4]> = quotas.iter().map(|quota| left_name(key, quota)).collect();
            for name in std::iter::once(key).chain(names) {
                if let Some(slot) = states.find_any(name) {
                    states.remove(slot, &self.account);
                }
            }
        }
    }

    /// Returns the current state of a key.
    pub(super) fn inspect(&self, key: KeyDigest) -> Option<State> {
        self.states.iter().find_map(|states| states.read(states.find_any(key)?, &mut None).cloned())
    }

    /// Returns the table and the slot of a key's current state, whatever that is.
    pub(super) fn find_any(&self, key: KeyDigest) -> Option<(usize, usize)> {
        self.states.iter().enumerate().find_map(|(at, states)| Some((at, states.find_any(key)?)))
    }
}

/// Returns the name under which a key's state of a quota is kept that is not its current one; and of such a name, the key.
///
/// It is the same in every build: names are kept by snapshots.
pub(super) fn left_name(key: KeyDigest, quota: &Quota) -> KeyDigest {
    let hash = SipHasher13::new().hash(&code(quota));
    let [first, second] = key.halves();
    // With the bit set it is never zero, which marks an empty slot of a table.
    KeyDigest::from_halves([first ^ hash.h1, second ^ (hash.h2 | LEFT)])
}
