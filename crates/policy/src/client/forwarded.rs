//! The `Forwarded` field of RFC 7239.
//!
//! Elements and pairs are split outside quotes only, so a line is read from its left end; its length is bounded
//! before. An element that breaks the grammar, or has no `for`, is an opaque hop.

use std::net::IpAddr;

use smallvec::SmallVec;

use super::node;

/// Calls back for each hop of a `Forwarded` line, from the right; empty elements are dropped.
pub(super) fn list(line: &[u8], cut: bool, step: &mut dyn FnMut(Option<IpAddr>) -> bool) {
    if cut {
        // Without its beginning nobody knows which quotes open and which close.
        step(None);
        return;
    }
    let mut elements: SmallVec<[&[u8]; 8]> = SmallVec::new();
    let whole = split(line, b',', &mut |element| elements.push(element));
    if !whole {
        step(None);
        return;
    }
    for element in elements.into_iter().rev() {
        if !node::trim(element).is_empty() && !step(hop(element)) {
            return;
        }
    }
}

/// Calls back for each part between separators outside quotes; returns whether every quote was closed.
fn split<'a>(text: &'a [u8], separator: u8, part: &mut dyn FnMut(&'a [u8])) -> bool {
    let (mut quoted, mut escaped, mut start) = (false, false, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            found if *found == separator && !quoted => {
                part(text.get(start..at).unwrap_or_default());
                start = at.saturating_add(1);
            }
            _ => {}
        }
    }
    part(text.get(start..).unwrap_or_default());
    !quoted
}

/// Returns the address of an element's `for`.
fn hop(element: &[u8]) -> Option<IpAddr> {
    let mut pairs: SmallVec<[&[u8]; 4]> = SmallVec::new();
    split(element, b';', &mut |pair| pairs.push(pair));
    let mut names: SmallVec<[&[u8]; 4]> = SmallVec::new();
    let mut found = None;
    for pair in pairs {
        let pair = node::trim(pair);
        if pair.is_empty() {
            continue;
        }
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair.get(..at)?, pair.get(at.checked_add(1)?..)?);
        // Each name at most once, or two readers may take different ones.
        if !is_token(name) || names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return None;
        }
        names.push(name);
        let value = unquote(value)?;
        if name.eq_ignore_ascii_case(b"for") {
            found = Some(value);
        }
    }
    address(&found?)
}

fn is_token(text: &[u8]) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(token)
}

/// Returns a token or the inside of a quoted string.
fn unquote(value: &[u8]) -> Option<SmallVec<[u8; 32]>> {
    let Some(inner) = value.strip_prefix(b"\"") else {
        return is_token(value).then(|| SmallVec::from_slice(value));
    };
    let inner = inner.strip_suffix(b"\"")?;
    let mut out = SmallVec::new();
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => out.push(*bytes.next()?),
            b'"' => return None,
            _ => out.push(*byte),
        }
    }
    Some(out)
}

/// Parses a node: IPv6 stands in brackets, and a port may be obfuscated.
fn address(node: &[u8]) -> Option<IpAddr> {
    let name_end = match node.first()? {
        b'[' => node.iter().position(|byte| *byte == b']')?.checked_add(1)?,
        _ => node.iter().position(|byte| *byte == b':').unwrap_or(node.len()),
    };
    let (name, port) = (node.get(..name_end)?, node.get(name_end..)?);
    if port.iter().skip(1).any(|byte| *byte == b':') {
        return None;
    }
    if let Some(obfuscated) = port.strip_prefix(b":_") {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let valid = !obfuscated.is_empty() && obfuscated.iter().all(plain);
        return valid.then(|| node::address(name)).flatten();
    }
    node::address(node)
}
