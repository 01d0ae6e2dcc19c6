//! Measurements that are promised, as ratios of runs that take turns (`cargo xtask bench`).
//!
//! A whole run writes `docs/benchmarks.md`. Parts may be run by their names, and `--quick` makes each as short as shows that
//! it works; neither touches the page. All leave what they found in `target/bench`, as Markdown and as JSON.
//!
//! They need the crates they measure, and tidy must not wait for those to be built: the feature `bench` brings them, and
//! without it this program starts itself anew with it, optimised.

#[cfg(any(test, feature = "bench"))]
#[cfg_attr(not(feature = "bench"), allow(dead_code, reason = "without the feature it is for tests alone"))]
mod computed;

mod asked;

#[cfg(feature = "bench")]
mod algorithms;
#[cfg(feature = "bench")]
mod flood;
#[cfg(feature = "bench")]
mod gateway;
#[cfg(feature = "bench")]
mod machine;
#[cfg(feature = "bench")]
mod memory;
#[cfg(feature = "bench")]
mod plain_http;
#[cfg(feature = "bench")]
mod process;
#[cfg(feature = "bench")]
mod redis;
#[cfg(feature = "bench")]
mod report;
#[cfg(feature = "bench")]
mod rules;
#[cfg(feature = "bench")]
mod run;
#[cfg(feature = "bench")]
mod servers;
#[cfg(feature = "bench")]
mod subject;
#[cfg(feature = "bench")]
mod tools;
#[cfg(feature = "bench")]
mod wrk;

#[cfg(feature = "bench")]
pub(crate) use run::run;

/// How long everything is measured.
#[cfg(feature = "bench")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Long enough to tell.
    Full,
    /// As short as shows that everything works.
    Quick,
}

#[cfg(feature = "bench")]
impl Scale {
    fn quick(self) -> bool {
        self == Self::Quick
    }

    /// Returns how many of something there are to be.
    fn of(self, full: u32, quick: u32) -> u32 {
        if self.quick() { quick } else { full }
    }
}

/// Runs the measurements in an optimised build that has what they need.
///
/// # Errors
/// When cargo cannot be started, or a measurement fails there, having said why.
#[cfg(not(feature = "bench"))]
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    use std::io::Write as _;

    use anyhow::Context as _;

    if let asked::Asked::Help(help) = asked::read(arguments, "").map_err(anyhow::Error::msg)? {
        return Ok(std::io::stdout().write_all(help.as_bytes())?);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut again = std::process::Command::new(cargo);
    again.args(["run", "--release", "--package", "xtask", "--features", "bench"]);
    let status = again.args(["--", "bench"]).args(arguments).status().context("starting cargo")?;
    anyhow::ensure!(status.success(), "it ended with {status}");
    Ok(())
}
