//! A policy file and everything it refers to, read from the disk and the environment.
//!
//! The crate of the policy language opens nothing. Here its [`Surroundings`] are the folder of the policy file and
//! the environment of the process. Every file that is read is noted with the digest of its bytes, those that cannot
//! be read as well, so that whoever watches them knows what to watch and whether anything changed.
//!
//! Every path in a policy is meant from that folder, so that a policy means the same wherever the process was started:
//! also those of certificates and tokens, which are left to whoever serves the policy.

use std::cell::RefCell;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tidegate_policy::{Policy, Problems, Reading, Surroundings};

/// The most that is read of a file: well above what a policy may have, so that a longer one is told apart, and far
/// below what would hurt, should it be a device without end.
const MOST_BYTES: u64 = 4 << 20;

/// A policy, and the files it was read from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The policy. Its paths lead from where the process runs.
    pub policy: Policy,
    /// Every file that was read: the policy file first (unless it was given as bytes), then what it refers to.
    pub sources: Vec<Source>,
}

/// A file that a policy was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// The SHA-256 of its bytes; all zero for a file that could not be read.
    pub digest: [u8; 32],
}

impl Source {
    /// Returns whether the file holds other bytes now than when it was read, or can no longer be read, or now can.
    /// Reads the whole file.
    pub fn has_changed(&self) -> bool {
        digest(&read_regular(&self.path)) != self.digest
    }
}

/// Why there is no policy.
#[derive(Debug)]
pub struct LoadError {
    kind: Kind,
    sources: Vec<Source>,
}

#[derive(Debug)]
enum Kind {
    Unreadable(String),
    Wrong(Problems),
}

impl LoadError {
    /// Returns everything that is wrong, when the policy file could be read.
    pub fn problems(&self) -> Option<&Problems> {
        match &self.kind {
            Kind::Unreadable(_) => None,
            Kind::Wrong(problems) => Some(problems),
        }
    }

    /// Returns whether nothing is known of what the file says: it cannot be read, or is not YAML.
    pub fn is_unreadable(&self) -> bool {
        self.problems().is_none_or(Problems::is_not_yaml)
    }

    /// Returns the files that were read, or tried, until then: one of them has to change before it gets better.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unreadable(why) => f.write_str(why),
            Kind::Wrong(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reads the policy file at a path, and what it refers to, for a process of its own.
///
/// # Errors
/// When the file cannot be read, or anything in it or in what it refers to is wrong.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    Files::beside(path).load(path, Reading::of)
}

/// Reads the policy file at a path for a program that holds the limiter itself, so that the file may have no face.
///
/// # Errors
/// When the file cannot be read, or anything in it or in what it refers to is wrong.
pub fn load_embedded(path: &Path) -> Result<Loaded, LoadError> {
    Files::beside(path).load(path, |files| Reading::of(files).embedded())
}

/// Reads the policy file at a path, for a comparison: its paths stay as written, since the same ones in two folders are no
/// difference.
///
/// # Errors
/// When the file cannot be read, or anything in it or in what it refers to is wrong.
pub fn load_as_written(path: &Path) -> Result<Loaded, LoadError> {
    Files::beside(path).read(path, Reading::of)
}

/// Reads the policy file at a path anew, for a process that goes on meanwhile: a pipe or a device in its place is not waited
/// for.
///
/// # Errors
/// When the file cannot be read, or anything in it or in what it refers to is wrong.
pub fn load_again(path: &Path) -> Result<Loaded, LoadError> {
    let files = Files::beside(path);
    files.read_with(path, read_regular(path), Reading::of).map(|loaded| files.rebased(loaded))
}

/// Reads a policy for a process of its own from a stream, such as standard input. `name` stands in messages; what
/// the policy refers to is looked for in `folder`.
///
/// # Errors
/// When the stream cannot be read, or anything in it or in what it refers to is wrong.
pub fn load_stream(name: &str, stream: impl Read, folder: &Path) -> Result<Loaded, LoadError> {
    let files = Files::of(folder);
    let bytes = bounded(stream).map_err(|error| files.unreadable(format!("cannot read {name}: {error}")))?;
    files.parse(name, bytes, Reading::of).map(|loaded| files.rebased(loaded))
}

/// The surroundings of a policy file: a folder and the environment, with a list of what was read.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    sources: RefCell<Vec<Source>>,
}

impl Files {
    /// Gives the surroundings of a policy that is meant from a folder.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), sources: RefCell::default() }
    }

    /// Gives the surroundings of a policy file.
    pub fn beside(path: &Path) -> Self {
        Self::of(path.parent().unwrap_or(Path::new("")))
    }

    /// Returns what has been read, each file once, in the order of the first reading.
    pub fn sources(&self) -> Vec<Source> {
        self.sources.borrow().clone()
    }

    fn load<'a>(
        &'a self,
        path: &Path,
        reading: impl FnOnce(&'a dyn Surroundings) -> Reading<'a>,
    ) -> Result<Loaded, LoadError> {
        self.read(path, reading).map(|loaded| self.rebased(loaded))
    }

    /// Makes the policy's paths lead from where the process runs.
    fn rebased(&self, mut loaded: Loaded) -> Loaded {
        for path in loaded.policy.files_mut() {
            *path = self.folder.join(&*path);
        }
        loaded
    }

    fn read<'a>(
        &'a self,
        path: &Path,
        reading: impl FnOnce(&'a dyn Surroundings) -> Reading<'a>,
    ) -> Result<Loaded, LoadError> {
        self.read_with(path, read(path), reading)
    }

    fn read_with<'a>(
        &'a self,
        path: &Path,
        bytes: io::Result<Vec<u8>>,
        reading: impl FnOnce(&'a dyn Surroundings) -> Reading<'a>,
    ) -> Result<Loaded, LoadError> {
        let name = path.display();
        let bytes = self
            .note(path, bytes)
            .map_err(|error| self.unreadable(format!("cannot read {name}: {error}")))?;
        self.parse(&name.to_string(), bytes, reading)
    }

    fn parse<'a>(
        &'a self,
        name: &str,
        bytes: Vec<u8>,
        reading: impl FnOnce(&'a dyn Surroundings) -> Reading<'a>,
    ) -> Result<Loaded, LoadError> {
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
            return Err(self.unreadable(format!("{name} is too long for a policy file; split it")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let (line, column) = place(error.as_bytes(), error.utf8_error().valid_up_to());
            self.unreadable(format!("{name}:{line}:{column}: this is not UTF-8; save the file as UTF-8"))
        })?;
        match reading(self).parse(name, &text) {
            Ok(policy) => Ok(Loaded { policy, sources: self.sources() }),
            Err(problems) => Err(LoadError { kind: Kind::Wrong(problems), sources: self.sources() }),
        }
    }

    fn unreadable(&self, why: String) -> LoadError {
        LoadError { kind: Kind::Unreadable(why), sources: self.sources() }
    }

    /// Notes a file that was read.
    fn note(&self, path: &Path, bytes: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        let source = Source { path: path.to_owned(), digest: digest(&bytes) };
        let mut sources = self.sources.borrow_mut();
        if !sources.iter().any(|known| known.path == source.path) {
            sources.push(source);
        }
        bytes
    }
}

impl Surroundings for Files {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(path);
        let bytes =
            self.note(&path, read_regular(&path)).map_err(|error| format!("cannot be read: {error}"))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
            return Err(format!("is longer than {MOST_BYTES} bytes"));
        }
        Ok(bytes)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Reads a file, one byte more than the most at most.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // Reading it would say so as well, in words that do not name the slip.
    if file.metadata()?.is_dir() {
        return Err(folder());
    }
    bounded(file)
}

/// Reads a file as whoever must not be held up does: a pipe that nobody writes to is refused, and so is a device. Of what
/// is longer than any file of a policy may be, the beginning.
///
/// # Errors
/// When it cannot be read, or is no regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // To open a device may already do something, and to open a pipe lets its other end go on.
    regular(&path.metadata()?)?;
    read_opened(path)
}

/// Opens and reads a regular file. What was one a moment ago may be a pipe by now.
fn read_opened(path: &Path) -> io::Result<Vec<u8>> {
    let file = without_waiting().open(path)?;
    regular(&file.metadata()?)?;
    bounded(file)
}

/// Opens for reading, without waiting for the other end of a pipe.
#[cfg(unix)]
fn without_waiting() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

/// Opens for reading.
#[cfg(not(unix))]
fn without_waiting() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

/// Tells what is no regular file.
fn regular(metadata: &Metadata) -> io::Result<()> {
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(folder()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, and no file")),
    }
}

fn folder() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn digest(bytes: &io::Result<Vec<u8>>) -> [u8; 32] {
    bytes.as_ref().map(|bytes| Sha256::digest(bytes).into()).unwrap_or_default()
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

    /// Guards the place of a slip in a file that an editor saved in another encoding.
    #[test]
    fn a_byte_that_is_not_utf_8_has_its_place_in_characters() {
        assert_eq!(place(b"a\n\xc3\xa9b\xff", 5), (2, 3));
        assert_eq!(place(b"\xff", 0), (1, 1));
    }

    /// Guards against a reload that hangs for ever on a pipe that took a file's place after it was looked at.
    #[cfg(unix)]
    #[test]
    fn a_pipe_that_takes_a_files_place_in_between_is_refused_and_not_waited_for() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let path = std::env::temp_dir().join(format!("tidegate-files-{}.fifo", std::process::id()));
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let read = read_opened(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read.unwrap_err().to_string(), "it is a pipe or a device, and no file");
    }
}
