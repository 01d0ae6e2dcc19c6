//! The arguments of `tidegate doctor` and `tidegate store`.

use clap::{Subcommand, ValueHint};

use super::admin::AdminArgs;
use crate::exit::Failure;
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
/// What a policy counts in memory is in the process that serves it, and what it counts in Redis goes by hashed names: a running
/// process is asked by its operator's endpoint, for which neither policy nor secret is needed. It is asked where RULE/LIMIT is
/// the first argument and no policy file, at `--admin URL`, or else at the variable `TIDEGATE_ADMIN`. It alone knows of
/// overrides.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate store inspect policy.yaml login/lock username=ada
  tidegate store inspect --admin http://127.0.0.1:8083 login/lock username=ada

Exits with 0; 1 when the store does not answer a ping, or nothing is counted on the key and no override refuses it; 2 when it
cannot be asked.")]
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
  tidegate store inspect policy.yaml verify/per-account account=ada
  TIDEGATE_ADMIN=http://127.0.0.1:8083 tidegate store inspect verify/per-account ada")]
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
    /// The policy file; `-` reads standard input. Without one, RULE/LIMIT comes first, and a running process is asked.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// The limit.
    #[arg(value_name = "RULE/LIMIT")]
    limit: Option<String>,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// What the limit counts on, by its name in the policy: NAME=VALUE, or the value where it counts on one thing; none for a
    /// limit that counts everyone together.
    #[arg(value_name = "KEY")]
    key: Vec<String>,
}

/// A limit and the words of its key.
#[derive(Debug)]
pub(crate) struct LimitKey {
    pub(crate) limit: String,
    pub(crate) key: Vec<String>,
}

impl KeyArgs {
    /// Returns whether a running process is asked, and no policy is named: its place is said, or the first word is a limit and
    /// no file.
    pub(crate) fn is_asked(&self) -> bool {
        let Source::File(path) = &self.policy else { return self.admin.admin.is_some() };
        let is_second = self.limit.as_deref().is_some_and(is_limit);
        let is_first = is_limit(&self.policy.name()) && !path.exists() && !is_second;
        self.admin.admin.is_some() || is_first
    }

    /// Returns the limit and its key. Where a running process is asked the words stand one place further to the front.
    ///
    /// # Errors
    /// When no limit is named.
    pub(crate) fn on(&self) -> Result<LimitKey, Failure> {
        let (limit, first) = if self.is_asked() {
            (Some(self.policy.name()), self.limit.clone())
        } else {
            (self.limit.clone(), None)
        };
        let none = || {
            let about = format!("which limit of {} is not said", self.policy.name());
            Failure::unusable(about)
                .advise("write RULE/LIMIT behind it, such as login/lock, and then the key")
        };
        let key = first.into_iter().chain(self.key.iter().cloned()).collect();
        Ok(LimitKey { limit: limit.ok_or_else(none)?, key })
    }
}

/// Returns whether a word is the name of a limit by its form.
fn is_limit(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    word.split_once('/').is_some_and(|(rule, limit)| is_name(rule) && is_name(limit))
}
