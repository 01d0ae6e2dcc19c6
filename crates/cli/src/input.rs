//! Reading a policy file, from a path or from standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tidegate_policy::{Policy, Problems};

use crate::exit::Failure;

/// The most that is read of a file: well above what a policy may have, so that a longer one is told apart, and far
/// below what would hurt, should it be a device without end.
const MOST_BYTES: u64 = 4 << 20;

/// Where a policy file is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input, written `-`.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdin } else { Self::File(text.into()) })
    }
}

/// Why there is no policy.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// The file cannot be read at all.
    Unreadable(Failure),
    /// The file was read, and is wrong.
    Wrong(Problems),
}

impl Source {
    /// Returns the name by which messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Reads the policy.
    ///
    /// # Errors
    /// When the file cannot be read, or has problems: all of them.
    pub(crate) fn policy(&self) -> Result<Policy, Unusable> {
        let text = self.text().map_err(Unusable::Unreadable)?;
        tidegate_policy::parse(&self.name(), &text).map_err(|problems| {
            if problems.is_not_yaml() {
                Unusable::Unreadable(Failure::unusable(problems))
            } else {
                Unusable::Wrong(problems)
            }
        })
    }

    fn text(&self) -> Result<String, Failure> {
        let name = self.name();
        let bytes = match self {
            Self::Stdin => read(io::stdin().lock()),
            Self::File(path) => open(path).and_then(read),
        };
        let bytes = bytes.map_err(|error| Failure::unusable(format!("cannot read {name}: {error}")))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
            return Err(Failure::unusable(format!("{name} is too long for a policy file; split it")));
        }
        String::from_utf8(bytes).map_err(|error| {
            let (line, column) = place(error.as_bytes(), error.utf8_error().valid_up_to());
            Failure::unusable(format!("{name}:{line}:{column}: this is not UTF-8; save the file as UTF-8"))
        })
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    // Reading it would say so as well, in words that do not name the slip.
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    Ok(file)
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the line and column, from 1, of a byte before which all is UTF-8.
fn place(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default());
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    (line.saturating_add(1), column.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_utf_8_has_its_place_in_characters() {
        assert_eq!(place(b"a\n\xc3\xa9b\xff", 5), (2, 3));
        assert_eq!(place(b"\xff", 0), (1, 1));
    }

    #[test]
    fn a_dash_stands_for_standard_input_and_nothing_else_does() {
        assert_eq!("-".parse(), Ok(Source::Stdin));
        assert_eq!("./-".parse(), Ok(Source::File("./-".into())));
    }
}
