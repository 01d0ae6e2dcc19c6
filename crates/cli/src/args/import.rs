//! The arguments of `tidegate import`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use crate::input::Source;

/// Write another limiter's configuration as a policy file, and tell what the review thinks of it.
///
/// The policy is checked, and its limits have their sentences; what is not as it was is told on standard error, with its
/// place in the configuration, and so is what the review finds. docs/import.md has what becomes of every word.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate import envoy config/*.yaml --output policy.yaml

Exits with 0 when the policy is written, whatever the review finds; 1 when the configuration has problems, or a file is in
the way; 2 when a file cannot be read or is not YAML.")]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) command: ImportCommand,
}

/// Whose configuration is written as a policy.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import configuration files of envoyproxy/ratelimit, all of them into one policy.
    ///
    /// A policy can serve such files as they are, too: `envoy: { files: [ … ] }`. Both ways have the same rules, and keep
    /// the same counts.
    #[command(after_help = "Example:
  tidegate import envoy config/*.yaml --output policy.yaml")]
    Envoy {
        /// The configuration files, one a domain; `-` reads standard input.
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<Source>,
        #[command(flatten)]
        to: ToArgs,
    },
    /// Import the `rate-limit:` section of a service's YAML.
    #[command(after_help = "Example:
  tidegate import rate-limit application.yaml --output policy.yaml")]
    RateLimit {
        /// The service's configuration; `-` reads standard input.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Source,
        #[command(flatten)]
        to: ToArgs,
    },
}

/// Where the policy goes.
#[derive(Debug, clap::Args)]
pub(crate) struct ToArgs {
    /// Write the policy into this file instead of standard output.
    #[arg(short, long, value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
