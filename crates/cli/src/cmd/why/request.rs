//! The request of `tidegate why`, put together from arguments.

use std::net::IpAddr;
use std::time::SystemTime;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidegate::Timestamp;
use tidegate::policy_file::suite::parse_instant;
use tidegate::policy_file::{Policy, ReadyKeys, Request};

use crate::args::WhyArgs;
use crate::exit::Failure;

/// A request to explain.
#[derive(Debug)]
pub(super) struct Asked {
    method: String,
    host: Option<String>,
    path: String,
    query: Option<String>,
    client: Option<IpAddr>,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    pub(super) keys: ReadyKeys,
    pub(super) at: Timestamp,
    pub(super) cost: Option<u32>,
}

impl Asked {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When they describe no request.
    pub(super) fn of(args: &WhyArgs) -> Result<Self, Failure> {
        let (method, target) = match args.request.as_slice() {
            [target] => ("GET", target),
            [method, target, ..] => (method.as_str(), target),
            [] => return Err(Failure::unusable("no path; write one such as /otp/verify")),
        };
        if Method::from_bytes(method.as_bytes()).is_err() {
            return Err(Failure::unusable(format!("\"{method}\" is not a method; write one such as POST")));
        }
        let wrong = || {
            Failure::unusable(format!(
                "\"{target}\" cannot be sent; write a path from its slash on, percent-encoded, or a URL"
            ))
        };
        let uri: Uri = target.parse().map_err(|_| wrong())?;
        if !uri.path().starts_with('/') {
            return Err(wrong());
        }
        let mut headers = headers(&args.header)?;
        let form = form(&args.form);
        let kind = match (&args.json, &form) {
            (Some(_), _) => Some("application/json"),
            (_, Some(_)) => Some("application/x-www-form-urlencoded"),
            _ => None,
        };
        if let Some(kind) = kind {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
        }
        Ok(Self {
            method: method.to_owned(),
            host: args.host.clone().or_else(|| uri.authority().map(ToString::to_string)),
            path: uri.path().to_owned(),
            query: uri.query().map(str::to_owned),
            client: args.client,
            headers,
            body: args.json.clone().or(form).or_else(|| args.body.clone()).map(String::into_bytes),
            keys: args.key.iter().cloned().collect(),
            at: args.at.unwrap_or_else(now),
            cost: args.cost,
        })
    }

    /// Returns the request as a policy sees it.
    pub(super) fn request(&self) -> Request<'_> {
        let host = self.headers.get(HOST).and_then(|host| host.to_str().ok());
        Request {
            method: &self.method,
            host: self.host.as_deref().or(host),
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
            peer: self.client,
            body: self.body.as_deref(),
        }
    }

    /// Returns what is wrong when a key is given that no limit reads.
    pub(super) fn unknown_key(&self, policy: &Policy) -> Option<String> {
        let known = policy.sources();
        let unknown = self.keys.keys().find(|name| !known.contains(name.as_str()))?;
        let known = Vec::from_iter(known);
        let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Some(format!("no limit reads a key {unknown}; there are {there}"))
    }
}

fn headers(lines: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let wrong = || Failure::unusable(format!("\"{line}\" is no header field; write `name: value`"));
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| wrong())?;
        let value = HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| wrong())?;
        headers.try_append(name, value).map_err(|_| wrong())?;
    }
    Ok(headers)
}

/// Writes fields as a form, as a browser sends it; `None` when there are none.
fn form(fields: &[(String, String)]) -> Option<String> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pairs: Vec<_> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    (!pairs.is_empty()).then(|| pairs.join("&"))
}

/// Reads `name=value`.
pub(crate) fn key(text: &str) -> Result<(String, String), &'static str> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or("write name=value")
}

/// Reads an instant.
pub(crate) fn instant(text: &str) -> Result<Timestamp, &'static str> {
    parse_instant(text)
        .ok_or("write a date, such as 2027-01-31, or an instant in UTC, such as 2027-01-31T12:00:00Z")
}

/// Returns the instant at which it is asked.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::saturating_from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
