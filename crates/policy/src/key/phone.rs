//! Phone numbers in their one international form.

use std::borrow::Cow;
use std::str::FromStr;

use phonenumber::{Mode, PhoneNumber};
use unicode_normalization::UnicodeNormalization;

use super::source::Unread;

/// A region whose national numbers are understood.
pub(crate) type Region = phonenumber::country::Id;

/// The longest text that is looked at: a number has 15 digits, and people put signs between them.
const MAX_LEN: usize = 64;

/// Reads a region's two letters; `None` when no numbers of it are known.
pub(crate) fn region(code: &str) -> Option<Region> {
    let region = Region::from_str(code).ok()?;
    phonenumber::metadata::DATABASE.by_id(region.as_ref()).map(|_| region)
}

/// Loads what is known of countries' numbers, so that no request waits for it.
pub(crate) fn load() {
    let _ = phonenumber::metadata::DATABASE.by_id("US");
}

/// Returns a number as `+` and digits, without any extension.
///
/// Only digits and the usual signs are read: what follows a letter or a semicolon (an extension, a second number)
/// would be another spelling of the same destination, or a second destination.
pub(super) fn e164(text: &str, region: Option<&Region>) -> Result<String, Unread> {
    const NOT_ONE: Unread = Unread::Ambiguous("is not a phone number");
    let text: Cow<'_, str> =
        if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().take(MAX_LEN).collect()) };
    let text = text.trim();
    let usual = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'+');
    let plus = text.rfind('+').is_none_or(|at| at == 0);
    if text.len() > MAX_LEN || !plus || !text.bytes().all(usual) {
        return Err(NOT_ONE);
    }
    // A number with its country code is that country's, whatever region national ones are read as: only so is
    // `+44 (0)20…` the number without the zero. What an international prefix (`011`) introduces is read again.
    let region = region.filter(|_| !text.starts_with('+'));
    let number = phonenumber::parse(region.copied(), text).map_err(|_| NOT_ONE)?;
    let once = number.format().mode(Mode::E164).to_string();
    let number = phonenumber::parse(None, &once).map_err(|_| NOT_ONE)?;
    if !is_possible(&number) {
        return Err(NOT_ONE);
    }
    Ok(number.format().mode(Mode::E164).to_string())
}

/// Returns whether a number is as long as some of its country's are: a digit too many is another spelling, or
/// nobody's number. Its first digits are not looked at, since new ranges are opened faster than lists are updated.
fn is_possible(number: &PhoneNumber) -> bool {
    let Some(countries) = phonenumber::metadata::DATABASE.by_code(&number.code().value()) else {
        return false;
    };
    let len = number.national().to_string().len();
    countries.iter().any(|country| {
        let lengths = country.descriptors().general().possible_length();
        lengths.is_empty() || lengths.iter().any(|possible| usize::from(*possible) == len)
    })
}
