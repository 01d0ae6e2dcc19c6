//! Refusals as gRPC clients read them.
//!
//! A gRPC answer is HTTP 200 whatever became of the call, and its outcome stands in `grpc-status`. One that has no message
//! has a head alone, in which the trailers stand ("Trailers-Only"). A client that gets anything else makes of a 429 what
//! it likes, most of them UNAVAILABLE, and comes straight back.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tidegate::{Retry, Ruling, Verdict};

use crate::fields;
use crate::settle::OwnAnswer;

pub(crate) static STATUS: HeaderName = HeaderName::from_static("grpc-status");
static MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// How long a client with a retry policy waits, in milliseconds; negative for not at all (gRFC A6).
static PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What may not stand in a message as it is: all but the printable characters of ASCII, and the percent sign.
const NOT_PLAIN: &AsciiSet = &CONTROLS.add(b'%');

/// Returns whether a request is a gRPC call, by its content type: `application/grpc` alone, or with a `+` or `-` part.
pub fn is_grpc(head: &Parts) -> bool {
    is_grpc_type(&head.headers)
}

/// Returns whether a head's content type is one of gRPC's.
pub(crate) fn is_grpc_type(headers: &HeaderMap) -> bool {
    let Some(rest) = headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().get(..16).zip(Some(value)))
    else {
        return false;
    };
    let (start, value) = rest;
    let next = value.as_bytes().get(16);
    start.eq_ignore_ascii_case(b"application/grpc") && matches!(next, None | Some(b'+' | b'-' | b';' | b' '))
}

/// Returns the code for an answer's status.
fn code(status: StatusCode) -> u16 {
    match status {
        StatusCode::BAD_REQUEST => 3,
        StatusCode::REQUEST_TIMEOUT => 4,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => 8,
        StatusCode::INTERNAL_SERVER_ERROR => 13,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        // What a rule lets nobody do.
        _ => 7,
    }
}

/// Returns the answer to a call that went wrong before the service saw it.
pub(crate) fn failed<B: From<Bytes>>(head: &Parts, status: StatusCode, message: &str) -> Response<B> {
    let mut response = Response::new(B::from(Bytes::new()));
    response.extensions_mut().insert(OwnAnswer);
    let headers = response.headers_mut();
    let own_type = HeaderValue::from_static("application/grpc");
    headers.insert(CONTENT_TYPE, head.headers.get(CONTENT_TYPE).cloned().unwrap_or(own_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(&STATUS, HeaderValue::from(code(status)));
    let message = utf8_percent_encode(message, NOT_PLAIN).to_string();
    if let Ok(message) = HeaderValue::from_str(&message) {
        headers.insert(&MESSAGE, message);
    }
    response
}

/// Adds how long a client is to wait before it calls again, exactly.
pub(crate) fn add_pushback(headers: &mut HeaderMap, verdict: &Verdict) {
    let millis = match (verdict.ruling(), fields::told(verdict)) {
        (Ruling::StoreDown, _) => fields::STORE_RETRY_SECS.saturating_mul(1_000).to_string(),
        (_, Some(Retry::After(wait))) => wait.as_micros().div_ceil(1_000).max(1).to_string(),
        (_, Some(Retry::Never)) => "-1".to_owned(),
        (_, None) => return,
    };
    if let Ok(millis) = HeaderValue::from_str(&millis) {
        headers.insert(&PUSHBACK, millis);
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn head(content_type: &str) -> Parts {
        Request::builder().header(CONTENT_TYPE, content_type).body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_call_is_known_by_its_content_type() {
        for yes in [
            "application/grpc",
            "application/grpc+proto",
            "Application/gRPC;x=1",
            "application/grpc-web+json",
        ] {
            assert!(is_grpc(&head(yes)), "{yes}");
        }
        for no in ["application/json", "application/grp", "application/grpcx", "text/plain", ""] {
            assert!(!is_grpc(&head(no)), "{no}");
        }
    }

    /// Guards against a message that ends a header early or that is dropped for a letter in it.
    #[test]
    fn a_message_is_percent_encoded() {
        let response: Response<Bytes> =
            failed(&head("application/grpc+proto"), StatusCode::TOO_MANY_REQUESTS, "100 % h\u{f6}her\n");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["grpc-message"], "100 %25 h%C3%B6her%0A");
        assert_eq!(response.headers()["grpc-status"], "8");
        assert_eq!(response.headers()["content-type"], "application/grpc+proto");
    }
}
