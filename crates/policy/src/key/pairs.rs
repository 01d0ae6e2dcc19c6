//! Values of queries, forms and cookies: names that stand once, decoded in one way.

use std::borrow::Cow;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::source::Unread;

const REPEATED: Unread = Unread::Ambiguous("is there more than once, or in another case");
const UNDECODABLE: Unread = Unread::Ambiguous("cannot be decoded");

/// Finds a parameter of a query or of an urlencoded form.
///
/// A name in another case counts as the name, since some servers ignore case: it is refused, alone or beside it.
pub(super) fn query<'a>(name: &str, text: &'a str) -> Result<Option<Cow<'a, str>>, Unread> {
    let mut found = None;
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (given, value) = pair.split_once('=').unwrap_or((pair, ""));
        let given = decode(given);
        let Some(given) = given else {
            // A name that cannot be decoded may be read as this one.
            return Err(UNDECODABLE);
        };
        if !given.eq_ignore_ascii_case(name) {
            continue;
        }
        if given != name || found.is_some() {
            return Err(REPEATED);
        }
        found = Some(decode(value).ok_or(UNDECODABLE)?);
    }
    Ok(found)
}

/// Decodes `+` and percent-encodings; `None` for half an encoding or what is not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let whole = bytes.next()?.is_ascii_hexdigit() && bytes.next()?.is_ascii_hexdigit();
            if !whole {
                return None;
            }
        }
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(Cow::Owned(decoded.into_owned()))
}

/// Finds a cookie, across all `Cookie` lines. Quotes around a value are not part of it, and one that decodes is
/// decoded, since some servers do: a spelling must not be a fresh key.
pub(super) fn cookie<'a>(name: &str, headers: &'a HeaderMap) -> Result<Option<Cow<'a, str>>, Unread> {
    let mut found = None;
    for line in headers.get_all(http::header::COOKIE) {
        let line = std::str::from_utf8(line.as_bytes()).map_err(|_| Unread::Ambiguous("is not UTF-8"))?;
        for pair in line.split(';').map(str::trim) {
            let (given, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !given.trim_end().eq_ignore_ascii_case(name) {
                continue;
            }
            if given.trim_end() != name || found.is_some() {
                return Err(REPEATED);
            }
            found = Some(unescape(value.trim().trim_matches('"')));
        }
    }
    Ok(found)
}

fn unescape(value: &str) -> Cow<'_, str> {
    percent_decode_str(value).decode_utf8().unwrap_or(Cow::Borrowed(value))
}
