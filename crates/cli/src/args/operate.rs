//! The arguments of `tidegate doctor` and `tidegate store`.

use clap::{Subcommand, ValueHint};

use super::admin::AdminArgs;
use crate::cmd::why::key;
use crate::input::Source;

/// Look whether this machine and the store are fit for a policy, and say what to do where they are not.
///
/// Looked at is whether it can listen where it has to, whether the files can be read, whether the upstream and webhooks can be
/// reached, and of a Redis: its version, TLS, whether the user may do all that is needed, whether it forgets counts when its
/// memory is full, its clock, its replicas, and whether the other instances name keys under the same secret. Nothing that is
/// counted changes. It takes less than five seconds, also when the store hangs.
///
/// Exits with 0, also with warnings; with 1 when something has to be mended; 2 when the policy cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate doctor policy.yaml")]
pub(crate) struct DoctorArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// Write one JSON value instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Ask a shared store: whether it answers, what it has counted on a key, and to forget that.
///
/// What a policy counts in memory is in the process that serves it, and what it counts in Redis goes by hashed names: `--admin
/// URL` asks a running process by its operator's endpoint, for which neither policy nor secret is needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate store inspect policy.yaml login/lock username=ada
  tidegate store inspect --admin http://127.0.0.1:8083 login/lock username=ada

Exits with 0; 1 when the store does not answer a ping, or nothing is counted on the key; 2 when it cannot be asked.")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// What a store is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Ask whether it answers.
    #[command(after_help = "Example:
  tidegate store ping policy.yaml")]
    Ping {
        /// The policy file; `-` reads standard input.
        #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
        policy: Source,
    },
    /// Show what is counted on a key, and change nothing.
    #[command(after_help = "Example:
  tidegate store inspect policy.yaml verify/per-account account=ada")]
    Inspect {
        #[command(flatten)]
        of: KeyArgs,
        /// Write one JSON value instead of lines.
        #[arg(long)]
        json: bool,
    },
    /// Forget what is counted on a key, as if it had never been seen; it does not ask whether you are sure.
    #[command(after_help = "Example:
  tidegate store reset policy.yaml login/lock username=ada")]
    Reset {
        #[command(flatten)]
        of: KeyArgs,
    },
}

/// A key of a limit.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// The policy file; `-` reads standard input. With `--admin` there is none: RULE/LIMIT comes first.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// The limit.
    #[arg(value_name = "RULE/LIMIT", required_unless_present = "admin")]
    limit: Option<String>,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// What the limit counts on, by its name in the policy; none for a limit that counts everyone together.
    #[arg(value_name = "NAME=VALUE", value_parser = key)]
    pub(crate) key: Vec<(String, String)>,
}

/// A name and its value.
pub(crate) type Pair = (String, String);

impl KeyArgs {
    /// Returns the limit's name.
    pub(crate) fn limit(&self) -> &str {
        self.limit.as_deref().unwrap_or_default()
    }

    /// Returns the limit and the key where a running process is asked, and no policy is named: the words stand one place
    /// further to the front.
    ///
    /// # Errors
    /// When a value has no name.
    pub(crate) fn asked(&self) -> Result<(String, Vec<Pair>), &'static str> {
        let first = self.limit.as_deref().map(key).transpose()?;
        Ok((self.policy.name(), first.into_iter().chain(self.key.iter().cloned()).collect()))
    }
}
