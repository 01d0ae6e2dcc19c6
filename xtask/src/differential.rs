//! The store's script in Redis, held against the naive store for as long as one likes.

use anyhow::{Context, Result};
use std::process::Command;

/// Runs the example that does it, in a program of its own: the house's checks need not wait for it to be built.
/// Returns whether no difference was found.
///
/// # Errors
///
/// Fails where cargo cannot be started.
pub(crate) fn run(arguments: &[&str]) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let example = ["run", "--release", "-p", "tidegate-store-redis", "--example", "differential", "--"];
    let status = Command::new(cargo).args(example).args(arguments).status().context("starting cargo")?;
    Ok(status.success())
}
