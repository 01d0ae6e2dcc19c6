//! Telling the upstream who the client is.
//!
//! From a peer nobody vouches for, everything it says about addresses is thrown away and its own address written
//! instead. From a trusted peer (a load balancer of the house) what it says is kept, and the peer added as one more
//! hop. Who is trusted is not decided here: the limiter's layer tells the client as the policy resolves it, for keys
//! and headers alike.

use std::fmt::Write as _;
use std::net::IpAddr;

use http::header::{FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue};

use tidegate_policy::is_underscore_twin;
use tidegate_tower::ResolvedClient;

use crate::net::PeerInfo;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The fields that say where a request came from, all ours to write.
const FORWARDING: [HeaderName; 6] =
    [X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO, X_FORWARDED_PORT, X_REAL_IP, FORWARDED];

pub(crate) fn is_forwarding(name: &HeaderName) -> bool {
    FORWARDING.contains(name)
}

/// Tells whether a name is one of the forwarding fields written with underscores, which many servers cannot tell apart
/// from the real one.
pub(crate) fn is_forwarding_variant(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.contains('_') && FORWARDING.iter().any(|known| is_underscore_twin(name, known.as_str()))
}

/// Takes out what is said of addresses by whoever has no say: from a peer that nobody vouches for the forwarding fields
/// and `own`, the one in which the policy has trusted peers name the client; from anyone those written with underscores.
pub(crate) fn drop_forged(headers: &mut HeaderMap, vouched: bool, own: Option<&HeaderName>) {
    let is_variant = |name: &HeaderName| {
        is_forwarding_variant(name) || own.is_some_and(|own| is_underscore_twin(name.as_str(), own.as_str()))
    };
    let variants: Vec<HeaderName> = headers.keys().filter(|name| is_variant(name)).cloned().collect();
    for name in variants {
        headers.remove(name);
    }
    if !vouched {
        for name in FORWARDING.iter().chain(own) {
            headers.remove(name);
        }
    }
}

/// Writes the forwarding fields, where there is a peer: a service mounted elsewhere may know none.
pub(crate) fn set_forwarding(
    headers: &mut HeaderMap,
    peer: Option<&PeerInfo>,
    resolved: Option<&ResolvedClient>,
) {
    let Some(peer) = peer else {
        return;
    };
    append_hop(headers, peer);
    let client = resolved.map_or_else(|| peer.ip(), |resolved| resolved.address);
    insert(headers, X_REAL_IP, &client.to_string());
    append_element(headers, peer);
    if !headers.contains_key(X_FORWARDED_PROTO) {
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(peer.scheme()));
    }
    if !headers.contains_key(X_FORWARDED_HOST)
        && let Some(host) = headers.get(HOST).cloned()
    {
        headers.insert(X_FORWARDED_HOST, host);
    }
}

/// Adds the peer to `X-Forwarded-For`, all its lines joined into one.
fn append_hop(headers: &mut HeaderMap, peer: &PeerInfo) {
    let hop = peer.ip().to_string();
    append_member(headers, X_FORWARDED_FOR, &hop);
}

/// Adds an element to `Forwarded` where the field is in use; nobody is made to parse two accounts of one thing.
fn append_element(headers: &mut HeaderMap, peer: &PeerInfo) {
    if !headers.contains_key(FORWARDED) {
        return;
    }
    let mut element = match peer.ip() {
        IpAddr::V4(ip) => format!("for={ip}"),
        IpAddr::V6(ip) => format!("for=\"[{ip}]\""),
    };
    if let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) {
        let _ = write!(element, ";host=\"{}\"", host.replace(['"', '\\'], ""));
    }
    let _ = write!(element, ";proto={}", peer.scheme());
    append_member(headers, FORWARDED, &element);
}

/// Adds a member at the end of a list field, joining its lines in their order.
fn append_member(headers: &mut HeaderMap, name: HeaderName, member: &str) {
    let mut list = Vec::new();
    for value in headers.get_all(&name) {
        if !value.as_bytes().is_empty() {
            list.extend_from_slice(value.as_bytes());
            list.extend_from_slice(b", ");
        }
    }
    list.extend_from_slice(member.as_bytes());
    if let Ok(value) = HeaderValue::from_bytes(&list) {
        headers.insert(name, value);
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests;
