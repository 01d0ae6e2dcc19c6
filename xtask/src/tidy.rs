//! The house checks: each is a pure function from what was read (the members and the tree) to findings.
//!
//! Reading happens once, here and in [`Tree::read`]; a check therefore has no I/O, and its test shows it failing
//! on a made-up tree.

mod arrows;
mod changelog;
mod dependencies;
mod finding;
mod links;
mod machine_paths;
mod members;
mod purity;
mod shortcuts;
mod sizes;
mod tree;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

pub(crate) use finding::Finding;
use members::Member;
use tree::Tree;

/// Reads the workspace around the current folder and returns everything that is out of order.
///
/// # Errors
///
/// Fails where the workspace cannot be read at all: no cargo metadata, no git, an unreadable file or a root
/// manifest that is not TOML.
pub(crate) fn run() -> Result<Vec<Finding>> {
    let metadata = MetadataCommand::new().no_deps().exec().context("reading cargo metadata")?;
    let members = members::of(&metadata);
    let tree = Tree::read(metadata.workspace_root.as_std_path())?;
    Ok(check(&members, &tree))
}

fn check(members: &[Member], tree: &Tree) -> Vec<Finding> {
    [
        arrows::check(members),
        members::inherit_lints(members, tree),
        sizes::check(tree),
        shortcuts::check(tree),
        dependencies::check(members, tree),
        purity::check(members, tree),
        machine_paths::check(tree),
        links::check(tree),
        changelog::check(tree),
    ]
    .concat()
}
