//! Values of queries, forms and cookies: names that stand once, decoded in one way.

use std::borrow::Cow;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::source::Unread;

const REPEATED: Unread = Unread::Ambiguous("is there more than once, or in another spelling");
const SPLIT: Unread =
    Unread::Ambiguous("is beside a semicolon or comma that some servers take for a separator");
const ESCAPED: Unread = Unread::Ambiguous("has a backslash in quotes, which some servers decode");
const UNDECODABLE: Unread = Unread::Ambiguous("cannot be decoded");

/// Finds a parameter of a query or of an urlencoded form.
///
/// A name that some server takes for this one counts as it ([`stands_for`]): it is refused, alone or beside it.
pub(super) fn query<'a>(name: &str, text: &'a str) -> Result<Option<Cow<'a, str>>, Unread> {
    let mut found = None;
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (given, value) = pair.split_once('=').unwrap_or((pair, ""));
        let given = decode(given);
        let Some(given) = given else {
            // A name that cannot be decoded may be read as this one.
            return Err(UNDECODABLE);
        };
        if pair.contains(';') && is_split(name, pair, ';') {
            return Err(SPLIT);
        }
        if !stands_for(name, &given) {
            continue;
        }
        if given != name || found.is_some() {
            return Err(REPEATED);
        }
        found = Some(decode(value).ok_or(UNDECODABLE)?);
    }
    Ok(found)
}

/// Returns whether a query or form has a parameter of this name, in any spelling.
pub(super) fn mentions(name: &str, text: &str) -> bool {
    let mut names = text.split(['&', ';']).map(|pair| pair.split('=').next().unwrap_or_default());
    names.any(|given| decode(given).is_some_and(|given| stands_for(name, &given)))
}

/// Returns whether a server that splits at `separator` finds the name in a pair.
fn is_split(name: &str, pair: &str, separator: char) -> bool {
    let mut names = pair.split(separator).map(|part| part.split('=').next().unwrap_or_default());
    names.any(|given| decode(given.trim()).is_some_and(|given| stands_for(name, &given)))
}

/// Returns whether some server reads `given` as `name`: without regard to case; without white space around it, what
/// follows a NUL, or the `[]` of a list; with a dot or a space for an underscore.
fn stands_for(name: &str, given: &str) -> bool {
    let letters = |given: &str| {
        let same = |(a, b): (u8, u8)| a.eq_ignore_ascii_case(&b) || (a == b'_' && matches!(b, b'.' | b' '));
        name.len() == given.len() && name.bytes().zip(given.bytes()).all(same)
    };
    let bare = given.split(['\0', '[']).next().unwrap_or_default().trim();
    letters(given) || letters(bare)
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
            let given = given.trim_end();
            if !stands_for(name, given) {
                // A comma once was a separator of cookies.
                if value.contains(',') && is_split(name, value, ',') {
                    return Err(SPLIT);
                }
                continue;
            }
            if given != name || found.is_some() {
                return Err(REPEATED);
            }
            let value = value.trim();
            if value.starts_with('"') && value.contains('\\') {
                return Err(ESCAPED);
            }
            found = Some(unescape(value.trim_matches('"')));
        }
    }
    Ok(found)
}

fn unescape(value: &str) -> Cow<'_, str> {
    percent_decode_str(value).decode_utf8().unwrap_or(Cow::Borrowed(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a decoy beside a name that only the server behind us takes for the key's.
    #[test]
    fn a_name_in_another_servers_spelling_is_refused() {
        for text in [
            "user=decoy&%20user=a",
            "user=decoy&+user=a",
            "user=decoy&user%20=a",
            "user[]=a",
            "user=decoy&user%5B0%5D=a",
            "user=decoy&user%00x=a",
            "user_id=decoy&user.id=a&user=x",
        ] {
            let name = if text.starts_with("user_id") { "user_id" } else { "user" };
            assert_eq!(query(name, text), Err(REPEATED), "{text}");
            assert!(mentions(name, text), "{text}");
        }
        assert_eq!(query("user[name]", "user[name]=a&user[age]=7"), Ok(Some(Cow::Borrowed("a"))));
        assert_eq!(query("user", "users[]=a&x_user=b"), Ok(None));
        assert!(!mentions("user", "users[]=a&x_user=b&x=user"));
    }

    /// Guards against a semicolon that ends a value for some servers: each tail would be a fresh key, and a key
    /// behind one would not be seen.
    #[test]
    fn a_semicolon_or_comma_beside_the_key_is_refused() {
        for text in ["user=a;1", "x=1;user=a", "user;x=1", "x=1;us%65r=a", "user=decoy&x;user=a"] {
            assert_eq!(query("user", text), Err(SPLIT), "{text}");
        }
        for text in ["user=a&x=1;y=2", "user=a&x=1;users=2", "user=a%3B1"] {
            assert!(query("user", text).is_ok_and(|found| found.is_some()), "{text}");
        }
        assert!(mentions("user", "x=1;user=a"));
        let cookie = |line: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::COOKIE, http::HeaderValue::from_static(line));
            super::cookie("sid", &headers).map(|found| found.map(Cow::into_owned))
        };
        assert_eq!(cookie("a=b, sid=x"), Err(SPLIT));
        assert_eq!(cookie("a=b,c; sid=x"), Ok(Some("x".to_owned())));
        assert_eq!(cookie("sid=\"\\141\""), Err(ESCAPED));
        assert_eq!(cookie("sid[]=x"), Err(REPEATED));
    }
}
