//! Logging: events of `tracing`, as lines on standard error.

use std::env;
use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::args::{Level, LogArgs, LogStyle};
use crate::exit::Failure;

/// The variable that filters by module (`info,tidegate_server::proxy=debug`).
const FILTER: &str = "RUST_LOG";

/// Starts logging: what `--log-level` says, else the environment, else the level given here.
///
/// # Errors
/// When the environment's filter cannot be read.
pub(crate) fn start(args: &LogArgs, usual: Level) -> Result<(), Failure> {
    let from_env = env::var(FILTER).ok().filter(|filter| !filter.is_empty());
    let filter = match (args.log_level, from_env) {
        (Some(level), _) => ours(level),
        (None, Some(filter)) => EnvFilter::builder().parse(&filter).map_err(|error| {
            let advice = "write it as `info` or `warn,tidegate_server=debug`";
            Failure::failed(format!("{FILTER}=\"{filter}\" cannot be read: {error}; {advice}"))
        })?,
        (None, None) => ours(usual),
    };
    let to_stderr = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_env_filter(filter)
        // Telling of a failed write would be another failed write, and that one panics.
        .log_internal_errors(false);
    match args.log {
        LogStyle::Human => to_stderr.with_ansi(wants_colour()).with_target(false).init(),
        LogStyle::Json => to_stderr.json().flatten_event(true).with_current_span(false).init(),
    }
    Ok(())
}

/// Returns the filter of a level for what Tidegate says. The HTTP machinery below speaks of each connection, and warns of
/// each that is reset: whoever wants to hear it names it in the environment's filter.
fn ours(level: Level) -> EnvFilter {
    EnvFilter::new(format!("{},h2=error,hyper=warn,hyper_util=warn", level.name()))
}

/// Returns whether standard error is a terminal whose user wants colour (<https://no-color.org>).
fn wants_colour() -> bool {
    io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
