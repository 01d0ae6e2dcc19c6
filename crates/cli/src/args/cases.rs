//! The arguments of `tidegate cases`.

/// Compute published policies, incidents and articles, and hold what comes out against what was published.
///
/// Each case is a policy and an attacker. Its figures are computed anew: by simulating the limits where somebody attacks
/// them, by closed forms elsewhere. Beside each stands what was published, and whether it agrees; what is known to be wrong is
/// told with by how many times. A case of which something could not be confirmed is labelled "unconfirmed". Nothing is sent
/// over a network.
///
/// Exits with 0; with 2 when there is no case of an id; with 3 when a figure does not come out that should.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate cases rubygems-2020 seed-years
  tidegate cases

docs/cases.md, beside the source, lists the ids.")]
pub(crate) struct CasesArgs {
    /// The cases by their ids. [default: all]
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Write one JSON array instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}
