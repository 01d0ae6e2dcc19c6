//! A check's question: what types cannot say about a call, checked member by member.
//!
//! What a request could not hold on the wire is refused, so that a described request and a real one are decided alike.

use std::borrow::Cow;
use std::net::IpAddr;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate::policy_file::{self, ReadyKeys};
use tidegate::{CheckOptions, Span};

use super::check::CheckCall;
use super::fields::{Members, OneOrMore, Text, Whole};
use super::names::KeyNames;
use crate::problem::Problem;

/// The most units a check may ask for, and the most a limit may hold.
const MAX_COST: u64 = 1 << 30;
/// The longest delay a caller may accept: 400 days, the longest period of a limit.
const MAX_DELAY_MS: u64 = 400 * 86_400_000;
/// The most characters of a path, a query, a header value or a ready-made key.
const MAX_TEXT: usize = 8_192;
const MAX_METHOD: usize = 64;
const MAX_HOST: usize = 262;
/// The most header fields by name, characters of such a name, and values of one field.
const MAX_HEADERS: usize = 128;
const MAX_NAME: usize = 256;
const MAX_VALUES: usize = 16;

/// A path and a query, as they were sent.
type Target<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// A call that makes sense: a request to the policy, and how to check it.
#[derive(Debug)]
pub(super) struct Question<'a> {
    method: Cow<'a, str>,
    path: Cow<'a, str>,
    query: Option<Cow<'a, str>>,
    host: Option<Cow<'a, str>>,
    peer: Option<IpAddr>,
    headers: HeaderMap,
    body: Option<Cow<'a, [u8]>>,
    pub(super) keys: ReadyKeys,
    pub(super) options: CheckOptions,
}

impl Question<'_> {
    pub(super) fn request(&self) -> policy_file::Request<'_> {
        let host = self.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        policy_file::Request {
            method: &self.method,
            // As the target of a request wins over its `Host`.
            host: self.host.as_deref().or(host),
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
            peer: self.peer,
            body: self.body.as_deref(),
        }
    }
}

impl<'a> CheckCall<'a> {
    /// Checks what types cannot say.
    pub(super) fn question(self, known: &KeyNames) -> Result<Question<'a>, Problem> {
        let (path, query) = target(self.path, self.query)?;
        Ok(Question {
            method: method(self.method)?,
            path,
            query,
            host: self.host.map(host).transpose()?,
            peer: self.client.map(address).transpose()?,
            headers: headers(&self.headers.unwrap_or_default())?,
            body: body(self.body, self.body_base64)?,
            keys: keys(self.keys.unwrap_or_default(), known)?,
            options: CheckOptions {
                cost: self.cost.map(cost).transpose()?,
                peek: self.peek.unwrap_or_default(),
                max_delay: delay(self.max_delay_ms.unwrap_or_default())?,
                ..CheckOptions::default()
            },
        })
    }
}

fn method(given: Option<Text<'_>>) -> Result<Cow<'_, str>, Problem> {
    let method = given.map_or(Cow::Borrowed("GET"), |Text(method)| method);
    if method.len() > MAX_METHOD || http::Method::from_bytes(method.as_bytes()).is_err() {
        let why = format!("is not a method; send a token such as GET, of at most {MAX_METHOD} characters");
        return Err(Problem::of_member("method", why));
    }
    Ok(method)
}

/// Checks path and query by what a request's target may hold.
fn target<'a>(path: Option<Text<'a>>, query: Option<Text<'a>>) -> Result<Target<'a>, Problem> {
    let path = path.map_or(Cow::Borrowed("/"), |Text(path)| path);
    let is_path = path.is_ascii()
        && path.len() <= MAX_TEXT
        && (is_plain(&path)
            || PathAndQuery::try_from(&*path).is_ok_and(|parsed| parsed.path() == path && path != "*"));
    if !is_path {
        let why = format!(
            "is not a path; send it as it was sent: from its slash on, percent-encoded, without the query, \
             of at most {MAX_TEXT} characters"
        );
        return Err(Problem::of_member("path", why));
    }
    let query = query.map(|Text(query)| query);
    let is_query = |query: &Cow<'_, str>| {
        query.is_ascii()
            && query.len() <= MAX_TEXT
            && PathAndQuery::try_from(format!("/?{query}"))
                .is_ok_and(|parsed| parsed.query() == Some(&**query))
    };
    if query.as_ref().is_some_and(|query| !is_query(query)) {
        let why = format!(
            "is not a query; send it as it was sent: percent-encoded, without the question mark, of at most \
             {MAX_TEXT} characters"
        );
        return Err(Problem::of_member("query", why));
    }
    Ok((path, query))
}

/// Returns whether a path is nothing but slashes, letters, digits and the like, so that nobody reads it otherwise.
fn is_plain(path: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~');
    path.starts_with('/') && path.bytes().all(is_plain)
}

fn host(Text(given): Text<'_>) -> Result<Cow<'_, str>, Problem> {
    if given.is_empty() || given.len() > MAX_HOST || !given.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = format!(
            "is not a host; send a name or address, perhaps with a port, of at most {MAX_HOST} characters"
        );
        return Err(Problem::of_member("host", why));
    }
    Ok(given)
}

fn address(Text(text): Text<'_>) -> Result<IpAddr, Problem> {
    let parsed = text.parse::<IpAddr>();
    let why = "is not an IP address; send one such as 192.0.2.7 or 2001:db8::7, without a port";
    parsed.map(|address| address.to_canonical()).map_err(|_| Problem::of_member("client", why))
}

/// Checks header fields by what a message may hold.
pub(super) fn headers(given: &Members<OneOrMore<'_>>) -> Result<HeaderMap, Problem> {
    if given.0.len() > MAX_HEADERS {
        let why = format!("has more than {MAX_HEADERS} fields; send those that the policy looks at");
        return Err(Problem::of_member("headers", why));
    }
    let mut headers = HeaderMap::new();
    for (name, values) in &given.0 {
        let member = || format!("headers.{name}");
        let field = HeaderName::from_bytes(name.as_bytes()).ok().filter(|_| name.len() <= MAX_NAME);
        let Some(field) = field else {
            let why = format!(
                "is not the name of a header field; send a token such as x-api-key, of at most {MAX_NAME} characters"
            );
            return Err(Problem::of_member(member(), why));
        };
        if values.as_slice().len() > MAX_VALUES {
            let why = format!("has more than {MAX_VALUES} values");
            return Err(Problem::of_member(member(), why));
        }
        for Text(value) in values.as_slice() {
            let too_long = is_long(value);
            let value = HeaderValue::from_bytes(value.trim_matches([' ', '\t']).as_bytes()).ok();
            let added = value.filter(|_| !too_long).and_then(|value| headers.try_append(&field, value).ok());
            if added.is_none() {
                let why = format!(
                    "is not the value of a header field; send at most {MAX_TEXT} characters, none of them a control"
                );
                return Err(Problem::of_member(member(), why));
            }
        }
    }
    Ok(headers)
}

/// Returns whether a text has more characters than one may have.
fn is_long(text: &str) -> bool {
    text.len() > MAX_TEXT && text.chars().nth(MAX_TEXT).is_some()
}

fn body<'a>(text: Option<Text<'a>>, base64: Option<Text<'a>>) -> Result<Option<Cow<'a, [u8]>>, Problem> {
    // Lenient in the bits that the last character has too many of, which say nothing.
    const LENIENT: GeneralPurpose =
        GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));
    match (text, base64) {
        (Some(_), Some(_)) => {
            Err(Problem::of_member("body_base64", "is there beside `body`; send one of them"))
        }
        (text, None) => Ok(text.map(|Text(text)| match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        })),
        (None, Some(Text(base64))) => {
            LENIENT.decode(&*base64).map(|body| Some(body.into())).map_err(|error| {
                Problem::of_member(
                    "body_base64",
                    format!("is not base64: {error}; send the standard alphabet, padded"),
                )
            })
        }
    }
}

fn keys(given: Members<String>, known: &KeyNames) -> Result<ReadyKeys, Problem> {
    for (name, value) in &given.0 {
        let member = || format!("keys.{name}");
        if !known.has(name) {
            let names: Vec<_> = known.iter().collect();
            let why = format!("no limit reads a key of this name; those there are: {}", names.join(", "));
            return Err(Problem::of_member(member(), why));
        }
        if is_long(value) {
            let why = format!("is too long; send at most {MAX_TEXT} characters");
            return Err(Problem::of_member(member(), why));
        }
    }
    Ok(given.0)
}

fn cost(Whole(units): Whole) -> Result<u32, Problem> {
    let fits = u32::try_from(units).ok().filter(|_| units <= MAX_COST);
    fits.ok_or_else(|| {
        Problem::of_member("cost", format!("is more than any limit holds; send 0 to {MAX_COST}"))
    })
}

fn delay(Whole(millis): Whole) -> Result<Span, Problem> {
    if millis > MAX_DELAY_MS {
        let why = format!("is longer than any limit delays; send 0 to {MAX_DELAY_MS}");
        return Err(Problem::of_member("max_delay_ms", why));
    }
    Ok(Span::from_millis(millis))
}

#[cfg(test)]
mod tests;
