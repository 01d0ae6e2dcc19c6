//! The arguments of `tidegate explain` and `tidegate threat-model`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use crate::input::Source;

/// Explain what each limit of a policy comes to: what it admits at most, tells a client, and does without its store.
///
/// Told are the limit in exact words, the most units it admits on one key (in an instant, and in any second, minute, hour,
/// day and span of its window, half-open), the rate in the long run, the size of a key's state, what a refusal tells, and
/// what happens when the store is gone. Plans and overrides are told each.
///
/// Exits with 0; with 2 when the policy cannot be used or has no such rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate explain policy.yaml --rule verify")]
pub(crate) struct ExplainArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// Explain this rule alone.
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Option<String>,
    /// Write one JSON value instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a policy's threat model: each limit with its words, its key and who chooses it, its worst burst, how long a blind
/// guess takes, what it costs to lock a victim out, and what happens without the store.
///
/// With `--check`, a committed copy in Markdown or JSON is held against the policy instead: every figure and choice that is no
/// longer so is told, prose is not looked at.
///
/// Exits with 0; with 1 when a copy differs, or the page cannot be written; with 2 when the policy or the copy cannot be used.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate threat-model policy.yaml --output threat-model.md
  tidegate threat-model policy.yaml --check threat-model.md

docs/threat-model.md, beside the source, says what each figure means.")]
pub(crate) struct ThreatModelArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// How it is written. [default: by the ending of --output, else markdown]
    #[arg(long, value_name = "FORMAT", conflicts_with = "check")]
    pub(crate) format: Option<ThreatFormat>,
    /// Write it to this file instead of standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "check")]
    pub(crate) output: Option<PathBuf>,
    /// Hold this copy, in Markdown or JSON, against the policy.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) check: Option<PathBuf>,
}

/// How a threat model is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThreatFormat {
    /// Text with tables, to be kept beside the policy.
    Markdown,
    /// One page that needs nothing else.
    Html,
    /// One JSON value.
    Json,
}
