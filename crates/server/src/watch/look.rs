//! What files hold, to be compared by content.
//!
//! Neither names nor times are looked at: a file that was touched is the same, and one that another was renamed to, or
//! that a link leads to from now on, is not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tidegate::files::read_regular;

/// What some files hold at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look(BTreeMap<PathBuf, Content>);

/// What a file holds; all zero and empty for one that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    digest: [u8; 32],
    /// The bytes, to tell a truncated file by; empty where they are not known.
    bytes: Vec<u8>,
}

impl Look {
    /// Reads files.
    pub(super) fn at(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let contents = paths.into_iter().map(|path| {
            let content = Content::of(&path);
            (path, content)
        });
        Self(contents.collect())
    }

    /// Returns the files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.keys()
    }

    /// Returns whether a file was looked at.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Returns whether a file held what a digest is of.
    pub(super) fn holds(&self, path: &Path, digest: &[u8; 32]) -> bool {
        self.0.get(path).is_some_and(|content| content.digest == *digest)
    }

    /// Notes what a file held when somebody else read it.
    pub(super) fn note(&mut self, path: &Path, digest: [u8; 32]) {
        if !self.holds(path, &digest) {
            self.0.insert(path.to_owned(), Content { digest, bytes: Vec::new() });
        }
    }

    /// Returns whether the files of another look hold the same here.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(path, content)| self.holds(path, &content.digest))
    }

    /// Returns one digest of everything.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let mut all = Sha256::new();
        for (path, content) in &self.0 {
            let path = path.as_os_str().as_encoded_bytes();
            all.update(path.len().to_le_bytes());
            all.update(path);
            all.update(content.digest);
        }
        all.finalize().into()
    }

    /// Returns the first file that could be read before and cannot be now.
    pub(super) fn gone_since<'a>(&self, before: &'a Self) -> Option<&'a Path> {
        let gone = |(path, was): &(&PathBuf, &Content)| {
            was.digest != [0; 32] && self.0.get(*path).is_some_and(|is| is.digest == [0; 32])
        };
        before.0.iter().find(gone).map(|(path, _)| path.as_path())
    }

    /// Returns the first file that holds only the beginning of what it held before.
    pub(super) fn truncated_since<'a>(&self, before: &'a Self) -> Option<&'a Path> {
        let truncated = |(path, was): &(&PathBuf, &Content)| {
            let is = self.0.get(*path);
            is.is_some_and(|is| {
                is.digest != [0; 32] && is.bytes.len() < was.bytes.len() && was.bytes.starts_with(&is.bytes)
            })
        };
        before.0.iter().find(truncated).map(|(path, _)| path.as_path())
    }
}

impl Content {
    fn of(path: &Path) -> Self {
        match read_regular(path) {
            Ok(bytes) => Self { digest: Sha256::digest(&bytes).into(), bytes },
            Err(_) => Self { digest: [0; 32], bytes: Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(files: &[(&str, &[u8])]) -> Look {
        let content =
            |bytes: &[u8]| Content { digest: Sha256::digest(bytes).into(), bytes: bytes.to_owned() };
        Look(files.iter().map(|(path, bytes)| (PathBuf::from(path), content(bytes))).collect())
    }

    /// Guards what is taken for an accident against what is an edit.
    #[test]
    fn only_a_beginning_is_cut_off() {
        let kept = look(&[("a", b"one two"), ("b", b"three")]);
        for (now, cut) in
            [(&b"one"[..], true), (b"", true), (b"two", false), (b"one two", false), (b"one two!", false)]
        {
            let now = look(&[("a", now), ("b", b"three")]);
            assert_eq!(now.truncated_since(&kept), cut.then_some(Path::new("a")));
        }
        let gone =
            Look::at([PathBuf::from("a"), PathBuf::from("b")].map(|path| Path::new("/nowhere").join(path)));
        assert_eq!(gone.truncated_since(&kept), None);
    }

    /// Guards against a file that changed between the reading of the policy and the first look.
    #[test]
    fn what_was_read_counts_and_not_what_the_look_found() {
        let mut kept = look(&[("a", b"new")]);
        kept.note(Path::new("a"), Sha256::digest(b"old").into());
        assert!(!look(&[("a", b"new")]).covers(&kept));
        assert!(look(&[("a", b"old"), ("more", b"")]).covers(&kept));
    }
}
