//! What an adversary's requests have touched, and the most that limits can admit for it.
//!
//! A request has to pass every limit it asks. A limit lets through at most its bound for every key that is counted apart: one
//! for each distinct key in each store, and one more each time the store begins anew or a success wipes a key that the
//! adversary has used. What a success gave back took nothing, and comes on top. So all requests together are at most the
//! smallest, over the limits that all of them ask, of the sum of the limit's bounds over its keys, divided by the units that
//! a request takes, and of those that gave back.
//!
//! That holds however stores are run, as long as each is right by itself. A clock that is off by as much all the time moves
//! a store's windows and changes none of its bounds. A replica that learns of others' charges is only stricter for it, and
//! counts as a store of its own. Stores that are wrong on purpose are held to nothing
//! ([`World::holds_to_bounds`](super::World::holds_to_bounds)): for them this is what a right one would have admitted, but
//! for clocks. Where everybody's own clock says which window of a shared count it is, a span s meets as many as one of
//! s + 2δ does by one clock.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use tidegate::{AskedLimit, Counts, OnSuccess, Prepared, Quota};
use tidegate_algorithms::{Span, Timestamp};

use super::instance::Arriving;
use crate::act::Role;

/// So many distinct keys are told apart; what comes after counts as new each time, which only raises the bound.
const MOST_DISTINCT: usize = 1 << 22;

/// What was touched of one limit under one quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The limit's name.
    pub limit: String,
    /// The quota.
    pub quota: Quota,
    /// The fewest units a request took; at least one.
    pub cost: u32,
    /// How many keys were counted apart.
    pub keys: u64,
    /// How many requests gave back what they took.
    pub given_back: u64,
    /// When there last was room that the closed forms of the keys before know nothing of: a key more, or something given back.
    pub last_room: Timestamp,
}

/// What the adversary's requests have touched of every limit that refuses.
#[derive(Debug, Default)]
pub struct Exposure {
    touched: Vec<Touched>,
    /// How many distinct requests there were, and how many of them asked each limit.
    requests: u64,
    asked: BTreeMap<String, u64>,
    distinct: HashSet<u64>,
    epoch: u64,
}

impl Exposure {
    /// Notes a request that was not made before in this epoch, at one store.
    pub(super) fn touch(&mut self, prepared: &Prepared, store: usize, at: Timestamp) {
        self.requests = self.requests.saturating_add(1);
        for asked in prepared.asked().filter(is_refusing) {
            let count = self.asked.entry(asked.limit.name().to_owned()).or_default();
            *count = count.saturating_add(1);
            let (part, key) = self.part_and_key(&asked, store);
            let is_full = self.distinct.len() >= MOST_DISTINCT;
            let is_new = is_full || self.distinct.insert(key);
            if let Some(touched) = self.touched.get_mut(part) {
                touched.cost = touched.cost.min(asked.cost);
                touched.keys = touched.keys.saturating_add(is_new.into());
                if is_new {
                    touched.last_room = at;
                }
            }
        }
    }

    /// Notes what a success did: that it wiped the keys of limits that it resets, or gave back what an adversary's request
    /// took of others. A key that no adversary has used is none of his bound's.
    pub(super) fn succeeded(&mut self, prepared: &Prepared, store: usize, (role, at): (Role, Timestamp)) {
        for asked in prepared.asked().filter(is_refusing) {
            let Counts::Failures { on_success, .. } = asked.limit.counts() else { continue };
            let (part, key) = self.part_and_key(&asked, store);
            let is_used = self.distinct.len() >= MOST_DISTINCT || self.distinct.contains(&key);
            let Some(touched) = self.touched.get_mut(part) else { continue };
            let is_room = match on_success {
                OnSuccess::Reset => is_used,
                OnSuccess::Refund => role == Role::Adversary,
            };
            if !is_room {
                continue;
            }
            touched.last_room = at;
            let count = match on_success {
                OnSuccess::Reset => &mut touched.keys,
                OnSuccess::Refund => &mut touched.given_back,
            };
            *count = count.saturating_add(1);
        }
    }

    /// Notes that stores begin anew: what is touched from now on counts apart.
    pub(super) fn begin_anew(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns what was touched of every limit, each under each of its quotas.
    pub fn touched(&self) -> &[Touched] {
        &self.touched
    }

    /// Returns the most requests that can have passed in a half-open span; `None` when no limit holds them all.
    pub fn most_in_half_open(&self, span: Span) -> Option<u128> {
        self.most(|quota| quota.most_in_half_open(span), |_| true)
    }

    /// Returns the most requests that can have passed within a closed span from the first one, on stores that were fresh;
    /// `None` when no limit holds them all.
    pub fn most_from_idle(&self, horizon: Span) -> Option<u128> {
        self.most(|quota| quota.most_from_idle(horizon), |_| true)
    }

    /// Returns the same of those limits alone of which there was no new room from an instant on; `None` when none of them
    /// holds them all.
    pub fn most_from_idle_settled(&self, horizon: Span, since: Timestamp) -> Option<u128> {
        self.most(|quota| quota.most_from_idle(horizon), |touched| touched.last_room < since)
    }

    fn most(&self, bound: impl Fn(&Quota) -> u128, counts: impl Fn(&Touched) -> bool) -> Option<u128> {
        let holds_all = self.asked.iter().filter(|(_, asked)| **asked == self.requests);
        let parts = holds_all.map(|(name, _)| self.parts(name));
        let of_limit = parts.filter(|parts| parts.iter().all(|touched| counts(touched))).map(|parts| {
            let units = parts.iter().map(|touched| {
                let each = bound(&touched.quota).checked_div(touched.cost.into()).unwrap_or(u128::MAX);
                each.saturating_mul(touched.keys.into()).saturating_add(touched.given_back.into())
            });
            units.fold(0, u128::saturating_add)
        });
        of_limit.min()
    }

    /// Returns what was touched of a limit under each of its quotas.
    fn parts(&self, name: &str) -> Vec<&Touched> {
        self.touched.iter().filter(|touched| touched.limit == name).collect()
    }

    /// Returns the index of a limit under its quota in what was touched, and a number for its key in a store by which it is
    /// told apart.
    fn part_and_key(&mut self, asked: &AskedLimit<'_>, store: usize) -> (usize, u64) {
        let (name, quota) = (asked.limit.name(), asked.limit.quota());
        let found = self.touched.iter().position(|touched| touched.limit == name && touched.quota == *quota);
        let part = found.unwrap_or_else(|| {
            let (limit, quota, cost) = (name.to_owned(), *quota, asked.cost);
            self.touched.push(Touched {
                limit,
                quota,
                cost,
                keys: 0,
                given_back: 0,
                last_room: Timestamp::EPOCH,
            });
            self.touched.len().saturating_sub(1)
        });
        let mut hasher = DefaultHasher::new();
        (part, asked.key, store, self.epoch).hash(&mut hasher);
        (part, hasher.finish())
    }
}

/// What all adversaries have touched together, and each of those that are told apart.
#[derive(Debug, Default)]
pub(super) struct Exposures {
    pub(super) all: Exposure,
    pub(super) each: Vec<Exposure>,
}

impl Exposures {
    pub(super) fn touch(&mut self, prepared: &Prepared, store: usize, request: &Arriving<'_>) {
        self.all.touch(prepared, store, request.at);
        if let Some(own) = self.each.get_mut(request.party) {
            own.touch(prepared, store, request.at);
        }
    }

    /// Notes what a success did, for all whose keys it was about: of the others' point of view it was a person's.
    pub(super) fn succeeded(&mut self, prepared: &Prepared, store: usize, request: &Arriving<'_>) {
        self.all.succeeded(prepared, store, (request.role, request.at));
        for (party, exposure) in self.each.iter_mut().enumerate() {
            let role = if party == request.party { request.role } else { Role::Person };
            exposure.succeeded(prepared, store, (role, request.at));
        }
    }

    pub(super) fn begin_anew(&mut self) {
        self.all.begin_anew();
        self.each.iter_mut().for_each(Exposure::begin_anew);
    }

    pub(super) fn epoch(&self) -> u64 {
        self.all.epoch()
    }
}

/// Returns whether a limit can refuse the request: neither one that only looks on, nor one of which it takes nothing.
fn is_refusing(asked: &AskedLimit<'_>) -> bool {
    !asked.limit.is_shadow() && asked.cost > 0
}
