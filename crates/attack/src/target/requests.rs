//! Requests that a rule of a policy applies to, made of somebody's coordinates; for a rule for Envoy's descriptors, calls
//! about one ([`call`]).
//!
//! Several are tried ([`route`]), each with what the rules that apply read in it ([`fill`]) and what stands in front
//! ([`front`]); [`search`] keeps the one that asks all of the rule's limits and the fewest others, for the fewest units, as
//! somebody would who has read the policy. What an adversary reads ([`aim`]) is seen from the keys of such requests.

mod aim;
mod call;
mod calls;
mod entries;
mod fill;
mod front;
mod json;
mod made;
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
use tidegate_policy::{Mode, Policy, Rule};

use super::Target;
use crate::act::Who;
use crate::adversary::Aim;
use made::Made;
use search::Aimed;
use unreachable::Why;

pub use unreachable::Unreachable;
pub use wire::Wire;

/// Requests for one rule of a policy.
#[derive(Debug, Clone)]
pub struct Requests {
    policy: Arc<Policy>,
    made: Made,
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
        let is_for_calls = found.is_some_and(|rule| made::is_for_calls(&policy, rule));
        let fail = |why| Unreachable::new(name, why, is_for_calls);
        let aimed = found.ok_or_else(|| fail(Why::NoRule))?;
        match &aimed.refuse {
            Some(_) if aimed.mode == Mode::Enforce => return Err(fail(Why::Refuses)),
            _ if aimed.envoy.unlimited => return Err(fail(Why::Unlimited)),
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
        let made = aimed.search().map_err(fail)?;
        let aim = aim::aim(aimed, &made);
        Ok(Self { policy, made, aim })
    }

    /// Returns whether what a rule limits comes as Envoy's calls about descriptors alone, and never over HTTP.
    pub fn come_as_calls(policy: &Policy, rule: &Rule) -> bool {
        made::is_for_calls(policy, rule)
    }

    /// Returns whether these are calls about descriptors.
    pub fn are_calls(&self) -> bool {
        self.made.is_call()
    }

    /// Returns what an adversary knows who has read the policy.
    pub fn aim(&self) -> Aim {
        self.aim.clone()
    }

    /// Returns the highest [`Who::spelling`] that is a spelling of its own: 0 where nobody who calls writes whom a request
    /// is about.
    pub fn spellings(&self) -> u8 {
        if self.made.is_spelled() { u8::MAX } else { 0 }
    }

    /// Makes somebody's request as it is sent; `None` where only Envoy asks, by calls about descriptors.
    pub fn wire(&self, who: &Who) -> Option<Wire> {
        match &self.made {
            Made::Request(shape) => Some(shape.wire(who)),
            Made::Call(_) => None,
        }
    }
}

impl Target for Requests {
    fn limiter(&self, store: Arc<dyn Store>) -> Result<Limiter, BuildError> {
        Limiter::from_policy_with((*self.policy).clone(), store)
    }

    fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Option<Prepared> {
        self.made.prepare(snapshot, who).ok()
    }

    fn tells_outcomes(&self) -> bool {
        !self.made.is_call()
    }
}
