//! What is attacked, as an adversary who has read the policy knows it.

use tidegate::{OnStoreFailure, OnSuccess, Quota};
use tidegate_policy::{Class, Code, Price};

use crate::world::Setting;

/// What tells the keys of a limit apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a part that a key has or has not")]
pub struct Keyed {
    /// Whom the request is about.
    pub subject: bool,
    /// The client's address, cut to prefixes of so many bits of IPv4 and IPv6.
    pub address: Option<(u8, u8)>,
    /// What the caller gets anew when he likes: a session, a challenge, a cookie, a header field of his own.
    pub session: bool,
    /// The block of numbers that a phone number is of: all of it but the last four digits.
    pub range: bool,
    /// The country of a phone number.
    pub country: bool,
}

/// A limit that requests at the victim have to pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// Its name, `rule/limit`.
    pub name: String,
    /// Its numbers.
    pub quota: Quota,
    /// The units a request takes.
    pub cost: u32,
    /// What its keys are told apart by.
    pub keyed: Keyed,
    /// What a success does to it, if it counts failures only.
    pub failures: Option<OnSuccess>,
    /// What happens without its store.
    pub on_store_failure: OnStoreFailure,
}

/// What is attacked, as an adversary who has read the policy knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Aim {
    /// The rule's name.
    pub rule: String,
    /// The kind of endpoint it guards.
    pub class: Class,
    /// The code that is guessed at.
    pub code: Option<Code>,
    /// What a request costs its operator.
    pub price: Option<Price>,
    /// The limits that refuse, among them those of other rules that apply to the same requests.
    pub guards: Vec<Guard>,
    /// The index of the guard that a schedule is made for.
    pub focus: usize,
    /// How the limits are run.
    pub setting: Setting,
    /// Whether the address that a request itself claims is believed from anybody.
    pub believes_anybody: bool,
    /// Whether the keys that tell people apart are written in one spelling before they are compared.
    pub one_spelling: bool,
    /// The limits that a request for a new code has to pass, on the same coordinates: those of the rule that sends codes.
    pub senders: Vec<Guard>,
    /// Why every client comes from one address; `None` where clients come from their own.
    pub one_address: Option<OneAddress>,
}

/// Why every client comes from one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OneAddress {
    /// A proxy that nobody trusts stands in front.
    Proxy,
    /// Only this machine can connect. Where that is for trying it out, clients will come from their own addresses, and
    /// attacks from many are played all the same.
    Loopback,
}

impl OneAddress {
    /// Returns the id of the review's finding.
    pub fn finding(self) -> &'static str {
        match self {
            Self::Proxy => "proxies-not-trusted",
            Self::Loopback => "loopback-is-one-client",
        }
    }
}

impl Aim {
    /// Aims at one quota with nothing around it.
    pub fn at(quota: Quota) -> Self {
        let guard = Guard {
            name: "limit".to_owned(),
            quota,
            cost: 1,
            keyed: Keyed { subject: true, ..Keyed::default() },
            failures: None,
            on_store_failure: OnStoreFailure::Deny,
        };
        Self {
            rule: "limit".to_owned(),
            class: Class::Api,
            code: None,
            price: None,
            guards: vec![guard],
            focus: 0,
            setting: Setting::default(),
            believes_anybody: false,
            one_spelling: true,
            senders: Vec::new(),
            one_address: None,
        }
    }

    /// Returns the guard in focus; `None` when nothing limits at all.
    pub fn guard(&self) -> Option<&Guard> {
        self.guards.get(self.focus)
    }

    /// Returns what so many requests that pass cost the operator, and in what; `None` where they cost nothing.
    pub fn price_of(&self, requests: u64) -> Option<(u64, String)> {
        let price = self.price.as_ref()?;
        Some((requests.saturating_mul(price.each.into()), price.unit.clone()))
    }

    /// Returns how many requests the guard in focus admits at once, at most.
    pub fn burst(&self) -> u32 {
        self.guard().map_or(1, |guard| guard.quota.nominal().checked_div(guard.cost.max(1)).unwrap_or(1))
    }
}
