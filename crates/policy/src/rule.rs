//! Rules: what is limited, and what happens when something is missing.

use crate::examined::{Accepted, Price};
use crate::limit::Limit;
use crate::matcher::{Except, Matcher};
use crate::policy::Mode;
use crate::problem::At;

/// What a rule applies to, its limits, and what happens when they cannot be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The rule's name, unique in the file.
    pub name: String,
    /// What kind of endpoint it guards.
    pub class: Class,
    /// What it applies to: any of these; every request when empty (the fallback).
    pub matches: Vec<Matcher>,
    /// What it leaves out: any of these.
    pub except: Vec<Except>,
    /// What it answers to all it applies to, if it lets nothing through; it has no limits then.
    pub refuse: Option<Refuse>,
    /// The limits, in the order of the file; at least one unless the rule refuses.
    pub limits: Vec<Limit>,
    /// The name of the code a request guesses at.
    pub guesses: Option<String>,
    /// What happens to a request that lacks a limit's key.
    pub on_missing_key: OnMissingKey,
    /// What happens when the store does not answer.
    pub on_store_failure: OnStoreFailure,
    /// Why that, if the file says so.
    pub store_failure_because: Option<String>,
    /// What a client is told.
    pub client_sees: ClientSees,
    /// Whether refusals of this rule are carried out.
    pub mode: Mode,
    /// What a request costs its operator, if the file says so.
    pub price: Option<Price>,
    /// Findings of the review that are kept knowingly.
    pub accept: Vec<Accepted>,
    /// What it says to Envoy besides, for a rule that applies to descriptors.
    pub envoy: EnvoyTerms,
    /// Where it stands.
    pub at: At,
}

/// What a rule for Envoy's descriptors says besides its limits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EnvoyTerms {
    /// The name that Envoy is told for its limits, where it is not theirs; empty for none.
    pub label: Option<String>,
    /// The rules that do not count when this one applies to any descriptor of a call.
    pub replaces: Vec<String>,
    /// Whether it has no limits, and the fallback does not apply to what it is for. Other rules that apply do, unless it
    /// replaces them.
    pub unlimited: bool,
    /// Whether its limits refuse only when all such rules that apply to a call refuse.
    pub quota: bool,
    /// The entries, by name, whose values stand in the metric of its hits.
    pub metric: Vec<String>,
    /// What Envoy is told as dynamic metadata when it refuses nothing.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// What a rule answers instead of limiting: nothing of it is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refuse {
    /// The status of the answer, 400 to 599 but 429, which stands for one too many.
    pub status: http::StatusCode,
    /// Why, in words for the client.
    pub because: String,
}

/// What kind of endpoint a rule guards; it decides the defaults and what the review asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Everything that comes in, by client.
    Edge,
    /// What sends a message to somebody at a cost.
    Send,
    /// What checks a code.
    Verify,
    /// What gives an account back to its owner.
    Recovery,
    /// What checks a password.
    Login,
    /// Any other endpoint.
    Api,
}

impl Class {
    /// Every class with its name in a file.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Edge, "edge"),
        (Self::Send, "send"),
        (Self::Verify, "verify"),
        (Self::Recovery, "recovery"),
        (Self::Login, "login"),
        (Self::Api, "api"),
    ];

    /// Returns whether the class guards who somebody is, or money: verify, recovery, login, send.
    pub fn is_guarded(self) -> bool {
        !matches!(self, Self::Edge | Self::Api)
    }

    /// Returns the class's name in a file.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(class, _)| *class == self).map_or("", |(_, name)| name)
    }
}

/// What happens to a request that lacks a limit's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnMissingKey {
    /// It is refused with 400.
    Refuse,
    /// The limit does not look at it.
    Skip,
    /// It is counted on one key together with all others that lack it.
    Shared,
}

/// What happens when the store does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnStoreFailure {
    /// Requests are refused with 503.
    Deny,
    /// Requests pass, marked.
    Allow,
    /// This process goes on limiting by itself, with its share of the limit.
    Local,
}

/// What a client is told about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientSees {
    /// Numbers and remaining units, on every answer.
    All,
    /// When to come back, on a refusal.
    RetryAfter,
    /// That it was refused.
    Nothing,
}
