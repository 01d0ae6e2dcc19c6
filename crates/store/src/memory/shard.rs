//! What lies behind one lock: for each limit its account and its states, one table an algorithm.
//!
//! A limit whose keys are on plans of different algorithms has a table for each, and the current state of a key is in one
//! of them.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_algorithms::{Quota, Timestamp};

use super::room::Account;
use super::states::States;
use crate::check::{Algorithm, LimitId};

/// The states behind one lock, by limit.
#[derive(Debug, Default)]
pub(super) struct Shard {
    /// In boxes: a limit that has nothing here takes a pointer, of which every shard may have one for each limit.
    limits: Vec<Option<Box<LimitStates>>>,
    /// Which limit was handed out last by [`Shard::another`].
    turn: usize,
    /// The latest instant of the clock at which something was asked here.
    latest: Timestamp,
}

/// The states of one limit.
#[derive(Debug)]
pub(super) struct LimitStates {
    pub(super) account: Arc<Account>,
    pub(super) states: SmallVec<[States; 1]>,
    /// Whether some key has ever changed its quota here, and may have left a state behind.
    pub(super) changed: bool,
}

impl Shard {
    /// Returns what the clock told, or the latest instant it told here before: time never goes back for what is kept here.
    #[inline]
    pub(super) fn instant(&mut self, told: Timestamp) -> Timestamp {
        self.latest = self.latest.max(told);
        self.latest
    }

    /// Returns the limit's states of the quota's algorithm and its account, `None` while there are none.
    #[inline]
    pub(super) fn get(&mut self, limit: LimitId, quota: &Quota) -> Option<(&mut States, &Account)> {
        self.limit(limit)?.of(quota)
    }

    /// Returns everything this shard has of a limit.
    #[inline]
    pub(super) fn limit(&mut self, limit: LimitId) -> Option<&mut LimitStates> {
        self.limits.get_mut(place(limit))?.as_deref_mut()
    }

    /// Returns everything this shard has of a limit, in turn of each, and of `limit` only when there is no other.
    pub(super) fn another(&mut self, limit: LimitId) -> Option<&mut LimitStates> {
        for _ in 0..2 {
            self.turn = (self.turn + 1).checked_rem(self.limits.len()).unwrap_or(0);
            if self.turn != place(limit) {
                break;
            }
        }
        self.limits.get_mut(self.turn)?.as_deref_mut()
    }

    /// Returns every limit this shard has something of.
    pub(super) fn all(&self) -> impl Iterator<Item = (LimitId, &LimitStates)> {
        let numbered = (0..).map(LimitId::from_index).zip(&self.limits);
        numbered.filter_map(|(id, limit)| Some((id, limit.as_deref()?)))
    }

    /// Makes a place for the limit's states of the quota's algorithm.
    pub(super) fn open(&mut self, limit: LimitId, quota: &Quota, account: &Arc<Account>) {
        self.open_of(limit, Algorithm::of(quota), account);
    }

    /// Makes a place for the limit's states of an algorithm that it has none of yet.
    pub(super) fn open_of(
        &mut self,
        limit: LimitId,
        algorithm: Algorithm,
        account: &Arc<Account>,
    ) -> Option<&mut States> {
        let place = place(limit);
        if self.limits.len() <= place {
            self.limits.resize_with(place.saturating_add(1), || None);
        }
        let limit = self.limits.get_mut(place)?.get_or_insert_with(|| {
            let (account, states) = (Arc::clone(account), SmallVec::new());
            Box::new(LimitStates { account, states, changed: false })
        });
        limit.states.push(States::new(algorithm));
        limit.states.last_mut()
    }
}

fn place(limit: LimitId) -> usize {
    usize::try_from(limit.index()).unwrap_or(usize::MAX)
}
