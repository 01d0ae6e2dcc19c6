//! How many items a list in a JSON body has.

use super::source::Unread;
use super::{Pointer, body, json};
use crate::request::{Ambiguous, Facts};

/// Counts the items of a list in the request's body; `None` when there is no body, or no list in it.
///
/// # Errors
/// When the body can be read in more than one way, or is none that a list could be counted in.
pub(crate) fn items(pointer: &Pointer, name: &str, facts: &Facts<'_>) -> Result<Option<u64>, Ambiguous> {
    let counted = body::json(facts.request()).and_then(|text| match text {
        Some(text) => json::length(pointer, text),
        None => Ok(None),
    });
    counted.map_err(|unread| {
        let (Unread::OtherBody(why) | Unread::Ambiguous(why)) = unread;
        Ambiguous::new(name.to_owned(), why)
    })
}
