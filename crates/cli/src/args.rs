//! The arguments as written. What the help teaches stands here and nowhere else: the manual pages and the shells'
//! completions are made from it.

mod admin;
mod attack;
mod bound;
mod cases;
mod examined;
mod import;
mod loadtest;
mod log;
mod operate;
mod why;
mod words;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use admin::{ADMIN, AdminArgs, OverrideArgs, place_of};
pub(crate) use attack::{AttackArgs, CompareArgs, MeansArgs};
pub(crate) use bound::BoundArgs;
pub(crate) use cases::CasesArgs;
pub(crate) use examined::{ExplainArgs, ThreatFormat, ThreatModelArgs};
pub(crate) use import::{ImportArgs, ImportCommand, ToArgs};
pub(crate) use loadtest::{LoadArgs, LoadSchedule, LoadShape};
pub(crate) use log::{Level, LogArgs, LogStyle};
pub(crate) use operate::{DoctorArgs, KeyArgs, LimitKey, StoreArgs, StoreCommand};
pub(crate) use why::WhyArgs;
pub(crate) use words::WordsArgs;

use crate::input::Source;

const EXAMPLES: &str = "\
Examples:
  tidegate demo                                  see limits at work, with nothing to set up
  tidegate demo --print-policy > policy.yaml     begin with the demo's policy
  tidegate check policy.yaml                     find everything that is wrong or unwise in a policy
  tidegate test policy.test.yaml                 hold a policy against requests and what is expected of them
  tidegate why policy.yaml POST /otp/verify      see which rules apply to a request, and why
  tidegate explain policy.yaml                   see what each limit comes to
  tidegate threat-model policy.yaml              write down what an attacker makes of each limit
  tidegate bound 'sliding_log: {limit: 5, window: 30s}'
                                                 see what a limit admits, and how long a blind guess takes
  tidegate attack policy.yaml                    see what it admits against adversaries, by simulation
  tidegate compare 'fixed_window: {limit: 5, window: 30s}' 'sliding_log: {limit: 5, window: 30s}'
                                                 see limits side by side under the same attacks
  tidegate loadtest http://127.0.0.1:8080/ --shape one-key-flood --rate 2000
                                                 see how fast it decides, and what a flood does to everybody else
  tidegate cases                                 see what published figures come to
  tidegate words policy.yaml --write             write the sentences that are missing
  tidegate import envoy ratelimit.yaml           write a configuration of envoyproxy/ratelimit as a policy
  tidegate serve policy.yaml                     enforce it
  tidegate serve policy.yaml --log json          the same, with logs for machines
  tidegate override verify/per-account --limit 2 --for 2h --because 'an attack'
                                                 make an exception in running gateways, for a while
  tidegate doctor policy.yaml                    see whether this machine and the store are fit for it
  tidegate store inspect policy.yaml verify/per-account account=ada
                                                 see what is counted on one key in a shared store

Exit codes:
  0  all is well; after SIGTERM or SIGINT: every request under way was answered
  1  check, doctor: problems were found; test: a test failed; diff: a change was denied
     threat-model --check: the copy differs
     override: there is none to remove, or the endpoint does not answer
     store: it does not answer (ping), or nothing is counted on the key (inspect, reset)
     loadtest: something that was expected is not so
     serve, demo: a port is taken, say, or requests were cut off
  2  a policy or test file cannot be used, or serve cannot run by it; wrong arguments
  3  attack, compare: more passed than can, or a gateway differs from the simulation
     cases: a figure does not come out
     loadtest: the target does not answer

Beside the source, docs/policy.md describes policies, docs/testing.md test files, docs/api.md the
decision API.";

/// A rate limiter whose limits mean what they say.
///
/// Tidegate stands in front of an HTTP service and decides which requests pass, by a policy file that states each
/// limit in numbers and in words. Envoy, nginx, Caddy, HAProxy, Traefik, clients that send CL.THROTTLE, and any program over
/// HTTP can ask it instead.
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
    Explain(ExplainArgs),
    ThreatModel(ThreatModelArgs),
    Bound(BoundArgs),
    Attack(Box<AttackArgs>),
    Compare(CompareArgs),
    Loadtest(Box<LoadArgs>),
    Cases(CasesArgs),
    Test(TestArgs),
    Why(Box<WhyArgs>),
    Demo(DemoArgs),
    Diff(DiffArgs),
    Words(WordsArgs),
    Import(ImportArgs),
    Override(Box<OverrideArgs>),
    Doctor(DoctorArgs),
    Store(StoreArgs),
    /// Write the JSON Schema of policy files to standard output, for editors.
    ///
    /// An editor with a YAML language server reads it by a first line such as
    /// `# yaml-language-server: $schema=tidegate.schema.json`.
    Schema,
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

/// Enforce a policy: run every face it names, of gateway, decision API with forward-auth, Envoy's rate-limit service,
/// CL.THROTTLE, operator's endpoint and health.
///
/// SIGTERM and SIGINT drain: new connections are no longer taken, requests under way are finished, and those still not
/// done at the policy's `drain_timeout` are cut off, which is logged. A second signal ends it at once.
///
/// A changed policy file is reloaded, and so is one whose certificates, tokens or included files changed; SIGHUP reloads at
/// once. Counts are kept, and requests under way end under the policy they began with. A policy that is wrong, or that
/// changes where to listen or where counts are kept, is logged and changes nothing.
///
/// Under systemd, `Type=notify` learns when every port is open and when draining begins, `Type=notify-reload` also of
/// reloads.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate serve policy.yaml --log json --log-level warn

Without --log-level, the variable RUST_LOG filters by module: RUST_LOG=warn,tidegate_server=debug")]
pub(crate) struct ServeArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// Reload the policy on SIGHUP only, not when its files change.
    #[arg(long)]
    pub(crate) no_watch: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Check policy files: say everything that is wrong with them, and what is unwise, each with its place and remedy.
///
/// Problems are written to standard output as `file:line:column: message; remedy`. A policy without any is answered
/// with a table of its limits, their numbers and beside them their words, and with what the review finds: an id, the
/// figure, what to do. docs/review has a page for each id. A rule keeps one knowingly by `accept: [{ id, because }]`.
///
/// Exits with 0 when all is well, also with warnings; 1 when a file has problems or the review finds an error that no rule
/// accepts; 2 when a file cannot be read or is not YAML.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate check --quiet policies/*.yaml && echo fine
  tidegate check --format sarif policy.yaml > tidegate.sarif")]
pub(crate) struct CheckArgs {
    /// The policy files; `-` reads standard input.
    #[arg(required = true, value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policies: Vec<Source>,
    /// Say nothing but what fails the check.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How findings are written.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// How the findings of a check are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// One JSON value.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines.
    Github,
}

/// Test policies: make requests at virtual times, and hold what becomes of them against what a test file expects.
///
/// Each test begins with nothing counted, in a store of its own in memory; nothing waits and nothing listens. Of a step
/// that goes otherwise than expected, the differences are told with the verdict in words, every rule with why it applies or
/// does not, and the keys that were read. Rules that applied to no request of a file are told at its end.
///
/// Exits with 0 when all tests pass, 1 when one fails, 2 when a test file or its policy cannot be used.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate test examples/*.test.yaml

Test files are described in docs/testing.md, beside the source.")]
pub(crate) struct TestArgs {
    /// The test files; each names its policy.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Run only the tests whose names contain this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Fail when a rule of a policy applied to no request of its file.
    #[arg(long, conflicts_with = "filter")]
    pub(crate) strict: bool,
    /// How findings are written.
    #[arg(long, value_name = "STYLE", default_value = "human")]
    pub(crate) output: OutputStyle,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputStyle {
    /// Lines for people.
    Human,
    /// One JSON value.
    Json,
}

/// Tell what changes from one policy to another: per limit, whether it becomes looser or tighter, and what becomes of
/// its counts.
///
/// Looser and tighter are asked of what a limit admits at most: at once, in any span of a second, a minute, an hour, a
/// day, thirty days and its own window, and in the long run. Counts are kept, clamped (held against smaller numbers),
/// carried over to another algorithm, or start fresh.
///
/// Exits with 0, or with 1 when something changes that `--deny` names; 2 when a file cannot be used.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate diff --deny looser,fresh deployed.yaml proposed.yaml")]
pub(crate) struct DiffArgs {
    /// The policy as it is.
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath)]
    pub(crate) old: Source,
    /// The policy as it would be; `-` reads standard input.
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath)]
    pub(crate) new: Source,
    /// Fail when something changes like this.
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    pub(crate) deny: Vec<Denied>,
}

/// A change that may be denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Denied {
    /// More may be let through: by a limit over some span, by a rule, by a setting, or it cannot be told.
    Looser,
    /// Less may be let through, or it cannot be told.
    Tighter,
    /// The counts of a limit that is in both start fresh.
    Fresh,
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
