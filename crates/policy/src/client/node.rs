//! One hop: `ip`, `ip:port`, `[v6]`, `[v6]:port`; everything else is opaque.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Calls back for each hop of an `X-Forwarded-For` line, from the right; empty ones are dropped.
pub(super) fn list(line: &[u8], cut: bool, step: &mut dyn FnMut(Option<IpAddr>) -> bool) {
    let mut parts = line.rsplit(|byte| *byte == b',').peekable();
    while let Some(part) = parts.next() {
        let whole = !cut || parts.peek().is_some();
        let text = trim(part);
        let go_on = match text {
            b"" => true,
            _ if whole => step(address(text)),
            _ => step(None),
        };
        if !go_on {
            return;
        }
    }
}

/// Drops the optional whitespace of HTTP, which is spaces and tabs only.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// Parses a hop; `None` when it names no address that could be somebody's.
pub(super) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let address = if let Some(inner) = text.strip_prefix('[') {
        let (address, after) = inner.split_once(']')?;
        if !after.is_empty() {
            port(after.strip_prefix(':')?)?;
        }
        v6(address)?
    } else {
        match text.bytes().filter(|byte| *byte == b':').count() {
            0 => IpAddr::V4(text.parse::<Ipv4Addr>().ok()?),
            1 => {
                let (address, digits) = text.split_once(':')?;
                port(digits)?;
                IpAddr::V4(address.parse::<Ipv4Addr>().ok()?)
            }
            _ => v6(text)?,
        }
    };
    is_somebody(address.to_canonical()).then_some(address)
}

/// Parses an IPv6 address, dropping its zone; a link-local one with a zone stays what it is.
fn v6(text: &str) -> Option<IpAddr> {
    let (address, zone) = match text.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (text, None),
    };
    if zone.is_some_and(|zone| zone.is_empty() || !zone.bytes().all(|byte| byte.is_ascii_graphic())) {
        return None;
    }
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn port(digits: &str) -> Option<u16> {
    let plain = (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Returns whether an address can be one client's: not unspecified, multicast or broadcast.
fn is_somebody(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !broadcast
}
