//! Requests that a rule of a policy applies to, made of somebody's coordinates.
//!
//! Several are tried ([`route`]), each with what the rules that apply read in it ([`fill`]) and what stands in front
//! ([`front`]); [`search`] keeps the one that asks all of the rule's limits and the fewest others, for the fewest units, as
//! somebody would who has read the policy. What an adversary reads ([`aim`]) is seen from the keys of such requests.

mod aim;
mod fill;
mod front;
mod json;
mod names;
mod phones;
mod route;
mod search;
mod unreachable;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tidegate::{BuildError, Limiter, MemoryOptions, MemoryStore, Prepared, Snapshot, Store};
use tidegate_policy::{Mode, Policy};

use super::Target;
use crate::act::Who;
use crate::adversary::Aim;
use search::{Aimed, prepare};
use unreachable::Why;
use wire::Shape;

pub use unreachable::Unreachable;
pub use wire::Wire;

/// Requests for one rule of a policy.
#[derive(Debug, Clone)]
pub struct Requests {
    policy: Arc<Policy>,
    shape: Shape,
    aim: Aim,
}

impl Requests {
    /// Makes requests for the rule of an index in [`Policy::rules`]; the fallback comes behind the last.
    ///
    /// # Errors
    /// When no request was found that the rule applies to and that any limit of it counts.
    pub fn new(policy: Arc<Policy>, rule: usize) -> Result<Self, Unreachable> {
        let found = policy.rules.iter().chain(&policy.fallback).nth(rule);
        let name = found.map_or("", |rule| rule.name.as_str());
        let fail = |why| Unreachable::new(name, why);
        let aimed = found.ok_or_else(|| fail(Why::NoRule))?;
        match &aimed.refuse {
            Some(_) if aimed.mode == Mode::Enforce => return Err(fail(Why::Refuses)),
            _ if aimed.limits.is_empty() => return Err(fail(Why::NoLimits)),
            _ => {}
        }
        // It is asked for keys, and for nothing that it would have to hold.
        let options = MemoryOptions { max_keys: 1, ..MemoryOptions::default() };
        let store = Arc::new(MemoryStore::with_secret(options, [0; 16]));
        let limiter = Limiter::from_policy_with((*policy).clone(), store);
        let snapshot = limiter.map_err(|error| fail(Why::Unbuilt(error.to_string())))?.snapshot();
        let index = (rule < policy.rules.len()).then_some(rule);
        let aimed = Aimed { policy: &policy, rule: aimed, index, snapshot: &snapshot };
        let shape = aimed.search().map_err(fail)?;
        let aim = aim::aim(aimed, &shape);
        Ok(Self { policy, shape, aim })
    }

    /// Returns what an adversary knows who has read the policy.
    pub fn aim(&self) -> Aim {
        self.aim.clone()
    }

    /// Returns the highest [`Who::spelling`] that is a spelling of its own: 0 where nobody who calls writes whom a request
    /// is about.
    pub fn spellings(&self) -> u8 {
        if self.shape.slots().iter().any(fill::Slot::is_spelled) { u8::MAX } else { 0 }
    }

    /// Makes somebody's request as it is sent.
    pub fn wire(&self, who: &Who) -> Wire {
        self.shape.wire(who)
    }
}

impl Target for Requests {
    fn limiter(&self, store: Arc<dyn Store>) -> Result<Limiter, BuildError> {
        Limiter::from_policy_with((*self.policy).clone(), store)
    }

    fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Option<Prepared> {
        prepare(snapshot, &self.wire(who)).ok()
    }
}
