//! Writing to standard output and standard error.
//!
//! A reader that has seen enough (`tidegate check … | head`) is no fault: the rest is left unwritten and the exit
//! code stays what it was. `println!` would panic there.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::exit::Failure;

/// Standard output, locked and buffered.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    fault: Option<io::Error>,
}

impl Output {
    /// Takes hold of standard output.
    pub(crate) fn stdout() -> Self {
        Self { out: BufWriter::new(io::stdout().lock()), fault: None }
    }

    /// Writes a text and a line's end; what would steer a terminal is written as its number.
    pub(crate) fn line(&mut self, text: &str) {
        self.write(harmless(text).as_bytes());
        self.write(b"\n");
    }

    /// Writes a value as JSON, for people to read as well.
    ///
    /// # Errors
    /// When it cannot be one.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value);
        self.line(&text.map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?);
        Ok(())
    }

    /// Writes bytes as they are. After a fault nothing is written any more.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.fault.is_none() {
            self.fault = self.out.write_all(bytes).err();
        }
    }

    /// Writes what is still in the buffer.
    ///
    /// # Errors
    /// When something could not be written, other than for want of a reader.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let fault = match self.fault.take() {
            Some(fault) => Some(fault),
            None => self.out.flush().err(),
        };
        match fault {
            Some(fault) if fault.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::failed(format!("cannot write to standard output: {fault}")))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a line to standard error. Where that fails there is nobody left to tell.
pub(crate) fn to_stderr(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
}

/// Returns a text in which characters that move the cursor, change colours or turn the direction of writing stand as JSON
/// writes them: what is shown comes from files that somebody else may have written.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a character steers a terminal rather than being shown; a line's end and a tabulator are meant.
fn steers(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a policy that paints on the terminal of whoever reads what is said of it, and against JSON that is none
    /// any more.
    #[test]
    fn what_steers_a_terminal_is_shown_as_json_writes_it() {
        let sly = "a\u{1b}[31mred\u{9b}0m\r\u{202e}b\u{61c}\tc\nd é";
        let shown = harmless(sly);
        assert_eq!(shown, "a\\u001b[31mred\\u009b0m\\u000d\\u202eb\\u061c\tc\nd é");
        let json = serde_json::to_string(sly).unwrap();
        assert_eq!(serde_json::from_str::<String>(&harmless(&json)).unwrap(), sly);
        assert!(matches!(harmless("plain"), Cow::Borrowed(_)));
    }
}
