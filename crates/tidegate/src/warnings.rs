//! What is wrong around the limiter, told in the log once a cause and counted every time.

use tidegate_policy::{Facts, Limit, Seen};

use crate::observe::{Cause, Observer};

static X_FORWARDED_FOR: http::HeaderName = http::HeaderName::from_static("x-forwarded-for");

/// Warns of what makes everybody share one key.
pub(crate) fn sharing(observer: &Observer, seen: &Seen<'_>) {
    let Some(client) = seen.client() else { return };
    if !client.peer_trusted
        && is_private(client.address)
        && is_forwarded(seen.request().headers)
        && observer.is_first(Cause::UntrustedProxy)
    {
        tracing::warn!(
            peer = %client.address,
            "a private peer sends forwarding headers but is not in trusted_proxies: \
             everybody behind it shares one key; if it is your proxy, list it"
        );
    }
    if client.opaque_hop && observer.is_first(Cause::OpaqueHop) {
        tracing::warn!(
            client = %client.address,
            "a trusted proxy forwards an address that cannot be read; the proxy itself is taken for the client"
        );
    }
}

/// Warns of a request without its peer's address, which a limit skips.
pub(crate) fn no_peer(observer: &Observer, limit: &str) {
    if observer.is_first(Cause::NoPeer) {
        tracing::warn!(
            limit,
            "a request came without its peer's address, and a limit skips it for want of a key; \
             in a tower service, put a PeerAddr into the request's extensions"
        );
    }
}

/// Warns of a request that names a plan which its limit does not have.
pub(crate) fn unknown_plan(observer: &Observer, limit: &Limit, facts: &Facts<'_>) {
    if observer.is_first(Cause::UnknownPlan) {
        let plan = sanitized(&limit.plan_asked(facts).unwrap_or_default());
        tracing::warn!(
            limit = limit.name,
            "a request names the plan \"{plan}\", which {} does not have, and is held to the default plan; add the plan, \
             or mend whoever names it",
            limit.name
        );
    }
}

/// Returns the beginning of what somebody sent, with whatever could pass for more than text escaped.
fn sanitized(text: &str) -> String {
    /// The longest name that a plan can have.
    const MOST: usize = 64;
    let mut kept: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        kept.push('\u{2026}');
    }
    kept
}

fn is_forwarded(headers: &http::HeaderMap) -> bool {
    headers.contains_key(&X_FORWARDED_FOR) || headers.contains_key(http::header::FORWARDED)
}

fn is_private(address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        std::net::IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}
