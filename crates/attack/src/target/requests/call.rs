//! A call about one of Envoy's descriptors, made of somebody's coordinates.
//!
//! Envoy's configuration says which entries there are, and what is asked says what stands in them. So an attacker chooses no
//! entry, and of their values those that are his to choose: whom a request is about, which path or session, and from where.

use std::net::IpAddr;

use http::HeaderMap;
use tidegate::{CheckOptions, DescriptorAsk, Prepared, Ruling, Snapshot, Span, Timestamp};
use tidegate_policy::{Counting, Descriptor, Policy, Seen};

use super::names::{Form, name};
use super::phones::Phones;
use crate::act::Who;

/// A call about one descriptor.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) domain: String,
    pub(super) entries: Vec<Entry>,
    pub(super) phones: Phones,
    pub(super) counting: Counting,
}

/// An entry of the descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Value,
}

/// What stands in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Always the same.
    Fixed(String),
    /// What a coordinate says, between texts that a pattern asks for.
    Says {
        /// What stands before it.
        before: String,
        /// What it says.
        what: What,
        /// What stands behind it.
        behind: String,
    },
}

/// What a value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Whom the request is about.
    Subject {
        /// What he is called like.
        form: Form,
        /// Whether whoever calls writes it, so that he can spell it otherwise; not where Envoy has found out who it is.
        spelled: bool,
    },
    /// What the caller gets anew: a session, or another path.
    Session,
    /// The client's address.
    Address,
    /// The network of it, as Envoy writes one that it was told no mask for: the whole address.
    Network,
}

impl Call {
    /// Plans somebody's call, at an instant at which no override holds that ends. Nobody holds a request for Envoy: what would
    /// have to wait is refused.
    ///
    /// # Errors
    /// With the ruling, when it is turned away whatever the store says.
    pub(super) fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Result<Prepared, Ruling> {
        let options =
            CheckOptions { at: Some(Timestamp::MAX), max_delay: Span::ZERO, ..CheckOptions::default() };
        self.described(who, |descriptor| {
            // Envoy asks for one hit unless it is told otherwise: as much as each limit's own cost says.
            let ask = DescriptorAsk { descriptor, hits: None, limit: None };
            let prepared = snapshot.prepare_descriptors(&[ask], self.counting, options);
            prepared.map_err(|verdict| verdict.ruling().clone())
        })
    }

    /// Looks at somebody's descriptor as the policy does.
    pub(super) fn seen<T>(&self, policy: &Policy, who: &Who, look: impl FnOnce(&Seen<'_>) -> T) -> T {
        let headers = HeaderMap::new();
        self.described(who, |descriptor| look(&policy.see_descriptor(descriptor, &headers, Timestamp::MAX)))
    }

    /// Makes somebody's descriptor.
    pub(super) fn described<T>(&self, who: &Who, take: impl FnOnce(Descriptor<'_>) -> T) -> T {
        let values: Vec<String> =
            self.entries.iter().map(|entry| entry.value.text(&self.phones, who)).collect();
        let pairs = self.entries.iter().zip(&values);
        let pairs: Vec<(&str, &str)> =
            pairs.map(|(entry, value)| (entry.key.as_str(), value.as_str())).collect();
        take(Descriptor { domain: &self.domain, entries: &pairs })
    }
}

impl Value {
    /// Returns whether whoever calls may spell it otherwise.
    pub(super) fn is_spelled(&self) -> bool {
        matches!(self, Self::Says { what: What::Subject { spelled: true, .. }, .. })
    }

    /// Returns what stands in somebody's entry.
    pub(super) fn text(&self, phones: &Phones, who: &Who) -> String {
        let Self::Says { before, what, behind } = self else {
            let Self::Fixed(text) = self else { return String::new() };
            return text.clone();
        };
        let said = match what {
            What::Subject { form, spelled } => {
                let spelling = if *spelled { who.spelling } else { 0 };
                // Around a field's value no blanks are left; its letters tell spellings apart as well.
                name(*form, phones, (who.subject, spelling), false).trim().to_owned()
            }
            What::Session => format!("session-{}", who.session),
            What::Address => who.address.to_string(),
            What::Network => match who.address {
                IpAddr::V4(address) => format!("{address}/32"),
                IpAddr::V6(address) => format!("{address}/128"),
            },
        };
        format!("{before}{said}{behind}")
    }
}
