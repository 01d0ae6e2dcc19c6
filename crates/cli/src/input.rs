//! Reading a policy file, from a path or from standard input.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tidegate::files::{self, LoadError, Loaded};

use crate::exit::Failure;

/// Where a policy file is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input, written `-`; what it refers to is meant from the current folder.
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

impl Source {
    /// Returns the name by which messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Returns whether it can be read more than once: it is a file, and no pipe or device.
    pub(crate) fn can_be_read_again(&self) -> bool {
        match self {
            Self::Stdin => false,
            Self::File(path) => path.metadata().is_ok_and(|file| file.is_file()),
        }
    }

    /// Reads the policy, and everything it refers to.
    ///
    /// # Errors
    /// When the file cannot be read, or has problems: all of them.
    pub(crate) fn load(&self) -> Result<Loaded, LoadError> {
        match self {
            Self::Stdin => files::load_stream(&self.name(), io::stdin().lock(), Path::new("")),
            Self::File(path) => files::load(path),
        }
    }

    /// Reads the policy anew while it is served; waits for nobody who may never write.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub(crate) fn load_again(&self) -> Result<Loaded, LoadError> {
        match self {
            Self::Stdin => self.load(),
            Self::File(path) => files::load_again(path),
        }
    }

    /// Reads the policy for a comparison, with the paths in it as they are written.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub(crate) fn load_as_written(&self) -> Result<Loaded, LoadError> {
        match self {
            Self::Stdin => self.load(),
            Self::File(path) => files::load_as_written(path),
        }
    }
}

/// The most that is read of a file beside a policy.
const MOST_BYTES: usize = 4 << 20;

/// Reads a file that stands beside a policy; `what` it is, messages say: `a test file`.
///
/// # Errors
/// When it cannot be read, is too long, or is no UTF-8.
pub(crate) fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    let name = path.display();
    let bytes = read(path).map_err(|error| Failure::unusable(format!("cannot read {name}: {error}")))?;
    if bytes.len() > MOST_BYTES {
        return Err(Failure::unusable(format!("{name} is too long for {what}; split it")));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::unusable(format!("{name} is not UTF-8; save the file as UTF-8")))
}

/// Reads a file, one byte more than the most at most: it may be a device without end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_stands_for_standard_input_and_nothing_else_does() {
        assert_eq!("-".parse(), Ok(Source::Stdin));
        assert_eq!("./-".parse(), Ok(Source::File("./-".into())));
    }
}
