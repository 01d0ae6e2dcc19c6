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
mod part;
mod phone;
mod reads;
mod shown;
mod source;
mod spelled;
mod value;

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
pub use source::is_underscore_twin;
pub(crate) use source::{Source, SourceKind};
pub(crate) use spelled::{Spelled, spelled};
pub(crate) use value::digest as written_digest;

use crate::problem::At;
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
