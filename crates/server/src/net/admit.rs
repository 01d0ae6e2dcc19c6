//! The first look at a request: what two readers could understand differently is refused, the rest made uniform.
//!
//! After this a request has an origin-form target and exactly one `Host` (none only on HTTP/1.0), whichever version it
//! came in by, so that neither limits nor the upstream need to know.

use http::header::{CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, StatusCode, Uri, Version};

use super::options::RequestLimits;

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
    let host = host(request)?;
    let target = origin_form(request.uri())?;
    *request.uri_mut() = target;
    if let Some(host) = host {
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

/// Returns the host the request is for: the target's if it names one, else the header's.
fn host<B>(request: &Request<B>) -> Result<Option<HeaderValue>, Refusal> {
    let mut lines = request.headers().get_all(HOST).iter();
    let line = lines.next();
    if lines.next().is_some() {
        return Err(bad("The request has more than one Host."));
    }
    let named = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    let host = match (named, line, request.version()) {
        (Some(Ok(named)), Some(line), Version::HTTP_2)
            if !named.as_bytes().eq_ignore_ascii_case(line.as_bytes()) =>
        {
            return Err(bad("The request's :authority and Host differ."));
        }
        (_, None, Version::HTTP_11) => return Err(bad("The request has no Host.")),
        (Some(named), _, _) => named.map_err(|_| bad("The request's target names an impossible host."))?,
        (None, Some(line), _) => line.clone(),
        (None, None, Version::HTTP_10) => return Ok(None),
        (None, None, _) => return Err(bad("The request names no host.")),
    };
    let valid = Authority::try_from(host.as_bytes()).is_ok() && !host.as_bytes().contains(&b'@');
    if valid { Ok(Some(host)) } else { Err(bad("The request's Host is not a host.")) }
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
mod tests {
    use super::*;

    /// Runs `admit` on a request line and header lines and returns its target and host, or the status of the refusal.
    fn run(
        version: Version,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<(String, String), u16> {
        let mut builder = Request::builder().version(version).method(method).uri(target);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let mut request = builder.body(()).unwrap();
        let limits = RequestLimits { max_headers: 3, max_target_bytes: 20, ..RequestLimits::default() };
        admit(&mut request, &limits).map_err(|refusal| refusal.status.as_u16())?;
        let host = request.headers().get(HOST).map_or("", |host| host.to_str().unwrap());
        Ok((request.uri().to_string(), host.to_owned()))
    }

    #[test]
    fn targets_and_hosts_are_made_uniform_or_refused() {
        let (h10, h11, h2) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
        let a: &[(&str, &str)] = &[("host", "a")];
        for (version, method, target, headers, expected) in [
            (h11, "GET", "/p?q", a, Ok(("/p?q", "a"))),
            (h11, "OPTIONS", "*", a, Ok(("*", "a"))),
            (h11, "GET", "http://b/p", a, Ok(("/p", "b"))),
            (h11, "GET", "https://b:1", a, Ok(("/", "b:1"))),
            (h11, "GET", "ftp://b/p", a, Err(400)),
            (h11, "GET", "b:80", a, Err(400)),
            (h11, "GET", "http://u@b/", a, Err(400)),
            (h11, "GET", "/", &[], Err(400)),
            (h11, "GET", "http://b/p", &[], Err(400)),
            (h11, "GET", "/", &[("host", "a"), ("host", "a")], Err(400)),
            (h11, "GET", "/", &[("host", "a, b")], Err(400)),
            (h11, "GET", "/", &[("host", "")], Err(400)),
            (h11, "GET", "/", &[("host", "u@a")], Err(400)),
            (h11, "CONNECT", "b:80", a, Err(405)),
            (h10, "GET", "/", &[], Ok(("/", ""))),
            (h10, "GET", "/", a, Ok(("/", "a"))),
            (h2, "GET", "https://b/p", &[], Ok(("/p", "b"))),
            (h2, "GET", "https://b/p", &[("host", "B")], Ok(("/p", "b"))),
            (h2, "GET", "https://b/p", a, Err(400)),
            (h2, "GET", "/", &[], Err(400)),
            (h11, "GET", "/234567890123456789", a, Ok(("/234567890123456789", "a"))),
            (h11, "GET", "/2345678901234567890?", a, Err(414)),
            (h11, "GET", "/", &[("host", "a"), ("b", ""), ("c", ""), ("d", "")], Err(431)),
            (h11, "GET", "/", &[("host", "a"), ("expect", "100-Continue")], Ok(("/", "a"))),
            (h11, "GET", "/", &[("host", "a"), ("expect", "200-ok")], Err(417)),
            (h11, "GET", "/", &[("host", "a"), ("transfer-encoding", "Chunked")], Ok(("/", "a"))),
            (h11, "GET", "/", &[("host", "a"), ("transfer-encoding", "gzip, chunked")], Err(501)),
            (
                h11,
                "GET",
                "/",
                &[("host", "a"), ("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
                Err(400),
            ),
            (
                h11,
                "GET",
                "/",
                &[("host", "a"), ("transfer-encoding", "chunked"), ("content-length", "1")],
                Err(400),
            ),
        ] {
            assert_eq!(
                run(version, method, target, headers),
                expected,
                "{version:?} {method} {target} {headers:?}"
            );
        }
    }

    #[test]
    fn cookie_crumbs_of_http2_become_one_field() {
        let mut request = Request::builder()
            .version(Version::HTTP_2)
            .uri("https://a/")
            .header(COOKIE, "a=1")
            .header(COOKIE, "b=2")
            .body(())
            .unwrap();
        admit(&mut request, &RequestLimits::default()).unwrap();
        assert_eq!(request.headers().get_all(COOKIE).iter().collect::<Vec<_>>(), ["a=1; b=2"]);
    }
}
