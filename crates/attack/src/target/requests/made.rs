//! What somebody's coordinates become: a request, or a call about one of Envoy's descriptors.

use std::net::IpAddr;

use tidegate::{Prepared, Ruling, Snapshot};
use tidegate_policy::{Policy, Rule, Seen};

use super::call::Call;
use super::search::prepare;
use super::unreachable::Why;
use super::wire::{Shape, Wire};
use crate::act::Who;

/// What is made for a rule.
#[derive(Debug, Clone)]
pub(super) enum Made {
    /// A request over HTTP.
    Request(Box<Shape>),
    /// A call of Envoy's.
    Call(Call),
}

/// Returns whether what a rule limits comes as Envoy's calls alone.
pub(super) fn is_for_calls(policy: &Policy, rule: &Rule) -> bool {
    let asked_by_envoy = policy.envoy.is_some() && policy.gateway.is_none() && policy.api.is_none();
    let names_one = rule.matches.iter().any(|matcher| matcher.descriptor.is_some());
    names_one || rule.matches.is_empty() && asked_by_envoy
}

impl Made {
    /// Plans somebody's.
    ///
    /// # Errors
    /// With the ruling, when it is refused whatever the store says.
    pub(super) fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Result<Prepared, Ruling> {
        match self {
            Self::Request(shape) => prepare(snapshot, &shape.wire(who)),
            Self::Call(call) => call.prepare(snapshot, who),
        }
    }

    /// Looks at somebody's as the policy does.
    ///
    /// # Errors
    /// When it can be read in several ways.
    pub(super) fn seen<T>(
        &self,
        policy: &Policy,
        who: &Who,
        look: impl FnOnce(&Seen<'_>) -> T,
    ) -> Result<T, Why> {
        match self {
            Self::Request(shape) => of_wire(policy, &shape.wire(who), look),
            Self::Call(call) => Ok(call.seen(policy, who, look)),
        }
    }

    /// Returns the client's address as the policy sees it.
    pub(super) fn client(&self, policy: &Policy, who: &Who) -> Option<IpAddr> {
        self.seen(policy, who, |seen| seen.client().map(|client| client.address)).ok().flatten()
    }

    /// Returns how many countries' phone numbers subjects have.
    pub(super) fn countries(&self) -> u32 {
        match self {
            Self::Request(shape) => shape.filling.as_ref().map_or(1, |filling| filling.phones.countries()),
            Self::Call(call) => call.phones.countries(),
        }
    }

    /// Returns whether whoever calls writes whom a request is about, and may spell it otherwise.
    pub(super) fn is_spelled(&self) -> bool {
        match self {
            Self::Request(shape) => shape.slots().iter().any(super::fill::Slot::is_spelled),
            Self::Call(call) => call.entries.iter().any(|entry| entry.value.is_spelled()),
        }
    }

    /// Returns whether it is one of Envoy's calls.
    pub(super) fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

/// Looks at a request as the policy does.
///
/// # Errors
/// When it can be read in several ways.
pub(super) fn of_wire<T>(policy: &Policy, wire: &Wire, look: impl FnOnce(&Seen<'_>) -> T) -> Result<T, Why> {
    let request = wire.request();
    let seen = policy.see(&request).map_err(|ambiguous| Why::Bad(ambiguous.to_string()))?;
    Ok(look(&seen))
}
