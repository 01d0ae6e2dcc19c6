//! What an adversary's requests have touched, and the most that limits can admit for it.
//!
//! A request has to pass every limit it asks. A limit lets through at most its bound for every key that is counted apart: one
//! for each distinct key in each store, and one more each time the store begins anew or a success wipes a key. So all
//! requests together are at most the smallest, over the limits that all of them ask, of the sum of the limit's bounds over
//! its keys, divided by the units that a request takes.
//!
//! That holds however stores are run, as long as each is right by itself. A clock that is off by as much all the time moves
//! a store's windows and changes none of its bounds. A replica that learns of others' charges is only stricter for it, and
//! counts as a store of its own. Stores that are wrong on purpose are held to nothing
//! ([`World::holds_to_bounds`](super::World::holds_to_bounds)): for them this is what a right one would have admitted, but
//! for clocks. Where everybody's own clock says which window of a shared count it is, a span s meets as many as one of
//! s + 2δ does by one clock.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use tidegate::{Counts, OnSuccess, Prepared, Quota};
use tidegate_algorithms::Span;

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
}

/// What the adversary's requests have touched of every limit that refuses.
#[derive(Debug, Default)]
pub struct Exposure {
    touched: Vec<Touched>,
    /// How many distinct requests there were, and how many of them asked each limit.
    requests: u64,
    asked: HashMap<String, u64>,
    distinct: HashSet<u64>,
    epoch: u64,
}

impl Exposure {
    /// Notes a request that was not made before in this epoch, at one store.
    pub(super) fn touch(&mut self, prepared: &Prepared, store: usize) {
        self.requests = self.requests.saturating_add(1);
        for asked in prepared.asked().filter(|asked| !asked.limit.is_shadow() && asked.cost > 0) {
            let name = asked.limit.name();
            let count = self.asked.entry(name.to_owned()).or_default();
            *count = count.saturating_add(1);
            let mut hasher = DefaultHasher::new();
            (name, asked.key, store, self.epoch).hash(&mut hasher);
            let is_full = self.distinct.len() >= MOST_DISTINCT;
            let is_new = is_full || self.distinct.insert(hasher.finish());
            let touched = self.of(name, asked.limit.quota(), asked.cost);
            touched.cost = touched.cost.min(asked.cost);
            touched.keys = touched.keys.saturating_add(is_new.into());
        }
    }

    /// Notes that a success wiped the keys of the limits that it resets.
    pub(super) fn wiped(&mut self, prepared: &Prepared) {
        for asked in prepared.asked() {
            if let Counts::Failures { on_success: OnSuccess::Reset, .. } = asked.limit.counts() {
                let touched = self.of(asked.limit.name(), asked.limit.quota(), asked.cost.max(1));
                touched.keys = touched.keys.saturating_add(1);
            }
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
        self.most(|quota| quota.most_in_half_open(span))
    }

    /// Returns the most requests that can have passed within a closed span from the first one, on stores that were fresh;
    /// `None` when no limit holds them all.
    pub fn most_from_idle(&self, horizon: Span) -> Option<u128> {
        self.most(|quota| quota.most_from_idle(horizon))
    }

    fn most(&self, bound: impl Fn(&Quota) -> u128) -> Option<u128> {
        let holds_all = self.asked.iter().filter(|(_, asked)| **asked == self.requests);
        let of_limit = holds_all.map(|(name, _)| {
            let parts = self.touched.iter().filter(|touched| touched.limit == *name);
            let units = parts.map(|touched| {
                let each = bound(&touched.quota).checked_div(touched.cost.into()).unwrap_or(u128::MAX);
                each.saturating_mul(touched.keys.into())
            });
            units.fold(0, u128::saturating_add)
        });
        of_limit.min()
    }

    fn of(&mut self, name: &str, quota: &Quota, cost: u32) -> &mut Touched {
        let found = self.touched.iter().position(|touched| touched.limit == name && touched.quota == *quota);
        let index = found.unwrap_or_else(|| {
            self.touched.push(Touched { limit: name.to_owned(), quota: *quota, cost, keys: 0 });
            self.touched.len().saturating_sub(1)
        });
        &mut self.touched[index]
    }
}
