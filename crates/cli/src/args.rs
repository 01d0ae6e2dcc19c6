//! The arguments as written. What the help teaches stands here and nowhere else: the manual pages and the shells'
//! completions are made from it.

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::input::Source;

const EXAMPLES: &str = "\
Examples:
  tidegate demo                                  see limits at work, with nothing to set up
  tidegate demo --print-policy > policy.yaml     begin with the demo's policy
  tidegate check policy.yaml                     find everything that is wrong with a policy
  tidegate serve policy.yaml                     enforce it
  tidegate serve policy.yaml --log json          the same, with logs for machines

Exit codes:
  0  all is well; after SIGTERM or SIGINT: every request under way was answered
  1  check: the policy has problems; serve, demo: a port is taken, say, or requests were cut off
  2  the policy file cannot be read, or serve cannot run by it; wrong arguments

The policy file is described in docs/policy.md and the decision API in docs/api.md, beside the source.";

/// A rate limiter whose limits mean what they say.
///
/// Tidegate stands in front of an HTTP service and decides which requests pass, by a policy file that states each
/// limit in numbers and in words. Services that cannot be put behind it ask its decision API instead.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(ServeArgs),
    Check(CheckArgs),
    Demo(DemoArgs),
    /// Write a shell's completions to standard output.
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual page to standard output.
    #[command(hide = true)]
    Man {
        /// The command to write it of; of the whole, unless said.
        command: Option<String>,
    },
}

/// Enforce a policy: run the gateway, the decision API and the health endpoint it names.
///
/// SIGTERM and SIGINT drain: new connections are no longer taken, requests under way are finished, and those still not
/// done at the policy's `drain_timeout` are cut off, which is logged. A second signal ends it at once.
///
/// Under systemd, `Type=notify` learns when every port is open and when draining begins.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate serve policy.yaml --log json --log-level warn

Without --log-level, the variable RUST_LOG filters by module: RUST_LOG=warn,tidegate_server=debug")]
pub(crate) struct ServeArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Check policy files: say everything that is wrong with them, each with its place and remedy.
///
/// Problems are written to standard output as `file:line:column: message; remedy`. A policy without any is answered
/// with a table of its limits: their numbers, and beside them their words.
///
/// Exits with 0 when all is well, 1 when a file has problems, 2 when a file cannot be read or is not YAML.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate check --quiet policies/*.yaml && echo fine")]
pub(crate) struct CheckArgs {
    /// The policy files; `-` reads standard input.
    #[arg(required = true, value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policies: Vec<Source>,
    /// Say nothing of a policy without problems.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Run the gateway before a built-in example service, and print what to try.
///
/// The policy is the one of the examples, and its counts are kept in memory: nothing has to be set up, and nothing is
/// left behind.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate demo --listen 127.0.0.1:9080")]
pub(crate) struct DemoArgs {
    /// Where the gateway listens; the decision API and health keep their distance in ports. [default: the policy's,
    /// 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = listen)]
    pub(crate) listen: Option<SocketAddr>,
    /// Write the demo's policy file to standard output instead.
    #[arg(long, conflicts_with = "listen")]
    pub(crate) print_policy: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Reads an address with its port, or a port of this machine, as policy files have them.
fn listen(text: &str) -> Result<SocketAddr, &'static str> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse().or_else(|_| port()).map_err(|_| "write an address and a port, such as 127.0.0.1:9080")
}

/// How logs are written, to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// How logs are written, to standard error.
    #[arg(long, value_name = "STYLE", default_value = "human")]
    pub(crate) log: LogStyle,
    /// The least that is logged; goes before the variable `RUST_LOG`.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<Level>,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogStyle {
    /// Lines for people, in colour on a terminal.
    Human,
    /// One JSON object a line.
    Json,
}

/// The least that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    /// Returns the level's name, as filters write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn an_address_may_be_a_port_alone() {
        assert_eq!(listen("9080"), Ok(SocketAddr::from(([127, 0, 0, 1], 9080))));
        assert_eq!(listen("[::1]:9080").map(|address| address.port()), Ok(9080));
        assert!(["", "localhost", "127.0.0.1", "70000"].iter().all(|text| listen(text).is_err()));
    }

    #[test]
    fn the_definition_has_no_slip_that_only_shows_when_it_is_used() {
        Args::command().debug_assert();
    }
}
