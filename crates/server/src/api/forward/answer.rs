//! Answers to proxies: those of the layer, and their form for nginx.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::Full;
use tidegate::Verdict;
use tidegate::policy_file::Policy;
use tidegate_tower::{answer_fields, refusal};

/// The status that a client is to get, in an answer that nginx takes for a plain refusal.
static STATUS: HeaderName = HeaderName::from_static("x-ratelimit-status");

/// An answer to keep.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    /// Returns what a client would get: of a request that may pass, the fields alone.
    pub(super) fn of(verdict: &Verdict, policy: Option<&Policy>) -> Self {
        let styles = policy.map_or(&[][..], |policy| &policy.headers);
        let refused = policy.and_then(|policy| refusal::<Bytes>(verdict, styles, &policy.problem));
        if let Some(refused) = refused {
            let (head, body) = refused.into_parts();
            return Self { status: head.status, headers: head.headers, body };
        }
        let mut headers = answer_fields(verdict, styles);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Self { status: StatusCode::OK, headers, body: Bytes::new() }
    }

    /// Returns it as it is sent.
    pub(super) fn response(self) -> http::Response<Full<Bytes>> {
        let mut response = http::Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Puts an answer into the form that nginx can do something with.
///
/// To its `auth_request` every status but 2xx, 401 and 403 is an error of the service, it reads no body, and of several
/// lines of one field it sees the first. So a refusal is a 403 that says in a field what it is meant to be.
pub(super) fn for_nginx(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    head.headers = in_single_lines(&head.headers);
    if head.status.is_success() || head.status == StatusCode::UNAUTHORIZED {
        return Response::from_parts(head, body);
    }
    head.headers.insert(&STATUS, HeaderValue::from(head.status.as_u16()));
    head.headers.remove(CONTENT_TYPE);
    head.headers.remove(CONTENT_LENGTH);
    head.status = StatusCode::FORBIDDEN;
    Response::from_parts(head, Body::empty())
}

/// Makes one line of the lines of each field.
fn in_single_lines(headers: &HeaderMap) -> HeaderMap {
    let mut single = HeaderMap::with_capacity(headers.keys_len());
    for name in headers.keys() {
        let lines: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        // Of values that are allowed, so is their list.
        if let Ok(line) = HeaderValue::from_bytes(&lines.join(&b", "[..])) {
            single.insert(name, line);
        }
    }
    single
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, in_single_lines};

    /// Guards against nginx telling clients of one policy where two are in force.
    #[test]
    fn several_lines_of_one_field_become_one() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("ratelimit", "\"a\";r=1"), ("ratelimit", "\"b\";r=2"), ("retry-after", "3")] {
            headers.append(name, value.parse().unwrap());
        }
        let single = in_single_lines(&headers);
        assert_eq!(single.len(), 2);
        assert_eq!(single["ratelimit"], "\"a\";r=1, \"b\";r=2");
        assert_eq!(single["retry-after"], "3");
    }
}
