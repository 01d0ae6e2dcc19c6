//! Measurements that are promised, each printed as a ratio in one run.
//!
//! They need the crates they measure, and tidy must not wait for those to be built: the feature `bench` brings them, and
//! without it this program starts itself anew with it, optimised.

#[cfg(feature = "bench")]
mod redis;

/// Runs the measurement of that name; `Ok(false)` when there is none.
///
/// # Errors
/// When it cannot be taken: a program is missing, or what was measured did not do its work.
#[cfg(feature = "bench")]
pub(crate) fn run(name: &str) -> anyhow::Result<bool> {
    match name {
        "redis" => redis::run().map(|()| true),
        _ => Ok(false),
    }
}

/// Runs the measurement of that name in an optimised build that has what it needs.
///
/// # Errors
/// When cargo cannot be started, or the measurement fails there, having said why.
#[cfg(not(feature = "bench"))]
pub(crate) fn run(name: &str) -> anyhow::Result<bool> {
    use anyhow::Context as _;

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut again = std::process::Command::new(cargo);
    again.args(["run", "--quiet", "--release", "--package", "xtask", "--features", "bench"]);
    let status = again.args(["--", "bench", name]).status().context("starting cargo")?;
    anyhow::ensure!(status.success(), "it ended with {status}");
    Ok(true)
}
