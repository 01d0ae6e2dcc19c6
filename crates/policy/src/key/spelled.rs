//! The bytes of a key taken apart again, for names that spell keys out.

use std::net::IpAddr;

use super::{TAG_CHOICE, TAG_HASH, TAG_IPV4, TAG_IPV6, TAG_TEXT};
use crate::shared_counter;

/// A part of a key's bytes, for names that spell keys out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelled<'b> {
    /// A text.
    Text(&'b [u8]),
    /// An address.
    Address(IpAddr),
    /// A digest.
    Digest(&'b [u8]),
    /// Everyone, or all that lack the key.
    Nobody,
}

/// Takes the bytes of a key apart; which one of a `first_of` a part is, is left out.
pub(crate) fn spelled(mut key: &[u8]) -> impl Iterator<Item = Spelled<'_>> {
    std::iter::from_fn(move || {
        loop {
            let (tag, rest) = key.split_first()?;
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let (bytes, rest) = rest.split_at_checked(length)?;
            key = rest;
            return Some(match *tag {
                TAG_CHOICE => continue,
                TAG_TEXT => Spelled::Text(bytes),
                TAG_HASH => Spelled::Digest(bytes),
                TAG_IPV4 | TAG_IPV6 => {
                    shared_counter::address(bytes).map_or(Spelled::Nobody, Spelled::Address)
                }
                _ => Spelled::Nobody,
            });
        }
    })
}
