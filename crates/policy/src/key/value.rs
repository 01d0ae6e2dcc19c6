//! A value as a key counts it.

use std::borrow::Cow;
use std::net::IpAddr;

use ipnet::IpNet;

use super::normalize::{self, Normalizer};
use super::source::Unread;
use super::{TAG_GLOBAL, TAG_HASH, TAG_IPV4, TAG_IPV6, TAG_TEXT, push};
use crate::client::{aggregate, canonical};

/// A value that was found, or that the file writes.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// Everyone together.
    Everyone,
    /// A text, normalised.
    Text(Cow<'a, str>),
    /// A text, normalised, of which the digest is counted.
    Hashed(Cow<'a, str>),
    /// An address, cut to a prefix.
    Address(IpAddr, u8),
}

impl<'a> Value<'a> {
    /// Normalises a text; `None` when nothing is left of it.
    pub(super) fn of_text(steps: &[Normalizer], text: Cow<'a, str>) -> Result<Option<Self>, Unread> {
        let (text, hash) = normalize::apply(steps, text)?;
        if text.is_empty() {
            return Ok(None);
        }
        if text.chars().any(char::is_control) {
            return Err(Unread::Ambiguous("has a control character"));
        }
        Ok(Some(if hash { Self::Hashed(text) } else { Self::Text(text) }))
    }

    /// Cuts an address to the prefix of its family.
    pub(super) fn of_address(address: IpAddr, prefixes: (u8, u8)) -> Self {
        let address = aggregate(address, prefixes.0, prefixes.1);
        let prefix = if address.is_ipv4() { prefixes.0 } else { prefixes.1 };
        Self::Address(address, prefix)
    }

    /// Reads an address, or a network of the very prefix.
    pub(super) fn written_address(text: &str, prefixes: (u8, u8)) -> Result<Self, &'static str> {
        if let Ok(address) = text.trim().parse::<IpAddr>() {
            return Ok(Self::of_address(canonical(address), prefixes));
        }
        let network: IpNet = text.trim().parse().map_err(|_| "is not an IP address")?;
        match Self::of_address(network.addr(), prefixes) {
            Self::Address(address, prefix) if prefix == network.prefix_len() && address == network.addr() => {
                Ok(Self::Address(address, prefix))
            }
            _ => Err("is a network of another size than the key counts on"),
        }
    }

    /// Appends the bytes that stand for it.
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        match self {
            Self::Everyone => push(out, TAG_GLOBAL, &[]),
            Self::Text(text) => push(out, TAG_TEXT, text.as_bytes()),
            Self::Hashed(text) => push(out, TAG_HASH, &normalize::digest(text)),
            Self::Address(IpAddr::V4(v4), _) => push(out, TAG_IPV4, &v4.octets()),
            Self::Address(IpAddr::V6(v6), _) => push(out, TAG_IPV6, &v6.octets()),
        }
    }

    /// Returns its text: of an address with its prefix, unless that is the whole address.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Everyone => None,
            Self::Text(text) | Self::Hashed(text) => Some(text),
            Self::Address(address, 32) if address.is_ipv4() => Some(Cow::Owned(address.to_string())),
            Self::Address(address, 128) => Some(Cow::Owned(address.to_string())),
            Self::Address(address, prefix) => Some(Cow::Owned(format!("{address}/{prefix}"))),
        }
    }
}

/// Returns whether a text is an address or a network.
pub(super) fn looks_like_address(text: &str) -> bool {
    text.trim().parse::<IpAddr>().is_ok() || text.trim().parse::<IpNet>().is_ok()
}

/// Reads `sha256:` and 64 hexadecimal digits.
pub(crate) fn digest(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64)?;
    let mut digest = [0; 32];
    for (index, byte) in digest.iter_mut().enumerate() {
        let at = index.checked_mul(2)?;
        let pair = digits.get(at..at.checked_add(2)?)?;
        if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(digest)
}
