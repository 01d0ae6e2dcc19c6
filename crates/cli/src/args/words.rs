//! The arguments of `tidegate words`.

use clap::ValueHint;

use crate::input::Source;

/// Show the sentences that a policy's numbers call for where `says` is missing, or write them into the file.
///
/// Everything else of the file stays as it is, comments and order included. A sentence that contradicts its numbers, or
/// cannot be read, is left alone, and told of, unless --numbers-win names its limit.
///
/// Exits with 0 when every limit has its sentence, 1 when some would be written or one is left that is wrong (or the file
/// has other problems), 2 when the file cannot be used.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate words policy.yaml --write --numbers-win verify/per-account")]
pub(crate) struct WordsArgs {
    /// The policy file; `-` reads standard input, and --write then writes to standard output.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// Write the sentences into the file.
    #[arg(long)]
    pub(crate) write: bool,
    /// Write the sentences of this limit anew, as its numbers say; may be given again.
    #[arg(long, value_name = "RULE/LIMIT")]
    pub(crate) numbers_win: Vec<String>,
}
