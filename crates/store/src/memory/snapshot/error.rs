//! Why a snapshot cannot be used.

use std::fmt;

/// Why a snapshot cannot be used; the words say what to do. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// These are no bytes of a snapshot.
    Foreign,
    /// It was written in another format, by another version of this program.
    Version(u32),
    /// It is shorter or longer than it says.
    Length {
        /// The bytes there should be.
        expected: u64,
        /// The bytes there are.
        found: u64,
    },
    /// Its checksum is another.
    Damaged,
    /// Its checksum is right, but what it holds makes no sense.
    Malformed(&'static str),
}

/// What starting without a snapshot means.
const WITHOUT: &str = "without it every key starts with a fresh quota";

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(
                f,
                "this is no snapshot of limits; name the right file, or put a snapshot in its place ({WITHOUT})"
            ),
            Self::Version(version) => write!(
                f,
                "the snapshot is of format {version}, this program reads format {}; start the version that wrote it, \
                 or go on without ({WITHOUT})",
                super::VERSION
            ),
            Self::Length { expected, found } => write!(
                f,
                "the snapshot should be {expected} bytes and is {found}; put a whole copy in its place ({WITHOUT})"
            ),
            Self::Damaged => write!(
                f,
                "the snapshot's checksum does not fit: it is damaged; put an undamaged copy in its place ({WITHOUT})"
            ),
            Self::Malformed(what) => write!(
                f,
                "the snapshot is whole but {what}; keep it and report it, and start without ({WITHOUT})"
            ),
        }
    }
}

impl std::error::Error for SnapshotError {}
