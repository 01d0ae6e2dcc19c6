//! A request as the policy sees it: read once, then asked by every rule.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use http::HeaderMap;
use tidegate_algorithms::Timestamp;

use crate::client::Client;
use crate::descriptor::{Descriptor, DescriptorPattern};
use crate::key::{Key, Presence, Tokens};
use crate::limit::Limit;
use crate::matcher::{Params, Pattern};
use crate::path::{self, Normal};
use crate::policy::{EncodedSlash, Policy};
use crate::rule::Rule;

/// A request, borrowed from whoever holds it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a str,
    /// The authority or `Host` field, perhaps with a port.
    pub host: Option<&'a str>,
    /// The path as sent, undecoded, without query (of an absolute form, the path only).
    pub path: &'a str,
    /// The query as sent, without the question mark.
    pub query: Option<&'a str>,
    /// The header fields.
    pub headers: &'a HeaderMap,
    /// The address of the connection's other end, or the one a PROXY header names.
    pub peer: Option<IpAddr>,
    /// The body, when one was read; `None` counts as no body.
    pub body: Option<&'a [u8]>,
}

/// Ready-made values of keys by their name in the file; they stand in for what would be read from a request.
pub type ReadyKeys = BTreeMap<String, String>;

/// A request that cannot be read in one way only; it is answered with 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguous {
    part: Cow<'static, str>,
    why: &'static str,
}

impl Ambiguous {
    pub(crate) fn new(part: impl Into<Cow<'static, str>>, why: &'static str) -> Self {
        Self { part: part.into(), why }
    }

    /// Returns what cannot be read: a key's name, or `path`.
    pub fn part(&self) -> &str {
        &self.part
    }

    /// Returns why, as the end of a sentence that begins with the part.
    pub fn why(&self) -> &'static str {
        self.why
    }
}

impl fmt::Display for Ambiguous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.part, self.why)
    }
}

impl std::error::Error for Ambiguous {}

/// A request after the reading every rule needs: its normalised path and its client.
#[derive(Debug)]
pub struct Seen<'a> {
    request: Request<'a>,
    normal: Normal<'a>,
    client: Option<Client>,
    ready: Option<&'a ReadyKeys>,
    /// Whether there is no request behind the ready-made keys.
    only_ready: bool,
    now: Option<Timestamp>,
    tokens: Tokens,
    descriptor: Option<Descriptor<'a>>,
}

impl<'a> Seen<'a> {
    /// Returns the request.
    pub fn request(&self) -> &Request<'a> {
        &self.request
    }

    /// Returns the normalised path, as rules compare it.
    pub fn path(&self) -> &str {
        self.normal.reading(false).text()
    }

    /// Returns the client, unless the peer is unknown.
    pub fn client(&self) -> Option<Client> {
        self.client
    }

    /// Returns the descriptor that is decided in a request's place, if one is.
    pub fn descriptor(&self) -> Option<&Descriptor<'a>> {
        self.descriptor.as_ref()
    }

    pub(crate) fn normal(&self) -> &Normal<'a> {
        &self.normal
    }
}

/// A rule that applies to a request, with what its keys are read from.
#[derive(Debug)]
pub struct Matched<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The rule's index in [`Policy::rules`]; `None` for the fallback.
    pub index: Option<usize>,
    /// What the rule's keys are read from.
    pub facts: Facts<'a>,
}

/// What keys are read from: the request, and the path's parameters under one rule.
#[derive(Debug)]
pub struct Facts<'a> {
    seen: &'a Seen<'a>,
    pattern: Option<&'a Pattern>,
    params: Params<'a>,
    /// What the rule asks of a descriptor.
    entries: Option<&'a DescriptorPattern>,
}

/// Several entries of a descriptor have one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeveralEntries;

impl<'a> Facts<'a> {
    /// Returns the request.
    pub fn request(&self) -> &'a Request<'a> {
        &self.seen.request
    }

    /// Returns the client, unless the peer is unknown.
    pub fn client(&self) -> Option<Client> {
        self.seen.client
    }

    /// Returns the route: the pattern that matched, or `*` for a rule that names no path.
    pub fn route(&self) -> &'a str {
        self.pattern.map_or("*", Pattern::text)
    }

    /// Returns the path that was asked for, normalised.
    pub(crate) fn path(&self) -> &'a str {
        self.seen.path()
    }

    /// Returns a parameter of the path as written, normalised but still percent-encoded.
    pub(crate) fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }

    /// Returns what the rule asks of a descriptor, if it is for descriptors.
    pub fn descriptor_pattern(&self) -> Option<&'a DescriptorPattern> {
        self.entries
    }

    /// Returns the value of a descriptor's entry, by the name that the rule's pattern gives it or by its key.
    ///
    /// # Errors
    /// When several entries have the key and the pattern names none of them.
    pub(crate) fn entry(&self, name: &str) -> Result<Option<&'a str>, SeveralEntries> {
        let Some(descriptor) = &self.seen.descriptor else { return Ok(None) };
        if let Some(place) = self.entries.and_then(|pattern| pattern.position(name)) {
            return Ok(descriptor.entries.get(place).map(|(_, value)| *value));
        }
        let mut found = descriptor.entries.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value);
        let first = found.next();
        if found.next().is_some() { Err(SeveralEntries) } else { Ok(first) }
    }

    /// Returns the instant of the request, if it is known.
    pub fn now(&self) -> Option<Timestamp> {
        self.seen.now
    }

    /// Returns the tokens that were verified for this request.
    pub(crate) fn tokens(&self) -> &'a Tokens {
        &self.seen.tokens
    }

    /// Returns whether there is nothing to read but ready-made keys.
    pub(crate) fn only_ready(&self) -> bool {
        self.seen.only_ready
    }

    pub(crate) fn ready(&self, name: &str) -> Option<&'a str> {
        self.seen.ready.and_then(|ready| ready.get(name)).map(String::as_str)
    }
}

impl Policy {
    /// Reads a request once for all rules, at no particular instant: what depends on time (a token's expiry, an
    /// override's end) is then taken for over.
    ///
    /// # Errors
    /// When its path can be read in more than one way.
    pub fn see<'a>(&self, request: &Request<'a>) -> Result<Seen<'a>, Ambiguous> {
        self.see_at(request, None, None)
    }

    /// Reads one of Envoy's descriptors, to be decided like a request. Rules for descriptors alone apply to it, and there is
    /// nothing to read but its entries; its client is the address that Envoy was told to send (`remote_address`).
    pub fn see_descriptor<'a>(
        &self,
        descriptor: Descriptor<'a>,
        headers: &'a HeaderMap,
        now: impl Into<Option<Timestamp>>,
    ) -> Seen<'a> {
        let request =
            Request { method: "", host: None, path: "/", query: None, headers, peer: None, body: None };
        let client = descriptor.client().map(|address| Client {
            address,
            peer_trusted: false,
            opaque_hop: false,
            internal: false,
        });
        Seen {
            request,
            normal: Normal::root(),
            client,
            ready: None,
            only_ready: false,
            now: now.into(),
            tokens: Tokens::default(),
            descriptor: Some(descriptor),
        }
    }

    /// Reads a request at an instant, which may be left out for a policy to which it makes no difference (see
    /// [`Policy::needs_date`]); some or all of its keys may be given ready-made.
    ///
    /// # Errors
    /// When its path can be read in more than one way.
    pub fn see_at<'a>(
        &self,
        request: &Request<'a>,
        ready: Option<&'a ReadyKeys>,
        now: impl Into<Option<Timestamp>>,
    ) -> Result<Seen<'a>, Ambiguous> {
        Ok(Seen {
            request: *request,
            normal: path::normalize(request.path, self.encoded_slash)?,
            client: request.peer.map(|peer| self.trusted.client(peer, request.headers)),
            ready,
            only_ready: false,
            now: now.into(),
            tokens: Tokens::default(),
            descriptor: None,
        })
    }

    /// Returns whether any limit depends on the instant of a request.
    pub fn needs_date(&self) -> bool {
        self.rules.iter().chain(&self.fallback).flat_map(|rule| &rule.limits).any(Limit::needs_date)
    }

    /// Returns every rule that applies, in the order of the file; the fallback is not among them.
    pub fn matching<'a>(&'a self, seen: &'a Seen<'a>) -> impl Iterator<Item = Matched<'a>> {
        self.rules.candidates(seen).into_iter().filter_map(move |index| {
            let rule = self.rules.get(index)?;
            let facts = rule.facts(seen)?;
            Some(Matched { rule, index: Some(index), facts })
        })
    }

    /// Returns the fallback, for a request that no enforced limit looked at.
    pub fn fallback_for<'a>(&'a self, seen: &'a Seen<'a>) -> Option<Matched<'a>> {
        let rule = self.fallback.as_ref()?;
        let facts = rule.facts(seen)?;
        Some(Matched { rule, index: None, facts })
    }

    /// Returns whether a body has to be read before the request can be decided: a rule that matches (or the
    /// fallback, since rules may come to nothing) has a limit that reads it. A path that cannot be read needs none.
    pub fn needs_body(&self, request: &Request<'_>) -> bool {
        let fallback = self.fallback.as_ref().is_some_and(Rule::needs_body);
        if !fallback && !self.rules.read_body() {
            return false;
        }
        let Ok(seen) = self.see(request) else { return false };
        self.fallback_for(&seen).is_some_and(|matched| matched.rule.needs_body())
            || self.matching(&seen).any(|matched| matched.rule.needs_body())
    }
}

impl Key {
    /// Reads the key from ready-made values alone and appends the bytes that a request with these values has.
    ///
    /// # Errors
    /// When a value breaks the form that its key has to have (a phone number that is none).
    pub fn read_ready(&self, ready: &ReadyKeys, out: &mut Vec<u8>) -> Result<Presence<'_>, Ambiguous> {
        of_ready(ready, None, |facts| self.read(facts, out))
    }
}

/// Reads something from ready-made values alone, at an instant.
pub(crate) fn of_ready<T>(
    ready: &ReadyKeys,
    now: Option<Timestamp>,
    read: impl FnOnce(&Facts<'_>) -> Result<T, Ambiguous>,
) -> Result<T, Ambiguous> {
    let headers = &HeaderMap::new();
    let request = Request { method: "", host: None, path: "/", query: None, headers, peer: None, body: None };
    let seen = Seen {
        request,
        normal: path::normalize(request.path, EncodedSlash::Refuse)?,
        client: None,
        ready: Some(ready),
        only_ready: true,
        now,
        tokens: Tokens::default(),
        descriptor: None,
    };
    read(&Facts { seen: &seen, pattern: None, params: Params::new(), entries: None })
}

impl Rule {
    /// Returns whether a limit reads the body.
    pub(crate) fn needs_body(&self) -> bool {
        self.limits.iter().any(Limit::needs_body)
    }

    /// Returns what the rule's keys are read from, if it applies.
    pub(crate) fn facts<'a>(&'a self, seen: &'a Seen<'a>) -> Option<Facts<'a>> {
        let mut entries = None;
        let (pattern, params) = if self.matches.is_empty() {
            (None, Params::new())
        } else {
            self.matches.iter().find_map(|matcher| {
                let found = matcher.find(seen)?;
                entries = matcher.descriptor.as_ref();
                Some(found)
            })?
        };
        if self.except.iter().any(|except| except.covers(seen)) {
            return None;
        }
        Some(Facts { seen, pattern, params, entries })
    }
}
