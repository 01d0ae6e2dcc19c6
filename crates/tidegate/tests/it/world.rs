//! What the tests share: an instant to begin at, and requests that are quick to write.

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate::policy_file::{self, Request};
use tidegate::{Limiter, Span, Timestamp};

/// An instant on a whole minute, so that clock-aligned windows begin with it.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_micros(1_700_000_040_000_000).unwrap()
}

/// The instant so many milliseconds after [`start`].
pub(crate) fn after_ms(millis: u64) -> Timestamp {
    start().saturating_add(Span::from_millis(millis))
}

/// A limiter by a policy that listens nowhere in particular.
pub(crate) fn by(policy: &str) -> Limiter {
    let text = format!(
        "tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }}\nstore: memory\n{policy}"
    );
    let policy = policy_file::parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    Limiter::from_policy(policy).unwrap()
}

/// A request that owns what a policy borrows.
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Ask {
    pub(crate) fn get(path: &str) -> Self {
        Self { method: "GET", path: path.to_owned(), headers: HeaderMap::new(), body: None }
    }

    pub(crate) fn post(path: &str, json: &str) -> Self {
        let request = Self { method: "POST", body: Some(json.as_bytes().to_vec()), ..Self::get(path) };
        request.header("content-type", "application/json")
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn as_seen(&self) -> Request<'_> {
        let (path, query) = match self.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.path.as_str(), None),
        };
        Request {
            method: self.method,
            host: Some("example.test"),
            path,
            query,
            headers: &self.headers,
            peer: Some("192.0.2.7".parse().unwrap()),
            body: self.body.as_deref(),
        }
    }
}
