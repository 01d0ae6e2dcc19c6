//! Keys: what a limit counts on, read from a request in one way only.
//!
//! A key is a list of parts. Reading appends each part as a tag, a length and bytes, so that two different lists
//! of values never give the same bytes: `["a", "bc"]` and `["ab", "c"]`, the text `192.0.2.1` and the address.
//! The bytes say nothing about the limit; whoever stores them keeps limits apart.
//!
//! What can be read in two ways is refused ([`Ambiguous`]): whoever is behind us may read the other one, and a
//! limit that counts on the wrong one counts nothing. An empty value is a missing one.

mod body;
mod json;
mod normalize;
mod pairs;
mod phone;
mod source;

use std::fmt;

use smallvec::SmallVec;

pub(crate) use json::Pointer;
pub(crate) use normalize::Normalizer;
pub(crate) use phone::{load as load_phone_numbers, region};
pub use source::is_underscore_twin;
pub(crate) use source::{Source, SourceKind};

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

    /// Returns the names of the parts as the file writes them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name.as_str())
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
    /// Returns the parameter of the path that the part cannot do without.
    pub(crate) fn path_parameter(&self) -> Option<&str> {
        match &self.from {
            Origin::One(Source { kind: SourceKind::Path(name), .. }) => Some(name),
            _ => None,
        }
    }

    fn sources<'a>(&'a self, names: &mut Vec<&'a str>) {
        match &self.from {
            Origin::Global => {}
            Origin::One(_) => names.push(&self.name),
            Origin::FirstOf(parts) => parts.iter().for_each(|part| part.sources(names)),
        }
    }

    fn needs_body(&self) -> bool {
        match &self.from {
            Origin::Global => false,
            Origin::One(source) => source.kind.needs_body(),
            Origin::FirstOf(parts) => parts.iter().any(Self::needs_body),
        }
    }

    fn read(&self, facts: &Facts<'_>, out: &mut Vec<u8>) -> Result<Presence<'_>, Ambiguous> {
        let found = match &self.from {
            Origin::Global => {
                push(out, TAG_GLOBAL, &[]);
                true
            }
            Origin::One(source) => match source.read(&self.name, facts, out) {
                Err(source::Unread::OtherBody(why) | source::Unread::Ambiguous(why)) => {
                    return Err(Ambiguous::new(self.name.clone(), why));
                }
                Ok(found) => found,
            },
            Origin::FirstOf(parts) => Self::read_first(parts, facts, out)?,
        };
        Ok(if found { Presence::Present } else { Presence::Missing { what: &self.name } })
    }

    /// Reads the first alternative that is there. One that needs another kind of body gives way to the next, since
    /// a form and a JSON document are rightly alternatives; only when none is there is it an error.
    fn read_first(parts: &[Self], facts: &Facts<'_>, out: &mut Vec<u8>) -> Result<bool, Ambiguous> {
        let mut other_body = None;
        for (index, part) in parts.iter().enumerate() {
            let start = out.len();
            push(out, TAG_CHOICE, &u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes());
            let found = match &part.from {
                Origin::One(source) => match source.read(&part.name, facts, out) {
                    Err(source::Unread::OtherBody(why)) => {
                        other_body = other_body.or(Some(Ambiguous::new(part.name.clone(), why)));
                        false
                    }
                    Err(source::Unread::Ambiguous(why)) => {
                        return Err(Ambiguous::new(part.name.clone(), why));
                    }
                    Ok(found) => found,
                },
                Origin::Global | Origin::FirstOf(_) => part.read(facts, out)? == Presence::Present,
            };
            if found {
                return Ok(true);
            }
            out.truncate(start);
        }
        other_body.map_or(Ok(false), Err)
    }
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
