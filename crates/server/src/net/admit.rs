//! The first look at a request: what two readers could understand differently is refused, the rest made uniform.
//!
//! After this a request has an origin-form target and exactly one `Host` (none only on HTTP/1.0), whichever version it
//! came in by, so that neither limits nor the upstream need to know.

use http::header::{CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, StatusCode, Uri, Version};

use super::options::RequestLimits;
use crate::proxy::headers;

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) detail: &'static str,
}

const fn bad(detail: &'static str) -> Refusal {
    Refusal { status: StatusCode::BAD_REQUEST, detail }
}

/// The refusal of what [`super::framing`] finds.
pub(crate) const UNSOUND_FRAMING: Refusal = bad(
    "The request has both a Content-Length and a Transfer-Encoding, or a line that does not end in CRLF.",
);

/// Checks a request and makes it uniform.
pub(crate) fn admit<B>(request: &mut Request<B>, limits: &RequestLimits) -> Result<(), Refusal> {
    check_size(request, limits)?;
    if request.method() == Method::CONNECT {
        let detail = "This is a gateway, not a forward proxy: CONNECT is not served.";
        return Err(Refusal { status: StatusCode::METHOD_NOT_ALLOWED, detail });
    }
    check_framing(request.headers())?;
    check_expectation(request.headers())?;
    // What the upstream will not see must not be counted on either: a key in such a field would be a fresh one each time.
    headers::drop_named(request.headers_mut());
    let named = host(request)?;
    if !is_origin_form(request.uri()) {
        *request.uri_mut() = origin_form(request.uri())?;
    }
    if let Some(host) = named {
        request.headers_mut().insert(HOST, host);
    }
    if request.version() == Version::HTTP_2 {
        join_cookies(request.headers_mut());
    }
    Ok(())
}

fn check_size<B>(request: &Request<B>, limits: &RequestLimits) -> Result<(), Refusal> {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > limits.max_target_bytes {
        return Err(Refusal {
            status: StatusCode::URI_TOO_LONG,
            detail: "The request's target is too long.",
        });
    }
    if request.headers().len() > limits.max_headers {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Refusal { status, detail: "The request has too many header fields." });
    }
    Ok(())
}

fn check_framing(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(());
    };
    if codings.next().is_some() || headers.contains_key(CONTENT_LENGTH) {
        return Err(bad("The request states the length of its body more than once."));
    }
    if !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        let detail = "The only transfer coding understood is chunked.";
        return Err(Refusal { status: StatusCode::NOT_IMPLEMENTED, detail });
    }
    Ok(())
}

fn check_expectation(headers: &HeaderMap) -> Result<(), Refusal> {
    let known = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if headers.get_all(EXPECT).iter().all(known) {
        return Ok(());
    }
    let detail = "The only expectation that can be met is 100-continue.";
    Err(Refusal { status: StatusCode::EXPECTATION_FAILED, detail })
}

/// Returns the host that the request's target names, for the header; none where the header's own stays.
fn host<B>(request: &Request<B>) -> Result<Option<HeaderValue>, Refusal> {
    let mut lines = request.headers().get_all(HOST).iter();
    let line = lines.next();
    if lines.next().is_some() {
        return Err(bad("The request has more than one Host."));
    }
    let named = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    let host = match (&named, line, request.version()) {
        (Some(Ok(named)), Some(line), Version::HTTP_2)
            if !named.as_bytes().eq_ignore_ascii_case(line.as_bytes()) =>
        {
            return Err(bad("The request's :authority and Host differ."));
        }
        (_, None, Version::HTTP_11) => return Err(bad("The request has no Host.")),
        (Some(Err(_)), ..) => return Err(bad("The request's target names an impossible host.")),
        (Some(Ok(named)), ..) => named,
        (None, Some(line), _) => line,
        (None, None, Version::HTTP_10) => return Ok(None),
        (None, None, _) => return Err(bad("The request names no host.")),
    };
    if is_host(host.as_bytes()) {
        Ok(named.and_then(Result::ok))
    } else {
        Err(bad("The request's Host is not a host."))
    }
}

/// Returns whether bytes are a host, maybe with a port; the plainest without copying them.
fn is_host(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let (name, port) = match bytes.iter().position(|byte| *byte == b':') {
        Some(colon) => (&bytes[..colon], &bytes[colon + 1..]),
        None => (bytes, b"80".as_slice()),
    };
    let is_plain = !name.is_empty() && name.iter().all(is_plain);
    if is_plain && matches!(port.len(), 1..=5) && port.iter().all(u8::is_ascii_digit) {
        return true;
    }
    Authority::try_from(bytes).is_ok() && !bytes.contains(&b'@')
}

/// Returns whether a target is a path, and nothing of it has to go.
fn is_origin_form(target: &Uri) -> bool {
    target.scheme().is_none() && target.authority().is_none() && target.path_and_query().is_some()
}

fn origin_form(target: &Uri) -> Result<Uri, Refusal> {
    if target.scheme().is_some_and(|scheme| *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS) {
        return Err(bad("The request's target is of a scheme other than http and https."));
    }
    // Without a scheme an authority can only come from a target such as `example.com:80`, which is for CONNECT.
    if target.scheme().is_none() && target.authority().is_some() {
        return Err(bad("The request's target is neither a path nor a whole URL."));
    }
    let path = target.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    Ok(Uri::from(path))
}

/// HTTP/2 clients may send a cookie per field; everybody else expects one field (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    if headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let lines: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&lines.join(b"; ".as_slice())) {
        headers.insert(COOKIE, joined);
    }
}

#[cfg(test)]
mod tests;
