//! Replies, in the older and in the newer version of the protocol.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use bytes::{BufMut, Bytes, BytesMut};

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// RESP2, which every connection begins with.
    Two,
    /// RESP3, which a client asks for with `HELLO 3`.
    Three,
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Simple(&'static str),
    /// An error: a code in capitals, then words.
    Error(Cow<'static, str>),
    Integer(i64),
    Bulk(Bytes),
    Array(Vec<Reply>),
    /// An array of five integers: what a throttle comes to.
    Numbers([i64; 5]),
    /// Names and values; a list of both in turn in the older version.
    Map(Vec<(&'static str, Reply)>),
    Null,
}

impl Reply {
    /// The reply of a command that did what it was to do.
    pub(super) const OK: Self = Self::Simple("OK");

    /// Returns the text as a bulk string.
    pub(super) fn text(text: &'static str) -> Self {
        Self::Bulk(Bytes::from_static(text.as_bytes()))
    }

    /// Appends the reply as it goes over the wire.
    pub(super) fn write(&self, version: Version, out: &mut BytesMut) {
        match self {
            Self::Simple(text) => line(out, '+', text),
            Self::Error(text) => line(out, '-', &*one_line(text)),
            Self::Integer(number) => line(out, ':', number),
            Self::Numbers(numbers) => {
                line(out, '*', numbers.len());
                for number in numbers {
                    line(out, ':', number);
                }
            }
            Self::Bulk(bytes) => {
                line(out, '$', bytes.len());
                out.put_slice(bytes);
                out.put_slice(b"\r\n");
            }
            Self::Array(items) => {
                line(out, '*', items.len());
                for item in items {
                    item.write(version, out);
                }
            }
            Self::Map(entries) => {
                let (mark, count) = match version {
                    Version::Two => ('*', entries.len().saturating_mul(2)),
                    Version::Three => ('%', entries.len()),
                };
                line(out, mark, count);
                for (name, value) in entries {
                    Self::text(name).write(version, out);
                    value.write(version, out);
                }
            }
            Self::Null => out.put_slice(if version == Version::Two { b"$-1\r\n" } else { b"_\r\n" }),
        }
    }
}

fn line(out: &mut BytesMut, mark: char, what: impl Display) {
    // It grows as it has to, so this cannot fail.
    let _ = write!(out, "{mark}{what}\r\n");
}

/// A line's end within an error would be read as the next reply.
fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\r', '\n']) {
        Cow::Owned(text.replace(['\r', '\n'], " "))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(reply: &Reply, version: Version) -> String {
        let mut out = BytesMut::new();
        reply.write(version, &mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    /// Guards clients that keep replies apart by their marks and lengths.
    #[test]
    fn replies_are_written_as_each_version_has_them() {
        let map = Reply::Map(vec![("proto", Reply::Integer(-3)), ("modules", Reply::Array(Vec::new()))]);
        assert_eq!(written(&map, Version::Two), "*4\r\n$5\r\nproto\r\n:-3\r\n$7\r\nmodules\r\n*0\r\n");
        assert_eq!(written(&map, Version::Three), "%2\r\n$5\r\nproto\r\n:-3\r\n$7\r\nmodules\r\n*0\r\n");
        assert_eq!(written(&Reply::Null, Version::Two), "$-1\r\n");
        assert_eq!(written(&Reply::Null, Version::Three), "_\r\n");
        assert_eq!(written(&Reply::Bulk(Bytes::from_static(b"a\r\nb")), Version::Two), "$4\r\na\r\nb\r\n");
    }

    /// Guards against a key within an error that would write replies of its own.
    #[test]
    fn an_error_is_one_line() {
        let error = Reply::Error("ERR unknown command 'a\r\n+OK'".into());
        assert_eq!(written(&error, Version::Two), "-ERR unknown command 'a  +OK'\r\n");
    }
}
