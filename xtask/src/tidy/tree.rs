//! The repository's text files, read once.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Text by path. Paths are relative to the workspace root, with `/` between their parts.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads every file that git tracks or would track; a file that is not UTF-8 has no text to check, and is
    /// known by name only.
    ///
    /// # Errors
    ///
    /// Fails where git is missing, where the folder is no work tree, and where a file cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for path in listed_by_git(root)? {
            let whole = root.join(&path);
            // A tracked file that was deleted, or a link to a folder, is listed all the same.
            if whole.is_file() {
                let bytes = std::fs::read(&whole).with_context(|| format!("reading {path}"))?;
                files.insert(path, String::from_utf8(bytes).unwrap_or_default());
            }
        }
        Ok(Self { files })
    }

    /// Builds a tree from (path, text) pairs.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self { files }
    }

    /// Returns the text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns whether the path names a file, or a folder with a file in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.keys().any(|file| file == path || file.starts_with(&folder))
    }

    /// Iterates over the paths and texts of all files.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Iterates over the files whose name ends in `.ending`.
    pub(crate) fn ending_in(&self, ending: &'static str) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| path.rsplit_once('.').is_some_and(|(_, end)| end == ending))
    }
}

/// Returns what follows the last dot of a file's name.
pub(crate) fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| !ending.contains('/'))
}

fn listed_by_git(root: &Path) -> Result<Vec<String>> {
    // Files not yet added count too: a fault is cheaper to hear of before the commit.
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("running git, which lists the files to check")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git ls-files failed: {}", complaint.trim());
    let listed = String::from_utf8(output.stdout).context("a file name that is not UTF-8")?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_as_there_and_a_prefix_of_a_name_does_not() {
        let tree = Tree::of(&[("docs/guide.md", "")]);
        assert!(tree.has("docs") && tree.has("docs/guide.md"));
        assert!(!tree.has("doc") && !tree.has("docs/guide"));
    }
}
