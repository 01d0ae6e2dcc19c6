//! Where the value of a key's part is found.

use std::borrow::Cow;
use std::net::IpAddr;

use http::HeaderName;
use percent_encoding::percent_decode_str;

use super::entry::Entry;
use super::jwt::Claim;
use super::normalize::Normalizer;
use super::value::Value;
use super::{Pointer, body, json, pairs};
use crate::client::canonical;
use crate::request::Facts;

/// One place of a request, and how its value is normalised.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    pub(crate) kind: SourceKind,
    pub(crate) normalize: Vec<Normalizer>,
}

/// A place of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SourceKind {
    /// The client's address, cut to a prefix.
    ClientIp { ipv4: u8, ipv6: u8 },
    /// A header field.
    Header(HeaderName),
    /// A header field that only a trusted peer can send; from anybody else it is missing.
    TrustedHeader(HeaderName),
    /// A parameter of the query.
    Query(String),
    /// A parameter of the path.
    Path(String),
    /// A value in a JSON body.
    Json(Pointer),
    /// A field of a form body.
    Form(String),
    /// A cookie.
    Cookie(String),
    /// An entry of one of Envoy's descriptors; in a request there is none, unless it is given ready-made.
    Descriptor(Entry),
    /// A claim of a verified token.
    Claim(Claim),
    /// The request's method.
    Method,
    /// The pattern of the rule that matched.
    Route,
    /// The path that was asked for, normalised.
    RequestPath,
}

/// Why a value cannot be taken, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is a body, but not of the kind this source reads.
    OtherBody(&'static str),
    /// There is more than one way to read it.
    Ambiguous(&'static str),
}

impl SourceKind {
    pub(super) fn needs_body(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Form(_))
    }

    /// Returns whether what is found depends on the instant: a token's claims are there while it holds.
    pub(super) fn needs_date(&self) -> bool {
        matches!(self, Self::Claim(_))
    }
}

impl Source {
    /// Returns the name under which a value is given ready-made: the key's, or the descriptor's own.
    pub(super) fn ready_name<'a>(&'a self, key: &'a str) -> &'a str {
        if let SourceKind::Descriptor(entry) = &self.kind { &entry.name } else { key }
    }

    /// Reads the value; `None` when there is none.
    pub(super) fn read<'a>(&self, name: &str, facts: &Facts<'a>) -> Result<Option<Value<'a>>, Unread> {
        let ready = facts.ready(self.ready_name(name));
        if let SourceKind::ClientIp { ipv4, ipv6 } = self.kind {
            return client(ready, facts, (ipv4, ipv6));
        }
        let found = match ready {
            Some(value) => Some(Cow::Borrowed(value)),
            // Else a route, say, would be that of no rule.
            None if facts.only_ready() => None,
            None => self.find(facts)?,
        };
        found.map_or(Ok(None), |text| Value::of_text(&self.normalize, text))
    }

    /// Reads a value that the file writes, as if it had been found.
    pub(super) fn written<'a>(&self, text: &'a str) -> Result<Value<'a>, &'static str> {
        if let SourceKind::ClientIp { ipv4, ipv6 } = self.kind {
            return Value::written_address(text, (ipv4, ipv6));
        }
        let text = if self.kind == SourceKind::Method { method(text) } else { Cow::Borrowed(text) };
        match Value::of_text(&self.normalize, text) {
            Ok(value) => value.ok_or("is empty once it is normalised"),
            Err(Unread::OtherBody(why) | Unread::Ambiguous(why)) => Err(why),
        }
    }

    fn find<'a>(&self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Unread> {
        let request = facts.request();
        match &self.kind {
            // What a stranger sends is not looked at, so that it cannot be ambiguous either.
            SourceKind::TrustedHeader(_) if !facts.client().is_some_and(|client| client.peer_trusted) => {
                Ok(None)
            }
            SourceKind::Header(name) | SourceKind::TrustedHeader(name) => header(name, request.headers),
            SourceKind::Query(name) => pairs::query(name, request.query.unwrap_or_default()),
            SourceKind::Path(name) => facts.param(name).map(param).transpose(),
            SourceKind::Json(pointer) => match body::json(request)? {
                Some(text) => json::find(pointer, text),
                None => Ok(None),
            },
            // Some servers read the query's parameters and the form's as one list, the query first.
            SourceKind::Form(name) if pairs::mentions(name, request.query.unwrap_or_default()) => {
                Err(Unread::Ambiguous("is in the query, where some servers look before the form"))
            }
            SourceKind::Form(name) => match body::form(request)? {
                Some(text) => pairs::query(name, text),
                None => Ok(None),
            },
            SourceKind::Cookie(name) => pairs::cookie(name, request.headers),
            SourceKind::Method => Ok(Some(method(request.method))),
            SourceKind::Route => Ok(Some(Cow::Borrowed(facts.route()))),
            SourceKind::RequestPath => Ok(Some(Cow::Borrowed(facts.path()))),
            SourceKind::Claim(claim) => claim.read(facts),
            SourceKind::Descriptor(entry) => {
                let several = "is the key of several entries; give each a name with `as` in the rule's match";
                let value = facts.entry(&entry.name).map_err(|_| Unread::Ambiguous(several))?;
                Ok(value.map(Cow::Borrowed))
            }
            SourceKind::ClientIp { .. } => Ok(None),
        }
    }
}

/// Returns the client's address, or a ready-made one.
fn client<'a>(
    ready: Option<&str>,
    facts: &Facts<'_>,
    prefixes: (u8, u8),
) -> Result<Option<Value<'a>>, Unread> {
    let address = match ready {
        Some(text) => {
            let parsed = text.trim().parse::<IpAddr>();
            Some(canonical(parsed.map_err(|_| Unread::Ambiguous("is not an IP address"))?))
        }
        None => facts.client().map(|client| client.address),
    };
    Ok(address.map(|address| Value::of_address(address, prefixes)))
}

/// Reads a header field that is there once. A second spelling with underscores counts as a second one: many
/// servers hand both to a program under one name.
pub(super) fn header<'a>(
    name: &HeaderName,
    headers: &'a http::HeaderMap,
) -> Result<Option<Cow<'a, str>>, Unread> {
    let mut lines = headers.get_all(name).iter();
    let found = lines.next();
    if lines.next().is_some() {
        return Err(Unread::Ambiguous("is there more than once"));
    }
    if name.as_str().contains('-')
        && headers.keys().any(|other| is_underscore_twin(other.as_str(), name.as_str()))
    {
        return Err(Unread::Ambiguous("is there under a second spelling with an underscore"));
    }
    let Some(value) = found else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Unread::Ambiguous("is not UTF-8"))?;
    Ok(Some(Cow::Borrowed(text)))
}

/// Returns whether `name` is `of`, both header fields' names in lower case, with at least one hyphen written as an
/// underscore: many servers hand both to a program under one name.
pub fn is_underscore_twin(name: &str, of: &str) -> bool {
    let same = |(a, b): (u8, u8)| a == b || (a == b'-' && b == b'_');
    name.len() == of.len() && name != of && of.bytes().zip(name.bytes()).all(same)
}

/// Decodes a parameter of the path.
fn param(value: &str) -> Result<Cow<'_, str>, Unread> {
    percent_decode_str(value).decode_utf8().map_err(|_| Unread::Ambiguous("is not UTF-8"))
}

/// Returns a method in upper case, since some servers ignore its case.
fn method(method: &str) -> Cow<'_, str> {
    if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        Cow::Owned(method.to_ascii_uppercase())
    } else {
        Cow::Borrowed(method)
    }
}
