//! Where in the text of a file something stands that the tree knows by line and column.

use std::ops::Range;

use saphyr_parser::{Event, Parser};

use crate::file::Entry;
use crate::problem::Place;

/// Returns the byte at which something stands.
pub(super) fn offset(text: &str, place: Place) -> Option<usize> {
    let (line, column) = (usize::try_from(place.line).ok()?, usize::try_from(place.column).ok()?);
    let mut start = if text.starts_with('\u{feff}') && line == 1 { '\u{feff}'.len_utf8() } else { 0 };
    for _ in 1..line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let rest = text.get(start..)?;
    let ahead = rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at);
    Some(start + ahead)
}

/// Returns the bytes of a member's scalar, from behind the colon: a block begins with its sign, before its text.
pub(super) fn value_of(text: &str, entry: &Entry) -> Option<Range<usize>> {
    let end = scalar_at(text, entry.value.place)?.end;
    let behind = behind_colon(text, entry)?;
    let value = text.get(behind..end)?;
    Some(end - value.trim_start().len()..end)
}

/// Returns the byte behind the colon of a member.
pub(super) fn behind_colon(text: &str, entry: &Entry) -> Option<usize> {
    let key = offset(text, entry.place)?;
    Some(key + text.get(key..)?.find(':')? + 1)
}

/// Returns the bytes of the scalar that stands at a place, its quotes included.
pub(super) fn scalar_at(text: &str, place: Place) -> Option<Range<usize>> {
    let begin = offset(text, place)?;
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len().checked_sub(bare.len())?;
    let mut parser = Parser::new_from_str(bare);
    while let Some(Ok((event, span))) = parser.next_event() {
        let starts = (span.start.line(), span.start.col() + 1);
        let wanted = (usize::try_from(place.line).ok()?, usize::try_from(place.column).ok()?);
        if matches!(event, Event::Scalar(..)) && starts == wanted {
            let end = bare.char_indices().nth(span.end.index()).map_or(bare.len(), |(at, _)| at);
            let scalar = text.get(begin..end.checked_add(shift)?)?;
            // Behind a quoted scalar the parser's span goes on, over a comment as well.
            let length = closing_quote(scalar).unwrap_or_else(|| scalar.trim_end().len());
            return Some(begin..begin + length);
        }
    }
    None
}

/// Returns how many bytes a scalar in quotes takes; `None` for one without.
fn closing_quote(scalar: &str) -> Option<usize> {
    let quote = scalar.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let mut inside = scalar.char_indices().skip(1).peekable();
    while let Some((at, character)) = inside.next() {
        if character == '\\' && quote == '"' {
            inside.next();
        } else if character == quote {
            if quote == '\'' && inside.next_if(|(_, next)| *next == '\'').is_some() {
                continue;
            }
            return Some(at + quote.len_utf8());
        }
    }
    None
}
