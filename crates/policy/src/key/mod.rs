//! Keys: what a limit counts on, read from a request in one way only.
//!
//! A key is a list of parts. Reading appends each part as a tag, a length and bytes, so that two different lists
//! of values never give the same bytes: `["a", "bc"]` and `["ab", "c"]`, the text `192.0.2.1` and the address.
//! The bytes say nothing about the limit; whoever stores them keeps limits apart.
//!
//! What can be read in two ways is refused ([`Ambiguous`]): whoever is behind us may read the other one, and a
//! limit that counts on the wrong one counts nothing. An empty value is a missing one.

mod body;
mod chooser;
mod derived;
mod entry;
mod items;
mod json;
mod jwt;
mod normalize;
mod pairs;
mod phone;
mod reads;
mod shown;
mod source;
mod spelled;
mod value;

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

pub use chooser::{Chooser, Chosen};
pub(crate) use derived::{Derived, DerivedKind};
pub(crate) use entry::Entry;
pub(crate) use items::items;
pub(crate) use json::Pointer;
pub(crate) use jwt::{Claim, KeySet, Tokens, Verifier};
pub(crate) use normalize::{Normalizer, digest};
pub use phone::example_phone;
pub(crate) use phone::{load as load_phone_numbers, region};
pub use reads::{KeySource, Reads};
pub use shown::KeyPart;
use source::Unread;
pub use source::is_underscore_twin;
pub(crate) use source::{Source, SourceKind};
pub(crate) use spelled::{Spelled, spelled};
use value::Value;
pub(crate) use value::digest as written_digest;

use crate::problem::{At, Place};
use crate::request::{Ambiguous, Facts};

/// What a limit counts on.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub(crate) parts: SmallVec<[Part; 2]>,
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// The name in the file, or what an inline key reads.
    pub(crate) name: String,
    /// What people call it, for the words.
    pub(crate) called: Vec<String>,
    pub(crate) from: Origin,
    /// Where it is declared; the beginning of the file for a built-in key and one that a limit reads itself.
    pub(crate) at: At,
}

/// Where a part comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Origin {
    /// Everyone together.
    Global,
    /// One place.
    One(Source),
    /// The first of several that is there.
    FirstOf(Vec<Part>),
    /// What another key's phone number tells.
    Derived(Derived),
}

/// Whether a key could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence<'k> {
    /// It was, and its bytes were appended.
    Present,
    /// A part is not there; what was appended is of no use.
    Missing {
        /// The name of the part.
        what: &'k str,
    },
}

/// Tags of encoded parts. Sources of text share one: they never stand for each other in the same part, except in
/// a `first_of`, which says which one it was.
const TAG_GLOBAL: u8 = 0;
const TAG_TEXT: u8 = 1;
const TAG_IPV4: u8 = 2;
const TAG_IPV6: u8 = 3;
const TAG_HASH: u8 = 4;
const TAG_CHOICE: u8 = 5;
const TAG_SHARED: u8 = 6;

impl Key {
    /// Reads the key from a request and appends its bytes to `out`.
    ///
    /// # Errors
    /// When a part can be read in more than one way, or breaks its own form (a phone number that is none).
    pub fn read(&self, facts: &Facts<'_>, out: &mut Vec<u8>) -> Result<Presence<'_>, Ambiguous> {
        for part in &self.parts {
            if let Presence::Missing { what } = part.read(facts, out)? {
                return Ok(Presence::Missing { what });
            }
        }
        Ok(Presence::Present)
    }

    /// Appends the bytes of the key that all requests without this key share; no request that has it gets them.
    pub fn shared(&self, out: &mut Vec<u8>) {
        push(out, TAG_SHARED, &[]);
    }

    /// Returns whether a part may be read from the body.
    pub fn needs_body(&self) -> bool {
        self.parts.iter().any(Part::needs_body)
    }

    /// Returns whether a part depends on the instant of the request.
    pub(crate) fn needs_date(&self) -> bool {
        self.parts.iter().any(Part::needs_date)
    }

    /// Returns whether whoever can name somebody can write the key: some part of it is neither an address nor everyone.
    pub fn can_be_named(&self) -> bool {
        self.parts.iter().any(|part| !part.is_address() && part.from != Origin::Global)
    }

    /// Returns the names of the parts as the file writes them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name.as_str())
    }

    /// Returns what people call each part, the first name first, for the words: of a part for which the file says
    /// nothing, none.
    pub fn called(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.parts.iter().map(|part| (part.name.as_str(), part.called.as_slice()))
    }

    /// Returns the names of what is read, a `first_of` by its alternatives: ready-made keys go by these, and one of
    /// another name would be read by nobody.
    pub fn sources(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.parts.iter().for_each(|part| part.sources(&mut names));
        names
    }
}

impl fmt::Display for Key {
    /// Writes the names of the parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

impl Part {
    /// Builds a part that is declared nowhere.
    pub(crate) fn new(name: String, called: Vec<String>, from: Origin) -> Self {
        Self { name, called, from, at: At(Place::START) }
    }

    /// Returns the parameter of the path that the part cannot do without.
    pub(crate) fn path_parameter(&self) -> Option<&str> {
        match &self.from {
            Origin::One(Source { kind: SourceKind::Path(name), .. }) => Some(name),
            Origin::Derived(derived) => derived.of.path_parameter(),
            _ => None,
        }
    }

    /// Returns whether every value of it is a phone number in international form.
    pub(crate) fn is_phone_number(&self) -> bool {
        match &self.from {
            Origin::One(source) => source.normalize.iter().any(|step| matches!(step, Normalizer::E164(_))),
            Origin::FirstOf(parts) => parts.iter().all(Self::is_phone_number),
            Origin::Global | Origin::Derived(_) => false,
        }
    }

    /// Adds the names of what is read, each once.
    pub(crate) fn sources<'a>(&'a self, names: &mut Vec<&'a str>) {
        let own = match &self.from {
            Origin::Global => return,
            Origin::One(source) => source.ready_name(&self.name),
            Origin::FirstOf(parts) => return parts.iter().for_each(|part| part.sources(names)),
            Origin::Derived(derived) => {
                derived.of.sources(names);
                &self.name
            }
        };
        if !names.contains(&own) {
            names.push(own);
        }
    }

    /// Returns whether it may be read from the body.
    pub(crate) fn needs_body(&self) -> bool {
        match &self.from {
            Origin::Global => false,
            Origin::One(source) => source.kind.needs_body(),
            Origin::FirstOf(parts) => parts.iter().any(Self::needs_body),
            Origin::Derived(derived) => derived.of.needs_body(),
        }
    }

    /// Returns whether what is read depends on the instant.
    pub(crate) fn needs_date(&self) -> bool {
        match &self.from {
            Origin::Global => false,
            Origin::One(source) => source.kind.needs_date(),
            Origin::FirstOf(parts) => parts.iter().any(Self::needs_date),
            Origin::Derived(derived) => derived.of.needs_date(),
        }
    }

    /// Returns the value as text, normalised and never hashed, for tables and comparisons: an address with its
    /// prefix (`192.0.2.0/24`) unless that is the whole address, of a `first_of` the first that is there. `None` when
    /// there is none, and for `global`.
    pub(crate) fn text<'a>(&self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Ambiguous> {
        Ok(self.find(facts)?.and_then(|found| found.value.text()))
    }

    /// Returns the value as text, and whether it is an address: a text that somebody sends must not stand for one.
    pub(crate) fn value<'a>(&self, facts: &Facts<'a>) -> Result<Option<(Cow<'a, str>, bool)>, Ambiguous> {
        let Some(found) = self.find(facts)? else { return Ok(None) };
        let is_address = matches!(found.value, Value::Address(..));
        Ok(found.value.text().map(|text| (text, is_address)))
    }

    /// Returns whether it is an address, whatever the request.
    pub(crate) fn is_address(&self) -> bool {
        matches!(&self.from, Origin::One(Source { kind: SourceKind::ClientIp { .. }, .. }))
    }

    /// Returns whether it is an address for some requests.
    pub(crate) fn may_be_address(&self) -> bool {
        match &self.from {
            Origin::FirstOf(parts) => parts.iter().any(Self::is_address),
            Origin::One(_) | Origin::Global | Origin::Derived(_) => self.is_address(),
        }
    }

    /// Returns whether it is read from that place, and nothing else.
    pub(crate) fn reads(&self, kind: &SourceKind) -> bool {
        matches!(&self.from, Origin::One(source) if source.kind == *kind)
    }

    /// Returns whether it is the route, and nothing else, whatever the request.
    pub(crate) fn is_route(&self) -> bool {
        matches!(&self.from, Origin::One(Source { kind: SourceKind::Route, .. }))
    }

    /// Returns whether a value that the file writes is meant as an address, since the part, or one it chooses from, is one.
    pub(crate) fn reads_as_address(&self, value: &str) -> bool {
        match &self.from {
            Origin::One(_) => self.is_address() && value::looks_like_address(value),
            Origin::FirstOf(parts) => parts.iter().any(|part| part.reads_as_address(value)),
            Origin::Global | Origin::Derived(_) => false,
        }
    }

    /// Returns what [`Part::text`] gives for a value that the file writes: one text for each way the value can be
    /// found, which a `first_of` has several of; for an address, only those that are one. The error says why it is
    /// no value of the part, as the end of a sentence that begins with the value.
    pub(crate) fn written(&self, value: &str) -> Result<Vec<String>, &'static str> {
        match &self.from {
            Origin::Global => Err("is a value, and `global` has none"),
            Origin::One(source) => {
                Ok(source.written(value)?.text().map(Cow::into_owned).into_iter().collect())
            }
            Origin::Derived(derived) => {
                Ok(derived.written(value)?.text().map(Cow::into_owned).into_iter().collect())
            }
            Origin::FirstOf(parts) => {
                let mut ways = Vec::new();
                let mut why = None;
                let address = self.reads_as_address(value);
                for part in parts.iter().filter(|part| !address || part.reads_as_address(value)) {
                    match part.written(value) {
                        Ok(found) => ways.extend(found),
                        Err(reason) => why = why.or(Some(reason)),
                    }
                }
                why.filter(|_| ways.is_empty()).map_or(Ok(ways), Err)
            }
        }
    }

    fn read(&self, facts: &Facts<'_>, out: &mut Vec<u8>) -> Result<Presence<'_>, Ambiguous> {
        let Some(found) = self.find(facts)? else { return Ok(Presence::Missing { what: &self.name }) };
        if let Some(index) = found.choice {
            push_choice(out, index);
        }
        found.value.push(out);
        Ok(Presence::Present)
    }

    fn find<'a>(&self, facts: &Facts<'a>) -> Result<Option<Found<'a>>, Ambiguous> {
        self.find_or_refuse(facts).map_err(|refused| {
            let (Unread::OtherBody(why) | Unread::Ambiguous(why)) = refused.unread;
            Ambiguous::new(refused.part.to_owned(), why)
        })
    }

    fn find_or_refuse<'a>(&self, facts: &Facts<'a>) -> Result<Option<Found<'a>>, Refused<'_>> {
        let value = match &self.from {
            Origin::Global => Some(Value::Everyone),
            Origin::One(source) => {
                let read = source.read(&self.name, facts);
                read.map_err(|unread| Refused { part: &self.name, unread })?
            }
            Origin::FirstOf(parts) => return Self::find_first(parts, facts),
            Origin::Derived(derived) => derived.read(&self.name, facts)?,
        };
        Ok(value.map(|value| Found { choice: None, value }))
    }

    /// Finds the first alternative that is there. One that needs another kind of body gives way to the next, since
    /// a form and a JSON document are rightly alternatives; only when none is there is it an error.
    fn find_first<'a, 'p>(parts: &'p [Self], facts: &Facts<'a>) -> Result<Option<Found<'a>>, Refused<'p>> {
        let mut other_body = None;
        for (index, part) in parts.iter().enumerate() {
            match part.find_or_refuse(facts) {
                Ok(None) => {}
                // The file is read so that no choice stands within a choice.
                Ok(Some(found)) => return Ok(Some(Found { choice: Some(index), ..found })),
                Err(refused) if matches!(refused.unread, Unread::OtherBody(_)) => {
                    other_body = other_body.or(Some(refused));
                }
                Err(refused) => return Err(refused),
            }
        }
        other_body.map_or(Ok(None), Err)
    }
}

/// Why a part cannot be read, or one that it is read from.
struct Refused<'p> {
    part: &'p str,
    unread: Unread,
}

/// What a part was found to be.
struct Found<'a> {
    /// Which of a `first_of` it was.
    choice: Option<usize>,
    value: Value<'a>,
}

/// Appends which of a `first_of` follows.
fn push_choice(out: &mut Vec<u8>, index: usize) {
    push(out, TAG_CHOICE, &u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes());
}

/// Appends one part: its tag, its length and its bytes.
fn push(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    // A body or a header is bounded far below 2^32.
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
