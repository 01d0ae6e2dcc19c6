//! What is attacked, as an adversary who has read the policy knows it.

use tidegate::{OnStoreFailure, OnSuccess, Quota};
use tidegate_algorithms::Span;
use tidegate_policy::{Class, Code, Price};
use tidegate_review::USUAL_BUDGET;

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

impl Keyed {
    /// One key for everyone together.
    pub const EVERYONE: Self =
        Self { subject: false, address: None, session: false, range: false, country: false };

    /// Returns whether each account has one key, whoever asks about it.
    pub fn is_of_account(self) -> bool {
        self.subject && self.holds_account()
    }

    /// Returns whether all that is tried at one account is on one key, wherever it comes from; others may be on it too.
    pub fn holds_account(self) -> bool {
        self.address.is_none() && !self.session
    }

    /// Returns whether all that comes from one address is on one key, whomever it is about; others may be on it too.
    pub fn holds_address(self) -> bool {
        !self.subject && !self.session
    }
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

impl Guard {
    /// Returns whether it tells addresses apart.
    pub fn is_by_address(&self) -> bool {
        self.keyed.address.is_some()
    }

    /// Returns whether it tells sessions apart, which a caller gets anew when he likes.
    pub fn is_by_session(&self) -> bool {
        self.keyed.session
    }

    /// Returns how many requests so many of its units are; `None` where a request takes none, and nothing is limited.
    pub fn requests(&self, units: u128) -> Option<u128> {
        units.checked_div(self.cost.into())
    }

    /// Returns how many requests it admits at once, at most. One that takes nothing counts as one that takes a unit here.
    pub fn burst(&self) -> u32 {
        self.quota.nominal().checked_div(self.cost.max(1)).unwrap_or(0)
    }

    /// Returns the time in which it admits one request more in the long run, rounded up.
    pub fn request_time(&self) -> Span {
        let rate = self.quota.long_run();
        let micros = u128::from(rate.micros).saturating_mul(self.cost.max(1).into());
        // One that admits nothing is taken for one that admits a unit.
        let each = micros.div_ceil(u128::from(rate.units.max(1)));
        Span::from_micros(u64::try_from(each).unwrap_or(u64::MAX))
    }

    /// Returns the longest of some limits' [`Guard::request_time`]; no time without any.
    pub fn slowest<'g>(guards: impl IntoIterator<Item = &'g Self>) -> Span {
        guards.into_iter().map(Self::request_time).max().unwrap_or(Span::ZERO)
    }
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
    /// The chance within a year that a blind guess succeeds that is borne: the policy's budget, or the usual one.
    pub borne: f64,
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
    /// The id of the review's finding on why it is, where it is.
    pub why_believed: &'static str,
    /// Whether the keys that tell people apart are written in one spelling before they are compared.
    pub one_spelling: bool,
    /// The limits that a request for a new code has to pass, on the same coordinates: those of the rule that sends codes.
    pub senders: Vec<Guard>,
    /// Why every client comes from one address; `None` where clients come from their own.
    pub one_address: Option<OneAddress>,
}

/// Why every client comes from one address, for all the limits see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OneAddress {
    /// A proxy that nobody trusts stands in front.
    Proxy,
    /// More proxies stand in front than hops are trusted, so that the address which is read is a proxy's.
    Hops,
    /// Only this machine can connect. Where that is for trying it out, clients will come from their own addresses, and
    /// attacks from many are played all the same.
    Loopback,
}

impl OneAddress {
    /// Returns the id of the review's finding.
    pub fn finding(self) -> &'static str {
        match self {
            Self::Proxy => "proxies-not-trusted",
            Self::Hops => "hops-not-the-proxies",
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
            borne: USUAL_BUDGET,
            price: None,
            guards: vec![guard],
            focus: 0,
            setting: Setting::default(),
            believes_anybody: false,
            why_believed: "trusts-everybody",
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

    /// Returns how many requests the guard in focus admits at once, at most; one where nothing limits.
    pub fn burst(&self) -> u32 {
        self.guard().map_or(1, Guard::burst)
    }

    /// Returns whether a proxy's address is all that limits see of clients, so that other addresses are no other keys.
    pub fn sees_one_address(&self) -> bool {
        matches!(self.one_address, Some(OneAddress::Proxy | OneAddress::Hops))
    }

    /// Returns what its requests are, one of them, for a sentence: a guess at a sign-in, a message where some are sent.
    pub fn request(&self) -> &'static str {
        match self.class {
            _ if self.is_sign_in() => "guess",
            Class::Send => "message",
            _ => "request",
        }
    }

    /// Returns whom its requests are about, one of them, for a sentence: an account, or where messages are sent the number that
    /// gets them, or whoever does where no phone is known to ring.
    pub fn subject(&self) -> &'static str {
        let are_phones = || self.guards.iter().any(|guard| guard.keyed.range || guard.keyed.country);
        match self.class {
            Class::Send if self.price.is_some() || are_phones() => "number",
            Class::Send => "recipient",
            _ => "account",
        }
    }

    /// Returns where its requests go when all are about one, for a sentence: `at one account`, `to one number`.
    pub fn at_one(&self) -> String {
        format!("{} one {}", if self.class == Class::Send { "to" } else { "at" }, self.subject())
    }

    /// Returns whether its requests say who somebody is, and may be guesses at that.
    pub fn is_sign_in(&self) -> bool {
        matches!(self.class, Class::Verify | Class::Recovery | Class::Login)
    }

    /// Returns whether a limit tells sessions apart.
    pub fn tells_sessions_apart(&self) -> bool {
        self.guards.iter().any(Guard::is_by_session)
    }

    /// Returns whether a limit tells addresses apart.
    pub fn tells_addresses_apart(&self) -> bool {
        self.guards.iter().any(Guard::is_by_address)
    }
}
