//! The state that newcomers share when there is no room for their own.
//!
//! A flood of new keys must neither push out somebody who is being refused nor be let through uncounted, so those
//! for whom there is no room are counted together: one state a limit (and quota, where plans differ). It holds
//! every charge of each of them, so none gets more than its own state would have admitted; some get less, which is
//! what a flood costs. (A window from the first hit, opened by one and used by another, would end too early for the
//! other, so here each charge makes it last its whole length from then.) One that finds room later starts from a copy,
//! as does every newcomer until the shared state is as good as fresh: it may have been one of them. These states are
//! outside the room for keys and bytes; there are as many as quotas, and a shared log holds at most its own limit. A quota
//! that has none yet starts from the one that was written last, carried over, so that a key which changes its plan meets
//! its charges; one that goes to and fro between two that have both begun may use up each, once.

use std::collections::HashMap;

use tidegate_algorithms::{Change, Lock, Quota, State, Timestamp, Window, carry, keep_until};

use super::room::Account;
use super::snapshot::join;
use crate::check::LimitId;

#[derive(Debug)]
struct Shared {
    quota: Quota,
    state: Option<State>,
    /// When it was last written, by count: the latest is the best seed for a quota that has none.
    turn: u64,
}

impl Shared {
    fn keep_until(&self, now: Timestamp) -> Timestamp {
        self.state.as_ref().map_or(Timestamp::EPOCH, |state| keep_until(&self.quota, state, now))
    }
}

/// The shared states of all limits.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    limits: HashMap<LimitId, Vec<Shared>>,
    turn: u64,
    checks: u64,
}

/// Whose shared state is meant, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newcomer<'a> {
    pub(super) limit: LimitId,
    pub(super) quota: &'a Quota,
    pub(super) now: Timestamp,
}

impl Overflow {
    /// Returns the number of checks held against shared states so far.
    pub(super) fn checks(&self) -> u64 {
        self.checks
    }

    /// Counts a check that is held against a shared state.
    pub(super) fn count_check(&mut self) {
        self.checks += 1;
    }

    /// Returns the state that a newcomer shares or starts from: that of its own quota or, while there is none, the one
    /// that was written last, carried over and laid out in `scratch`, since a change of plan mints nothing.
    pub(super) fn state<'a>(
        &'a self,
        newcomer: Newcomer<'_>,
        scratch: &'a mut Option<State>,
    ) -> Option<&'a State> {
        let own = self.own_state(newcomer);
        if own.is_some() {
            return own;
        }
        let latest = self.live(newcomer).max_by_key(|shared| shared.turn)?;
        *scratch = carry(&latest.quota, latest.state.as_ref()?, newcomer.quota, newcomer.now);
        scratch.as_ref()
    }

    fn live(&self, newcomer: Newcomer<'_>) -> impl Iterator<Item = &Shared> {
        let Newcomer { limit, now, .. } = newcomer;
        self.limits.get(&limit).into_iter().flatten().filter(move |shared| shared.keep_until(now) > now)
    }

    /// Writes a change, decided on [`Overflow::state`], to the state that newcomers of this quota share, and what was
    /// carried over to it in any case.
    pub(super) fn write(&mut self, newcomer: Newcomer<'_>, change: &Change, account: &Account) {
        let Newcomer { limit, quota, now } = newcomer;
        let seed = match self.own_state(newcomer) {
            Some(_) => None,
            None => self.state(newcomer, &mut None).cloned(),
        };
        if seed.is_none() && *change == Change::Keep {
            return;
        }
        let shared = self.limits.entry(limit).or_default();
        shared.retain(|shared| shared.keep_until(now) > now);
        self.turn += 1;
        if let Some(held) = shared.iter_mut().find(|shared| shared.quota == *quota) {
            change.clone().apply(&mut held.state);
            held.turn = self.turn;
        } else {
            let mut state = seed;
            change.clone().apply(&mut state);
            shared.push(Shared { quota: *quota, state, turn: self.turn });
        }
        let until = shared.iter().map(|shared| shared.keep_until(now).as_micros()).max();
        account.set_shared_until(until.unwrap_or(0));
    }

    /// Returns every shared state with its limit and quota, the one written first before the others.
    pub(super) fn all(&self) -> Vec<(LimitId, &Quota, &State)> {
        let all = self.limits.iter().flat_map(|(limit, shared)| shared.iter().map(|shared| (*limit, shared)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(_, shared)| shared.turn);
        let held =
            all.into_iter().filter_map(|(limit, shared)| Some((limit, shared, shared.state.as_ref()?)));
        held.map(|(limit, shared, state)| (limit, &shared.quota, state)).collect()
    }

    /// Makes the state that newcomers share at least as strict as `state`, of a key that has no place any more.
    pub(super) fn join(&mut self, newcomer: Newcomer<'_>, state: &State, account: &Account) {
        let Newcomer { quota, now, .. } = newcomer;
        let mut scratch = None;
        let joined = match self.state(newcomer, &mut scratch) {
            Some(shared) => join(quota, shared, state, now),
            None => state.clone(),
        };
        self.put_back(newcomer, joined, account);
    }

    /// Puts a shared state in the place of what there is under its quota, as the one that was written last.
    pub(super) fn put_back(&mut self, newcomer: Newcomer<'_>, state: State, account: &Account) {
        let Newcomer { limit, quota, now } = newcomer;
        self.turn += 1;
        let shared = self.limits.entry(limit).or_default();
        shared.retain(|shared| shared.quota != *quota && shared.keep_until(now) > now);
        shared.push(Shared { quota: *quota, state: Some(state), turn: self.turn });
        let until = shared.iter().map(|shared| shared.keep_until(now).as_micros()).max();
        account.set_shared_until(until.unwrap_or(0));
    }

    /// Returns the shared state of this very quota.
    pub(super) fn own_state(&self, newcomer: Newcomer<'_>) -> Option<&State> {
        self.live(newcomer).find(|shared| shared.quota == *newcomer.quota)?.state.as_ref()
    }
}

/// Returns the state that a charge to a shared state, or to a copy of one, is decided on, where it is another one.
///
/// A window from the first hit, also of a lockout, may have been opened by somebody else long before. A key that came to
/// it from a window of its own, and found a fresh one soon after, would meet three windows within one length, where its
/// bound allows for two. It lasts its whole length from each charge instead.
pub(super) fn prolonged(quota: &Quota, state: &State, now: Timestamp) -> Option<State> {
    match (quota, state) {
        (Quota::FixedWindow(quota), State::HitWindow(window)) if window.ends_at > now.as_micros() => {
            let ends_at = now.as_micros().saturating_add(quota.window().as_micros());
            Some(State::HitWindow(Window { ends_at, ..*window }))
        }
        (Quota::Lockout(quota), State::Lock(lock))
            if lock.locked_until == 0 && lock.ends_at > now.as_micros() =>
        {
            let ends_at = now.as_micros().saturating_add(quota.within().as_micros());
            Some(State::Lock(Lock { ends_at, ..*lock }))
        }
        _ => None,
    }
}
