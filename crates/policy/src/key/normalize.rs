//! Spellings of one value, brought together before they are counted.
//!
//! Compatibility forms are folded (NFKC) around the change to lower case, so that `ＡＬＩＣＥ`, `Alice` and `alice`
//! are one account; spelling it differently must not give a fresh limit.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use super::phone::{self, Region};
use super::source::Unread;

/// One step of normalisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Normalizer {
    /// Drops whitespace and invisible characters at both ends.
    Trim,
    /// NFKC, Unicode lower case without invisible characters, NFKC.
    Lowercase,
    /// A phone number in its international form; national ones are read as the region's.
    E164(Option<Region>),
    /// SHA-256, so that the value itself goes no further.
    Hash,
}

impl std::fmt::Display for Normalizer {
    /// Writes the step as a file does.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Trim => f.write_str("trim"),
            Self::Lowercase => f.write_str("lowercase"),
            Self::E164(None) => f.write_str("e164"),
            Self::E164(Some(region)) => write!(f, "e164 {}", region.as_ref()),
            Self::Hash => f.write_str("hash"),
        }
    }
}

/// Applies the steps in order; tells whether the value is to be hashed, which is always the last step.
pub(super) fn apply<'a>(steps: &[Normalizer], value: Cow<'a, str>) -> Result<(Cow<'a, str>, bool), Unread> {
    let mut value = value;
    let mut hash = false;
    for step in steps {
        value = match step {
            Normalizer::Trim => trim(value),
            Normalizer::Lowercase => lowercase(value),
            Normalizer::E164(region) if !value.is_empty() => {
                Cow::Owned(phone::e164(&value, region.as_ref())?)
            }
            Normalizer::E164(_) => value,
            Normalizer::Hash => {
                hash = true;
                value
            }
        };
    }
    Ok((value, hash))
}

/// Returns the digest that stands for a value.
pub(crate) fn digest(value: &str) -> [u8; 32] {
    Sha256::digest(value.as_bytes()).into()
}

fn trim(value: Cow<'_, str>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(is_blank)),
        Cow::Owned(text) => {
            let trimmed = text.trim_matches(is_blank);
            if trimmed.len() == text.len() { Cow::Owned(text) } else { Cow::Owned(trimmed.to_owned()) }
        }
    }
}

/// Returns whether a character is white space or shows nothing.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || is_invisible(letter)
}

/// Returns whether a character shows nothing: what Unicode calls ignorable by default, that is zero-width ones, the
/// byte-order mark, a soft hyphen, fillers, variation selectors and tags, and the anchors of annotations. Databases
/// that compare without case pass over most of them.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn lowercase(value: Cow<'_, str>) -> Cow<'_, str> {
    if value.is_ascii() {
        if !value.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return value;
        }
        let mut text = value.into_owned();
        text.make_ascii_lowercase();
        return Cow::Owned(text);
    }
    // Letter by letter: `to_lowercase` of a whole text ends a Greek word in another sigma.
    let lower = value.nfkc().flat_map(char::to_lowercase).filter(|letter| !is_invisible(*letter));
    Cow::Owned(lower.map(|letter| if letter == 'ς' { 'σ' } else { letter }).nfkc().collect())
}
