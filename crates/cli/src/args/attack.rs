//! The arguments of `tidegate attack` and `tidegate compare`.

use std::path::PathBuf;

use clap::ValueHint;
use tidegate::Span;

use super::bound::span;
use crate::input::Source;

/// Attack a policy: show what each of its limits admits against adversaries, beside the most that it can admit.
///
/// Without --scenario, every adversary that fits is played at every rule, in virtual time: short plays at many phases of a
/// window, with and without jitter, and a long one from the worst of them. Told are the most that passed in any second, minute,
/// hour and day, how long a blind guess takes, how many of other people's tries were refused, and what mistakes of the policy
/// were shown, each with its figure. Nothing is sent over a network.
///
/// With --against, the same adversaries are played in real time at a running gateway, and what passed is held against what
/// the simulation says of the same requests.
///
/// Exits with 0; with 1 under --strict when a mistake was shown; with 2 when the policy or the scenario cannot be used; with 3
/// when more passed than can, or a gateway differs from the simulation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate attack policy.yaml --rule verify --html attack.html
  tidegate attack policy.yaml --adversary many-addresses --addresses 1000
  tidegate attack policy.yaml --against http://127.0.0.1:8080

docs/attack.md, beside the source, says who the adversaries are and what each figure means.")]
pub(crate) struct AttackArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// Attack this rule; may be repeated. [default: all]
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Vec<String>,
    /// Play this adversary; may be repeated. [default: all that fit]
    #[arg(long, value_name = "NAME")]
    pub(crate) adversary: Vec<String>,
    /// Play what this file says instead.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["rule", "adversary", "against", "length", "addresses", "ipv6_prefix", "rate", "subjects"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Play at this gateway instead, in real time: http, and a loopback address unless --i-own-this names its host.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) against: Option<String>,
    /// The host of a gateway that is yours to attack.
    #[arg(long, value_name = "HOST", requires = "against")]
    pub(crate) i_own_this: Option<String>,
    /// The most requests that are sent to a gateway.
    #[arg(long, value_name = "COUNT", default_value_t = 2_000, requires = "against")]
    pub(crate) requests: u64,
    /// How far a gateway's clock may be off this machine's.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "50ms", requires = "against")]
    pub(crate) tolerance: Span,
    /// How long the long play goes on, and the whole attack at a gateway. [default: 1d; at a gateway 30s]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub(crate) length: Option<Span>,
    /// Play less of each: at two instants, without jitter, and a tenth of the requests. For CI.
    #[arg(long, conflicts_with_all = ["scenario", "against"])]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) means: MeansArgs,
    /// Where chance begins: the same number gives the same attack.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Fail when a mistake of the policy was shown.
    #[arg(long, conflicts_with_all = ["scenario", "against"])]
    pub(crate) strict: bool,
    /// Write one JSON value instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with plots to this file as well.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "against")]
    pub(crate) html: Option<PathBuf>,
}

/// What adversaries have.
#[derive(Debug, clap::Args)]
pub(crate) struct MeansArgs {
    /// How many addresses send for an adversary.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) addresses: u32,
    /// The prefix of the IPv6 network that an adversary holds.
    #[arg(long, value_name = "BITS", default_value_t = 48, value_parser = clap::value_parser!(u8).range(32..=128))]
    pub(crate) ipv6_prefix: u8,
    /// The most requests a second that an adversary makes.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// How many accounts or phone numbers an adversary tries.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) subjects: u32,
}

/// Compare limits: the same attacks on each, side by side, and which limit keeps what is promised.
///
/// Told are the most in the first limit's window, by closed form and as seen, what passes at once, in an hour, in a day and in
/// the long run, how long a blind guess takes, what it costs to keep somebody out, and the state of a key. Below stands which
/// limits keep the promise that the first one's numbers sound like.
///
/// Exits with 0; with 2 when a limit cannot be read; with 3 when more passed than can.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate compare 'fixed_window: {limit: 5, window: 30s}' 'token_bucket: {capacity: 4, refill: 1 per 10s}'")]
pub(crate) struct CompareArgs {
    /// The limits, as a policy file writes them: algorithm and numbers.
    #[arg(required = true, value_name = "LIMIT")]
    pub(crate) limits: Vec<String>,
    /// The span whose worst case is compared. [default: the first limit's window]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) span: Option<Span>,
    /// How many digits the guessed code has.
    #[arg(long, value_name = "COUNT", default_value_t = 6)]
    pub(crate) digits: u32,
    /// How many codes are valid at once.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) valid: u32,
    /// Where chance begins.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write one JSON value instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with plots to this file as well.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}
