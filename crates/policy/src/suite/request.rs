//! Requests as a test writes them: what is not said is as in the file's `defaults`, then as in a plain `GET /`.

use std::net::IpAddr;

use http::header::{CONTENT_TYPE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidegate_algorithms::Span;

use super::json;
use crate::file::{Entry, Fields, Node, Report, Value, is_null, one_or_more};
use crate::request::{ReadyKeys, Request};

/// The most units a request may ask for.
const MAX_COST: u64 = 1 << 30;

/// A request that a test describes.
#[derive(Debug, Clone, Default)]
pub struct Described {
    /// The method; empty stands for `GET`.
    method: String,
    host: Option<String>,
    path: String,
    query: Option<String>,
    client: Option<IpAddr>,
    headers: HeaderMap,
    body: Option<Body>,
    keys: ReadyKeys,
    /// The units to charge instead of each limit's own cost; 0 asks without taking.
    pub cost: Option<u32>,
    /// The longest delay the request can be held for; as long as need be unless said, as the gateway does.
    pub max_delay: Option<Span>,
    /// The names of its ready-made keys, each with its place.
    pub(super) named_keys: Vec<super::Named>,
}

#[derive(Debug, Clone)]
struct Body {
    bytes: Vec<u8>,
    /// The type it has unless the header fields say another.
    kind: Option<&'static str>,
}

impl Described {
    /// Returns the request as a policy sees it.
    pub fn request(&self) -> Request<'_> {
        let host = self.headers.get(HOST).and_then(|host| host.to_str().ok());
        Request {
            method: if self.method.is_empty() { "GET" } else { &self.method },
            host: self.host.as_deref().or(host),
            path: if self.path.is_empty() { "/" } else { &self.path },
            query: self.query.as_deref(),
            headers: &self.headers,
            peer: self.client,
            body: self.body.as_ref().map(|body| body.bytes.as_slice()),
        }
    }

    /// Returns the keys that are given ready-made.
    pub fn keys(&self) -> &ReadyKeys {
        &self.keys
    }

    /// Reads a request, over those of which some is already known.
    pub(super) fn read(node: &Node, base: &Self, what: &str, report: &mut Report) -> Option<Self> {
        let mut fields = Fields::open(node, what, report)?;
        let mut read = base.clone();
        if let Some(method) = fields.get("method").and_then(|node| method(node, report)) {
            read.method = method;
        }
        if let Some(host) = fields.get("host").and_then(|node| node.text("host", report)) {
            read.host = Some(host.to_owned());
        }
        if let Some(node) = fields.get("path") {
            (read.path, read.query) = target(node, report).unwrap_or_default();
        }
        if let Some(node) = fields.get("query") {
            read.query(node, report);
        }
        if let Some(client) = fields.get("client").and_then(|node| address(node, report)) {
            read.client = Some(client);
        }
        if let Some(node) = fields.get("headers") {
            headers(node, &mut read.headers, report);
        }
        read.body(&mut fields, report);
        if let Some(node) = fields.get("keys") {
            read.ready(node, report);
        }
        if let Some(cost) = fields.get("cost").and_then(|node| node.integer_in("cost", 0..=MAX_COST, report))
        {
            read.cost = u32::try_from(cost).ok();
        }
        if let Some(span) =
            fields.get("max_delay").and_then(|node| super::read::span(node, "max_delay", report))
        {
            read.max_delay = Some(span);
        }
        fields.finish(&[], report);
        Some(read)
    }

    /// Gives a body that nobody said the type of the type it was written as.
    pub(super) fn finish(mut self) -> Self {
        if let Some(kind) = self.body.as_ref().and_then(|body| body.kind) {
            self.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
        }
        self
    }

    fn query(&mut self, node: &Node, report: &mut Report) {
        if node.kind() == "nothing" {
            self.query = None;
            return;
        }
        let Some(text) = value(node, "query", report) else { return };
        let fits =
            PathAndQuery::try_from(format!("/?{text}")).is_ok_and(|parsed| parsed.query() == Some(&text));
        if !fits || !text.is_ascii() {
            let message = format!("query \"{text}\" cannot be sent");
            report.add(node.place, message, "write it percent-encoded, without the question mark");
            return;
        }
        self.query = Some(text);
    }

    fn body(&mut self, fields: &mut Fields<'_>, report: &mut Report) {
        let written = [
            (fields.entry("json"), Some("application/json")),
            (fields.entry("form"), Some("application/x-www-form-urlencoded")),
            (fields.entry("body"), None),
        ];
        let mut written = written.into_iter().filter_map(|(entry, kind)| Some((entry?, kind)));
        let Some((entry, kind)) = written.next() else { return };
        if let Some((second, _)) = written.next() {
            let message = format!("`{}` is beside `{}`, and a request has one body", second.key, entry.key);
            report.add(second.place, message, "keep one of `json`, `form` and `body`");
        }
        let node = &entry.value;
        let text = match entry.key.as_str() {
            "json" => json::write(node, report),
            "form" => form(node, report),
            _ if node.kind() == "nothing" => {
                self.body = None;
                return;
            }
            _ => value(node, "body", report),
        };
        self.body = text.map(|text| Body { bytes: text.into_bytes(), kind });
    }

    fn ready(&mut self, node: &Node, report: &mut Report) {
        for entry in members(node, "keys", report) {
            if let Some(text) = value(&entry.value, &format!("the key {}", entry.key), report) {
                self.keys.insert(entry.key.clone(), text);
                self.named_keys.push(super::Named { name: entry.key.clone(), place: entry.place });
            }
        }
    }
}

/// Returns the members of a mapping whose names are free.
pub(super) fn members<'n>(node: &'n Node, what: &str, report: &mut Report) -> &'n [Entry] {
    let Value::Map(entries) = &node.value else {
        let message = format!("{what} has to be a mapping, and this is {}", node.kind());
        report.add(node.place, message, "write `name: value`");
        return &[];
    };
    entries
}

/// Reads a text that may be empty in quotes.
pub(super) fn value(node: &Node, what: &str, report: &mut Report) -> Option<String> {
    match &node.value {
        Value::Scalar { text, plain: false } => Some(text.clone()),
        _ => node.text(what, report).map(str::to_owned),
    }
}

fn method(node: &Node, report: &mut Report) -> Option<String> {
    let text = node.text("method", report)?;
    if http::Method::from_bytes(text.as_bytes()).is_err() {
        report.add(node.place, format!("method \"{text}\" is not a method"), "write one such as POST");
        return None;
    }
    Some(text.to_owned())
}

/// Reads a path as it is sent, perhaps with its query.
fn target(node: &Node, report: &mut Report) -> Option<(String, Option<String>)> {
    let text = node.text("path", report)?;
    let parsed = PathAndQuery::try_from(text).ok().filter(|_| text.starts_with('/') && text.is_ascii());
    let Some(parsed) = parsed.filter(|parsed| parsed.as_str() == text) else {
        let message = format!("path \"{text}\" cannot be sent");
        report.add(node.place, message, "write it from its slash on, percent-encoded: /search?q=a%20b");
        return None;
    };
    Some((parsed.path().to_owned(), parsed.query().map(str::to_owned)))
}

fn address(node: &Node, report: &mut Report) -> Option<IpAddr> {
    let text = node.text("client", report)?;
    let parsed = text.parse::<IpAddr>();
    if parsed.is_err() {
        let message = format!("client \"{text}\" is not an IP address");
        report.add(node.place, message, "write one such as 192.0.2.7, without a port");
    }
    parsed.ok().map(|address| address.to_canonical())
}

/// Reads header fields over those that are known; nothing in place of a value takes a field away.
pub(super) fn headers(node: &Node, into: &mut HeaderMap, report: &mut Report) {
    let mut seen: Vec<HeaderName> = Vec::new();
    for entry in members(node, "headers", report) {
        let Ok(name) = HeaderName::from_bytes(entry.key.as_bytes()) else {
            let message = format!("\"{}\" is not the name of a header field", entry.key);
            report.add(entry.place, message, "write one such as x-api-key");
            continue;
        };
        if seen.contains(&name) {
            let remedy = format!("write `{name}: [one, other]` for a field that is sent twice");
            report.add(entry.place, format!("the field {name} is here twice"), remedy);
        }
        into.remove(&name);
        for node in one_or_more(&entry.value) {
            if matches!(&node.value, Value::Scalar { text, plain: true } if is_null(text)) {
                continue;
            }
            let Some(text) = value(node, &format!("the field {name}"), report) else { continue };
            let line = HeaderValue::from_bytes(text.trim_matches([' ', '\t']).as_bytes()).ok();
            if line.is_none_or(|line| into.try_append(&name, line).is_err()) {
                report.add(
                    node.place,
                    format!("the field {name} cannot be sent"),
                    "leave out control characters",
                );
            }
        }
        seen.push(name);
    }
}

/// Reads a form's fields and writes them as browsers send them, but for spaces, which are `%20`.
fn form(node: &Node, report: &mut Report) -> Option<String> {
    let mut pairs = Vec::new();
    for entry in members(node, "form", report) {
        for node in one_or_more(&entry.value) {
            let text = value(node, &format!("the form field {}", entry.key), report)?;
            let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            pairs.push(format!("{}={}", encoded(&entry.key), encoded(&text)));
        }
    }
    Some(pairs.join("&"))
}
