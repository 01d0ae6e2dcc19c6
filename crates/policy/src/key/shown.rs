//! Keys shown to people: where each part is read, and what was found there.

use std::fmt;

use super::entry::Entry;
use super::{DerivedKind, Key, Origin, Part, SourceKind, push_choice};
use crate::request::{Ambiguous, Facts};

/// A part of a key as it was read from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart<'k> {
    /// The part's name in the file.
    pub name: &'k str,
    /// Where it is read, in words: `header x-api-key`; of several places, the one where it was found.
    pub source: String,
    /// What was found, normalised; `None` when it is missing. An identity: it is for an operator's own terminal.
    pub value: Option<String>,
}

impl Key {
    /// Reads each part for people; those of `global` have no value and are never missing.
    ///
    /// # Errors
    /// When a part can be read in more than one way.
    pub fn show(&self, facts: &Facts<'_>) -> Result<Vec<KeyPart<'_>>, Ambiguous> {
        self.parts.iter().map(|part| part.show(facts)).collect()
    }

    /// Returns the bytes of a key of one part for a value that the file writes; of a `first_of`, as the first of its
    /// alternatives that the value fits. `None` when it is no value of the key.
    pub(crate) fn written(&self, value: &str) -> Option<Vec<u8>> {
        let [part] = self.parts.as_slice() else { return None };
        let mut out = Vec::new();
        part.push_written(value, &mut out)?;
        Some(out)
    }

    /// Returns whether the key counts everyone together, so that it has no value.
    pub fn is_global(&self) -> bool {
        self.parts.iter().all(|part| part.from == Origin::Global)
    }
}

impl Part {
    fn push_written(&self, value: &str, out: &mut Vec<u8>) -> Option<()> {
        match &self.from {
            Origin::Global => return None,
            Origin::One(source) => source.written(value).ok()?.push(out),
            Origin::Derived(derived) => derived.written(value).ok()?.push(out),
            Origin::FirstOf(parts) => {
                let address = self.reads_as_address(value);
                let fits = |part: &&Self| !address || part.reads_as_address(value);
                return parts.iter().enumerate().filter(|(_, part)| fits(part)).find_map(|(index, part)| {
                    out.clear();
                    push_choice(out, index);
                    part.push_written(value, out)
                });
            }
        }
        Some(())
    }

    pub(crate) fn show(&self, facts: &Facts<'_>) -> Result<KeyPart<'_>, Ambiguous> {
        let choice = self.find(facts)?.and_then(|found| found.choice);
        let source = match (&self.from, choice) {
            (Origin::FirstOf(parts), Some(index)) => {
                let chosen = parts.get(index);
                chosen.map_or_else(String::new, |part| format!("{}, {}", part.name, Place(&part.from, facts)))
            }
            (from, _) => Place(from, facts).to_string(),
        };
        let value = self.text(facts)?.map(std::borrow::Cow::into_owned);
        Ok(KeyPart { name: &self.name, source, value })
    }
}

/// Where a part is read, in words.
struct Place<'a, 'f>(&'a Origin, &'a Facts<'f>);

impl fmt::Display for Place<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.0 {
            Origin::Global => return f.write_str("everyone together"),
            Origin::One(source) => source,
            Origin::FirstOf(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    write!(f, "{}{}", if index == 0 { "" } else { ", else " }, part.name)?;
                }
                return Ok(());
            }
            Origin::Derived(derived) => {
                let what = match derived.kind {
                    DerivedKind::Country => "region of",
                    DerivedKind::Prefix => "beginning of",
                };
                return write!(f, "{what} {}, {}", derived.of.name, Place(&derived.of.from, self.1));
            }
        };
        match &source.kind {
            SourceKind::ClientIp { ipv4, ipv6 } => {
                let v6 = self.1.client().is_some_and(|client| client.address.is_ipv6());
                write!(f, "client address, /{}", if v6 { ipv6 } else { ipv4 })
            }
            kind => kind.fmt(f),
        }
    }
}

impl fmt::Display for SourceKind {
    /// Writes where a value is read, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientIp { ipv4, ipv6 } => write!(f, "client address, /{ipv4} and /{ipv6}"),
            Self::Header(name) => write!(f, "header {name}"),
            Self::TrustedHeader(name) => write!(f, "header {name}, of a trusted proxy"),
            Self::Query(name) => write!(f, "query parameter {name}"),
            Self::Path(name) => write!(f, "path parameter {name}"),
            Self::Json(pointer) => write!(f, "JSON body {pointer}"),
            Self::Form(name) => write!(f, "form field {name}"),
            Self::Cookie(name) => write!(f, "cookie {name}"),
            Self::Claim(claim) => {
                write!(f, "claim {} of the token in {}", claim.name, claim.verifier.header)
            }
            Self::Descriptor(Entry { name, vouched: true, .. }) => {
                write!(f, "descriptor {name}, found out by Envoy")
            }
            Self::Descriptor(Entry { name, .. }) => write!(f, "descriptor {name}"),
            Self::Method => f.write_str("method"),
            Self::Route => f.write_str("route"),
            Self::RequestPath => f.write_str("path of the request"),
        }
    }
}
