//! Commands as they come over the wire: an array of bulk strings, or a line of words.
//!
//! Nothing is set aside for what is only announced, and nothing nests, so a client can make this hold no more than a
//! command may have. (Libraries for the protocol read any value, nested ones too, and by recursion.)

use std::borrow::Cow;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// The most bytes of a command with all that frames it.
pub(super) const MAX_COMMAND: usize = 128 * 1024;
/// The most bytes of one from whoever has not given the password yet, who may open as many connections as there are.
pub(super) const MAX_COMMAND_OF_STRANGER: usize = 8 * 1024;
/// The most arguments of a command, its name among them.
const MAX_ARGUMENTS: usize = 64;
/// The most bytes of a line that announces something, or of a command in words.
const MAX_LINE: usize = 4 * 1024;

/// A command: its name, then its arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: SmallVec<[Bytes; 8]>,
}

/// What is sent is no command, and what comes after it cannot be told: the connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadFrame(pub(super) Cow<'static, str>);

/// Takes the next command, of at most so many bytes, out of what has arrived; `None` while it is not whole. Empty lines and
/// arrays are passed over.
///
/// # Errors
/// When what has arrived is no command, or the beginning of one that is longer.
pub(super) fn next(arrived: &mut BytesMut, most: usize) -> Result<Option<Command>, BadFrame> {
    loop {
        let Some(first) = arrived.first() else { return Ok(None) };
        let read = if *first == b'*' { array(arrived, most)? } else { line_of_words(arrived)? };
        let Some((words, end)) = read else {
            return if arrived.len() > most { Err(too_long(most)) } else { Ok(None) };
        };
        if end > most {
            return Err(too_long(most));
        }
        let taken = arrived.split_to(end).freeze();
        if !words.is_empty() {
            return Ok(Some(Command { words: words.into_iter().map(|word| taken.slice(word)).collect() }));
        }
    }
}

/// Where the words of a command lie, and where it ends.
type Words = (SmallVec<[Range<usize>; 8]>, usize);

/// Reads `*2\r\n$4\r\nPING\r\n$2\r\nhi\r\n`.
fn array(arrived: &[u8], most: usize) -> Result<Option<Words>, BadFrame> {
    let Some((count, mut at)) = announced(arrived, 0)? else { return Ok(None) };
    // A null array and an empty one say nothing.
    let count = usize::try_from(count).unwrap_or(0);
    if count > MAX_ARGUMENTS {
        return Err(BadFrame("Protocol error: too many arguments".into()));
    }
    let mut words = SmallVec::new();
    for _ in 0..count {
        match arrived.get(at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => {
                let other = char::from(*other).escape_default();
                return Err(BadFrame(format!("Protocol error: expected '$', got '{other}'").into()));
            }
        }
        let Some((length, start)) = announced(arrived, at)? else { return Ok(None) };
        let length =
            usize::try_from(length).map_err(|_| BadFrame("Protocol error: invalid bulk length".into()))?;
        if length > most {
            return Err(too_long(most));
        }
        let end = start.saturating_add(length);
        match arrived.get(end..end.saturating_add(2)) {
            None => return Ok(None),
            Some(b"\r\n") => {}
            Some(_) => return Err(BadFrame("Protocol error: a bulk string is not of its length".into())),
        }
        words.push(start..end);
        at = end.saturating_add(2);
    }
    Ok(Some((words, at)))
}

/// Reads the number behind the mark at `at`, and returns it with where its line ends.
fn announced(arrived: &[u8], at: usize) -> Result<Option<(i64, usize)>, BadFrame> {
    let Some((line, end)) = line(arrived, at)? else { return Ok(None) };
    let digits = line.get(1..).and_then(|digits| std::str::from_utf8(digits).ok());
    let number = digits.filter(|digits| !digits.starts_with('+')).and_then(|digits| digits.parse().ok());
    let number = number.ok_or(BadFrame("Protocol error: invalid length".into()))?;
    Ok(Some((number, end)))
}

/// Reads `PING hi\r\n`, as a person types it.
fn line_of_words(arrived: &[u8]) -> Result<Option<Words>, BadFrame> {
    let Some((line, end)) = line(arrived, 0)? else { return Ok(None) };
    let mut words: SmallVec<[Range<usize>; 8]> = SmallVec::new();
    let mut start = None;
    for (at, byte) in line.iter().chain(b" ").enumerate() {
        match (byte.is_ascii_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    if words.len() > MAX_ARGUMENTS {
        return Err(BadFrame("Protocol error: too many arguments".into()));
    }
    Ok(Some((words, end)))
}

/// Returns the line that begins at `at`, without its end, and where the next one begins.
fn line(arrived: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, BadFrame> {
    let rest = arrived.get(at..).unwrap_or_default();
    let Some(length) = rest.iter().take(MAX_LINE).position(|byte| *byte == b'\n') else {
        let too_long = rest.len() >= MAX_LINE;
        return if too_long { Err(BadFrame("Protocol error: too big a line".into())) } else { Ok(None) };
    };
    let line = rest.get(..length).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some((line, at.saturating_add(length).saturating_add(1))))
}

fn too_long(most: usize) -> BadFrame {
    let before = if most < MAX_COMMAND { " before the password is given" } else { "" };
    BadFrame(format!("Protocol error: a command may have {most} bytes{before}").into())
}

#[cfg(test)]
mod tests;
