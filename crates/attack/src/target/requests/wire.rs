//! The request itself, as it is sent.

use std::net::IpAddr;

use http::header::{CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_policy::{ReadyKeys, Request};

use super::fill::{Body, Filling, Place, Says, Slot};
use super::front::Front;
use super::names::name;
use super::route::{Start, encode};
use crate::act::Who;

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Wire {
    /// The method.
    pub method: String,
    /// The host, where it makes a difference which.
    pub host: Option<String>,
    /// The path, encoded.
    pub path: String,
    /// The query, encoded, without its question mark.
    pub query: Option<String>,
    /// The header fields, without the host's; those that proxies in front have written are among them.
    pub headers: HeaderMap,
    /// The body; empty when there is none.
    pub body: Vec<u8>,
    /// Who is connected: the last proxy, or the client.
    pub peer: IpAddr,
    /// What nobody can write who makes requests, and is taken as found: claims of tokens, descriptors.
    pub ready: ReadyKeys,
}

impl Wire {
    /// Returns the request as a policy sees it.
    pub fn request(&self) -> Request<'_> {
        Request {
            method: &self.method,
            host: self.host.as_deref(),
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
            peer: Some(self.peer),
            body: Some(self.body.as_slice()).filter(|body| !body.is_empty()),
        }
    }

    /// Returns the ready-made keys, if there are any.
    pub(super) fn ready(&self) -> Option<&ReadyKeys> {
        Some(&self.ready).filter(|ready| !ready.is_empty())
    }
}

/// What requests of everybody have in common, and what of them tells people apart.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) start: Start,
    pub(super) front: Front,
    /// Nothing yet, while it is looked for which rules apply.
    pub(super) filling: Option<Filling>,
}

impl Shape {
    pub(super) fn slots(&self) -> &[Slot] {
        self.filling.as_ref().map_or(&[], |filling| &filling.slots)
    }

    /// Makes somebody's request.
    pub(super) fn wire(&self, who: &Who) -> Wire {
        let texts: Vec<String> = self.slots().iter().map(|slot| self.text(slot, who)).collect();
        let filled = || self.slots().iter().zip(&texts);
        let segment = |index: usize| {
            filled().find(|(slot, _)| slot.place == Place::Path(index)).map(|(_, text)| text.as_str())
        };
        let path = self.start.path.write(segment);
        let mut headers = HeaderMap::new();
        let peer = self.front.write(who, &mut headers);
        let (mut query, mut form, mut cookies) = (String::new(), String::new(), String::new());
        let mut ready = ReadyKeys::new();
        for (slot, text) in filled() {
            match &slot.place {
                Place::Header(name) => put(&mut headers, name, text),
                Place::Query(name) => pair(name, text, &mut query),
                Place::Form(name) => pair(name, text, &mut form),
                Place::Cookie(name) => {
                    cookies.push_str(if cookies.is_empty() { "" } else { "; " });
                    cookies.extend([name, "=", text]);
                }
                Place::Ready(name) => _ = ready.insert(name.clone(), text.clone()),
                Place::Path(_) | Place::Json(_) => {}
            }
        }
        if !cookies.is_empty() {
            put(&mut headers, &COOKIE, &cookies);
        }
        let body = self.body(&texts, form, &mut headers);
        let query = Some(query).filter(|query| !query.is_empty());
        let Start { method, host, .. } = &self.start;
        Wire { method: method.clone(), host: host.clone(), path, query, headers, body, peer, ready }
    }

    fn text(&self, slot: &Slot, who: &Who) -> String {
        match (&slot.says, &self.filling) {
            (Says::Subject(kind), Some(filling)) => {
                let spelling = if slot.is_spelled() { who.spelling } else { 0 };
                let in_path = matches!(slot.place, Place::Path(_));
                name(*kind, &filling.phones, (who.subject, spelling), in_path)
            }
            (Says::Fixed(text), _) => text.clone(),
            (Says::Session | Says::Subject(_), _) => format!("session-{}", who.session),
        }
    }

    fn body(&self, texts: &[String], form: String, headers: &mut HeaderMap) -> Vec<u8> {
        let Some(filling) = &self.filling else { return Vec::new() };
        match filling.body {
            None => Vec::new(),
            Some(Body::Form) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                form.into_bytes()
            }
            Some(Body::Json) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let mut document = String::new();
                filling.tree.write(texts, &mut document);
                document.into_bytes()
            }
        }
    }
}

/// Puts a field unless it is there: what proxies have written stays.
fn put(headers: &mut HeaderMap, name: &HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.entry(name.clone()).or_insert(value);
    }
}

fn pair(name: &str, text: &str, out: &mut String) {
    if !out.is_empty() {
        out.push('&');
    }
    encode(name, "-._~", out);
    out.push('=');
    encode(text, "-._~", out);
}
