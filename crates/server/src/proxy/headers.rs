//! Header hygiene: what belongs to one connection stays on it.
//!
//! Hop-by-hop fields, and those a `Connection` field names, are taken out in both directions (RFC 9110, 7.6.1). Some
//! names may not be taken out by naming them: a client must not be able to make us lose the host, the length or the
//! addresses we are about to write.

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::{Method, Version};

use super::forwarded;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY: HeaderName = HeaderName::from_static("proxy");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const PROXY_AUTHENTICATE: HeaderName = http::header::PROXY_AUTHENTICATE;
const PROXY_AUTHORIZATION: HeaderName = http::header::PROXY_AUTHORIZATION;
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// The fields that concern one connection only.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HTTP2_SETTINGS,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Fields that stay although a `Connection` field names them.
fn is_kept(name: &HeaderName) -> bool {
    [HOST, CONTENT_LENGTH, TRAILER].contains(name) || forwarded::is_forwarding(name)
}

/// Takes out the fields named in `Connection`, up to those that concern one connection anyway.
pub(crate) fn drop_named(headers: &mut HeaderMap) {
    if !headers.contains_key(CONNECTION) {
        return;
    }
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION)
        .filter_map(|token| HeaderName::try_from(token).ok())
        .filter(|name| !is_kept(name) && !HOP_BY_HOP.contains(name))
        .collect();
    for name in named {
        headers.remove(name);
    }
}

/// Takes out the hop-by-hop fields and those named in `Connection`.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    // Most headers have none, and one look at their few names tells.
    if !headers.keys().any(|name| HOP_BY_HOP.contains(name)) {
        return;
    }
    drop_named(headers);
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Makes a client's header fit for the upstream, up to the forwarding fields. HTTP/2 knows no `upgrade`.
pub(crate) fn prepare_request(headers: &mut HeaderMap, upgrade: Option<HeaderValue>, to_http2: bool) {
    let trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    strip_hop_by_hop(headers);
    // Some servers hand it to scripts as the variable that names their outgoing proxy.
    headers.remove(PROXY);
    // Our own server has answered it, or will when the upstream starts to take the body.
    headers.remove(EXPECT);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    match upgrade {
        Some(protocol) => {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol);
        }
        None if trailers && !to_http2 => {
            headers.insert(CONNECTION, HeaderValue::from_static("te"));
        }
        None => {}
    }
}

/// Makes an upstream's header fit for the client; `upgrade` is kept for an answer that switches protocols.
pub(crate) fn prepare_response(headers: &mut HeaderMap, switches: bool) {
    let upgrade = if switches { headers.get(UPGRADE).cloned() } else { None };
    if headers.contains_key(TRANSFER_ENCODING) {
        // Of the two the coding counted when the body was read, so the length is not to be believed.
        headers.remove(CONTENT_LENGTH);
    }
    strip_hop_by_hop(headers);
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

/// Makes the header agree with the body; `false` when a length was promised and there is no body.
///
/// A body without a length is said to be chunked, or the HTTP client would drop it where a body is unusual. A length
/// without a body it would send as it is, and the upstream would take the next request for the body.
pub(crate) fn frame_body(headers: &mut HeaderMap, has_body: bool, to_http2: bool) -> bool {
    match headers.get(CONTENT_LENGTH) {
        None if has_body && !to_http2 => {
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
            true
        }
        Some(length) if !has_body => length.as_bytes().iter().all(|&digit| digit == b'0'),
        _ => true,
    }
}

/// Takes out of trailers what may only stand in a header: framing, routing, and who the client is.
pub(crate) fn clean_trailers(trailers: &mut HeaderMap) {
    strip_hop_by_hop(trailers);
    let unfit: Vec<HeaderName> = trailers
        .keys()
        .filter(|name| is_kept(name) || forwarded::is_forwarding_variant(name))
        .cloned()
        .collect();
    for name in unfit {
        trailers.remove(name);
    }
}

/// Returns the protocol a client asks to switch to, if the request is one that may.
///
/// HTTP/2 and TLS are not tunnelled: within such a tunnel a client could send requests no limit would ever see.
pub(crate) fn wanted_upgrade(method: &Method, version: Version, headers: &HeaderMap) -> Option<HeaderValue> {
    let asks = tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    if version != Version::HTTP_11 || *method == Method::CONNECT || !asks {
        return None;
    }
    let protocols: Vec<&str> = tokens(headers, &UPGRADE).filter(|protocol| may_tunnel(protocol)).collect();
    (!protocols.is_empty()).then(|| HeaderValue::from_str(&protocols.join(", ")).ok()).flatten()
}

fn may_tunnel(protocol: &str) -> bool {
    let name = protocol.split('/').next().unwrap_or_default();
    !["h2c", "h2", "http", "tls"].iter().any(|banned| name.eq_ignore_ascii_case(banned))
}

/// Adds ourselves to the `Via` field.
pub(crate) fn add_via(headers: &mut HeaderMap, version: Version) {
    let via = match version {
        Version::HTTP_10 => "1.0 tidegate",
        Version::HTTP_2 => "2.0 tidegate",
        _ => "1.1 tidegate",
    };
    headers.append(VIA, HeaderValue::from_static(via));
}

/// Returns the members of a comma-separated field, over all its lines; what is not text is left out.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests;
