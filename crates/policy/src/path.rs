//! Paths, read the way a router behind us may read them.
//!
//! A limit on `/otp/verify` is worth nothing if `//otp/verify`, `/otp/%76erify` or `/otp/x/../verify` reach the
//! same handler without it. So a path is normalised once: unreserved characters are decoded, empty segments
//! dropped, dot segments resolved. What cannot be read in one way only is refused: bytes that are no UTF-8,
//! control characters, encoded slashes and backslashes (unless the file keeps them), and segments that become
//! dot segments or nothing once a server drops their `;parameters`.
//!
//! Beside the path there is its loose reading, in lower case and without `;parameters`. Rules that guard accounts
//! match on that one, since some routers do. Both readings have the same number of segments.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use smallvec::SmallVec;

use crate::policy::EncodedSlash;
use crate::request::Ambiguous;

/// A path in both readings.
#[derive(Debug, Clone)]
pub(crate) struct Normal<'a> {
    strict: Reading<'a>,
    /// The loose reading when it differs.
    loose: Option<Reading<'a>>,
    /// Whether the path ends in a slash, as sent or where a dot segment leads (and is not the root).
    pub(crate) trailing_slash: bool,
}

impl Normal<'_> {
    /// Returns the path `/`.
    pub(crate) fn root() -> Self {
        let strict = Reading { text: Cow::Borrowed("/"), ends: SmallVec::new() };
        Self { strict, loose: None, trailing_slash: false }
    }
}

impl<'a> Normal<'a> {
    /// Returns the path as it is, or in its loose reading.
    pub(crate) fn reading(&self, loose: bool) -> &Reading<'a> {
        match &self.loose {
            Some(reading) if loose => reading,
            _ => &self.strict,
        }
    }
}

/// A path in one reading: it begins with a slash and has no empty segment, except that `/` is the root.
#[derive(Debug, Clone)]
pub(crate) struct Reading<'a> {
    text: Cow<'a, str>,
    /// Where each segment ends: every rule asks for them. It begins after the slash that ends the one before.
    ends: SmallVec<[usize; 8]>,
}

impl<'a> Reading<'a> {
    fn new(text: Cow<'a, str>) -> Self {
        let slashes = text.bytes().enumerate().skip(1).filter(|(_, byte)| *byte == b'/');
        let mut ends: SmallVec<_> = slashes.map(|(at, _)| at).collect();
        if text.len() > 1 {
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// Returns the whole path.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns how many segments there are; the root has none.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a segment.
    pub(crate) fn segment(&self, index: usize) -> &str {
        let before = index.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        let (before, end) =
            (before.copied().unwrap_or_default(), self.ends.get(index).copied().unwrap_or_default());
        self.text.get(before.saturating_add(1)..end).unwrap_or_default()
    }
}

/// Normalises a path as sent, undecoded and without its query.
///
/// # Errors
/// When servers differ in how they read it.
pub(crate) fn normalize(raw: &str, slashes: EncodedSlash) -> Result<Normal<'_>, Ambiguous> {
    if raw.is_empty() || raw == "*" {
        let strict = Reading::new(Cow::Borrowed("/"));
        return Ok(Normal { strict, loose: None, trailing_slash: false });
    }
    if !raw.starts_with('/') {
        return Err(refuse("does not begin with a slash"));
    }
    let (path, trailing_slash) = if is_plain(raw) {
        let bare = raw.strip_suffix('/').filter(|bare| !bare.is_empty());
        (Cow::Borrowed(bare.unwrap_or(raw)), bare.is_some())
    } else {
        let decoded = decode(raw, slashes)?;
        // A dot segment at the end names a directory, which resolves to its slash (RFC 3986, section 5.2.4).
        let slash = ["/", "/.", "/.."].iter().any(|end| decoded.ends_with(end));
        let resolved = resolve(&decoded);
        let trailing_slash = slash && resolved != "/";
        (Cow::Owned(resolved), trailing_slash)
    };
    let loose = loosen(&path)?.map(|text| Reading::new(Cow::Owned(text)));
    Ok(Normal { strict: Reading::new(path), loose, trailing_slash })
}

fn refuse(why: &'static str) -> Ambiguous {
    Ambiguous::new("path", why)
}

/// Returns whether nothing but perhaps one trailing slash has to be changed.
fn is_plain(raw: &str) -> bool {
    let mut after_slash = false;
    raw.bytes().all(|byte| {
        let odd = matches!(byte, b'%' | b'\\') || (after_slash && matches!(byte, b'/' | b'.'));
        after_slash = byte == b'/';
        byte.is_ascii_graphic() && !odd
    })
}

/// Decodes unreserved characters, writes every other encoding in upper case and encodes what is not ASCII.
fn decode(raw: &str, slashes: EncodedSlash) -> Result<String, Ambiguous> {
    if percent_decode_str(raw).decode_utf8().is_err() {
        return Err(refuse("is not UTF-8 once decoded"));
    }
    let mut out = String::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        let encoded = byte == b'%';
        let value = if encoded {
            let digits = bytes.next().and_then(hex).zip(bytes.next().and_then(hex));
            let (high, low) =
                digits.ok_or_else(|| refuse("has a percent sign without two hexadecimal digits"))?;
            high << 4 | low
        } else {
            byte
        };
        let slash = value == b'\\' || (encoded && value == b'/');
        if slash && slashes == EncodedSlash::Refuse {
            return Err(refuse("has an encoded slash or a backslash, which servers read differently"));
        }
        if value.is_ascii_control() || (value == b' ' && !encoded) {
            return Err(refuse("has a control character or a bare space"));
        }
        let unreserved = value.is_ascii_alphanumeric() || matches!(value, b'-' | b'.' | b'_' | b'~');
        if unreserved || (!encoded && value.is_ascii() && value != b'\\') {
            out.push(char::from(value));
        } else {
            push_encoded(&mut out, value);
        }
    }
    Ok(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Appends a byte percent-encoded, with the upper-case digits the standard asks for.
pub(crate) fn push_encoded(out: &mut String, byte: u8) {
    out.push_str(percent_encoding::percent_encode_byte(byte));
}

/// Drops empty segments and resolves dot segments.
fn resolve(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    if kept.is_empty() {
        return "/".to_owned();
    }
    let mut out = String::with_capacity(path.len());
    for segment in kept {
        out.push('/');
        out.push_str(segment);
    }
    out
}

/// Returns the loose reading of a normalised path, unless it is the path itself.
fn loosen(path: &str) -> Result<Option<String>, Ambiguous> {
    if !path.bytes().any(|byte| byte.is_ascii_uppercase() || matches!(byte, b';' | b'%')) {
        return Ok(None);
    }
    let mut out = String::with_capacity(path.len());
    for segment in path.split('/').skip(1) {
        let name = segment.split(';').next().unwrap_or_default();
        if name.len() < segment.len() && matches!(name, "" | "." | "..") {
            return Err(refuse("has parameters on an empty or dot segment"));
        }
        out.push('/');
        fold_segment(name, &mut out);
    }
    Ok(Some(out))
}

/// Appends a segment in lower case, as a router that ignores case would compare it.
pub(crate) fn fold_segment(segment: &str, out: &mut String) {
    let mut rest = segment;
    while let Some(first) = rest.chars().next() {
        // The long s and the Kelvin sign are the two characters outside ASCII whose case folds into ASCII.
        let (letter, len) = if rest.starts_with("%C5%BF") {
            ('s', 6)
        } else if rest.starts_with("%E2%84%AA") {
            ('k', 9)
        } else {
            (first.to_ascii_lowercase(), first.len_utf8())
        };
        out.push(letter);
        rest = rest.get(len..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
