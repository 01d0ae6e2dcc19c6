//! Which kind of body a request has, before a key is read from it.
//!
//! The kind is what `Content-Type` says. A body of another kind is not a missing key: the server behind us may
//! read it all the same, so it is refused unless a `first_of` has an alternative. A JSON document may come without
//! a type, since it can be told from anything else; a form may not.

use super::source::Unread;
use crate::request::Request;

const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the text of a JSON body, `None` when there is no body.
pub(super) fn json<'a>(request: &Request<'a>) -> Result<Option<&'a str>, Unread> {
    let Some(body) = plain_body(request)? else { return Ok(None) };
    let is_json = |kind: &str| {
        kind.eq_ignore_ascii_case("application/json")
            || kind.get(kind.len().saturating_sub(5)..).is_some_and(|end| end.eq_ignore_ascii_case("+json"))
    };
    match kind(request)? {
        Some(kind) if !is_json(kind) => Err(Unread::OtherBody(not_json(kind))),
        _ => text(body).map(Some),
    }
}

/// Returns the text of a form body, `None` when there is no body.
pub(super) fn form<'a>(request: &Request<'a>) -> Result<Option<&'a str>, Unread> {
    let Some(body) = plain_body(request)? else { return Ok(None) };
    match kind(request)? {
        Some(kind) if kind.eq_ignore_ascii_case(FORM) => text(body).map(Some),
        kind => Err(Unread::OtherBody(not_form(kind))),
    }
}

/// The end of a sentence about a body of another content type. What a client sent is named only where it is known,
/// so that no text of its own comes back.
macro_rules! other_type {
    ($body:literal, $sent:literal, $send:literal) => {
        concat!(
            "is read from a ",
            $body,
            " body, and the content type is ",
            $sent,
            "; send `Content-Type: ",
            $send,
            "`"
        )
    };
}

/// Says what a content type other than JSON's is; the first is what many clients send when nobody says.
fn not_json(kind: &str) -> &'static str {
    const SEND: [(&str, &str); 3] = [
        (FORM, other_type!("JSON", "application/x-www-form-urlencoded", "application/json")),
        ("multipart/form-data", other_type!("JSON", "multipart/form-data", "application/json")),
        ("text/plain", other_type!("JSON", "text/plain", "application/json")),
    ];
    named(&SEND, kind).unwrap_or(other_type!("JSON", "another", "application/json"))
}

/// Says what a content type other than a form's is.
fn not_form(kind: Option<&str>) -> &'static str {
    const SEND: [(&str, &str); 3] = [
        ("application/json", other_type!("form", "application/json", "application/x-www-form-urlencoded")),
        (
            "multipart/form-data",
            other_type!("form", "multipart/form-data", "application/x-www-form-urlencoded"),
        ),
        ("text/plain", other_type!("form", "text/plain", "application/x-www-form-urlencoded")),
    ];
    let Some(kind) = kind else {
        return other_type!("form", "not said", "application/x-www-form-urlencoded");
    };
    named(&SEND, kind).unwrap_or(other_type!("form", "another", "application/x-www-form-urlencoded"))
}

fn named(known: &[(&str, &'static str)], kind: &str) -> Option<&'static str> {
    known.iter().find(|(known, _)| known.eq_ignore_ascii_case(kind)).map(|(_, words)| *words)
}

fn text(body: &[u8]) -> Result<&str, Unread> {
    std::str::from_utf8(body).map_err(|_| Unread::Ambiguous("is in a body that is not UTF-8"))
}

/// Returns the body unless there is none; one that is compressed cannot be read.
fn plain_body<'a>(request: &Request<'a>) -> Result<Option<&'a [u8]>, Unread> {
    let Some(body) = request.body.filter(|body| !body.is_empty()) else { return Ok(None) };
    let encodings = request.headers.get_all(http::header::CONTENT_ENCODING);
    if encodings.iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Unread::Ambiguous("is in a body with a content encoding"));
    }
    Ok(Some(body))
}

/// Returns the media type without parameters, which may only say that the text is UTF-8.
fn kind<'a>(request: &Request<'a>) -> Result<Option<&'a str>, Unread> {
    const UNREADABLE: Unread = Unread::Ambiguous("is in a body whose content type cannot be read");
    let mut lines = request.headers.get_all(http::header::CONTENT_TYPE).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err(UNREADABLE);
    }
    let text = line.to_str().map_err(|_| UNREADABLE)?;
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    for parameter in parts {
        let Some((name, value)) = parameter.split_once('=') else { continue };
        let utf8 = || {
            ["utf-8", "utf8", "us-ascii"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(value.trim_matches('"')))
        };
        if name.trim().eq_ignore_ascii_case("charset") && !utf8() {
            return Err(Unread::Ambiguous("is in a body that is not UTF-8"));
        }
    }
    Ok(Some(kind))
}
