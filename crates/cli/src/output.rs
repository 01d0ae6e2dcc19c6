//! Writing to standard output and standard error.
//!
//! A reader that has seen enough (`tidegate check … | head`) is no fault: the rest is left unwritten and the exit
//! code stays what it was. `println!` would panic there.

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

    /// Writes a text and a line's end.
    pub(crate) fn line(&mut self, text: &str) {
        self.write(text.as_bytes());
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
    let _ = writeln!(io::stderr().lock(), "{text}");
}
