//! A file that is whole at every moment, and its owner's alone.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A file to read.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    length: u64,
}

/// The bytes that are read to see what a file is; fewer than any snapshot has.
const LEAD: u64 = 64;

/// Opens a regular file; `None` where there is nothing.
pub(super) fn open(path: &Path) -> io::Result<Option<Opened>> {
    let metadata = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    // To open a pipe would wait for its other end.
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    warn_of_others(path, &metadata);
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok(Some(Opened { file, length }))
}

impl Opened {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads the first bytes.
    pub(super) fn lead(&mut self) -> io::Result<Vec<u8>> {
        let mut lead = Vec::new();
        (&mut self.file).take(LEAD).read_to_end(&mut lead)?;
        Ok(lead)
    }

    /// Reads the rest.
    pub(super) fn whole(mut self, mut lead: Vec<u8>) -> io::Result<Vec<u8>> {
        self.file.read_to_end(&mut lead)?;
        Ok(lead)
    }
}

/// Puts a new content in the place of a file's, whatever happens meanwhile: either the one or the other is there, whole.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = beside(path, "new");
    let done = write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        // A disk that is full has its room back.
        let _ = fs::remove_file(&temporary);
        return done;
    }
    // The new name is on the disk only when its folder is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Returns the path with one more ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(ending);
    name.into()
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // What a process left behind that ended while it wrote; of a link the link, never what it leads to.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private().open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Creates a file that was not there, for its owner alone whatever the mask: a mask only takes away.
#[cfg(unix)]
fn private() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Creates a file that was not there.
#[cfg(not(unix))]
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options
}

/// Warns where others than its owner may read the secret, or write what this process will believe.
#[cfg(unix)]
fn warn_of_others(path: &Path, metadata: &fs::Metadata) {
    use std::os::unix::fs::PermissionsExt;

    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(
            file = %path.display(), mode = format_args!("{mode:o}"),
            "others may read or write the snapshot, which holds the secret of its keys; the next one is its owner's alone"
        );
    }
}

#[cfg(not(unix))]
fn warn_of_others(_: &Path, _: &fs::Metadata) {}
