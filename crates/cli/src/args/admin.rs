//! Where the operator's endpoint of a running process is, and the arguments of `tidegate override`.

use std::path::PathBuf;

use clap::{ArgGroup, ValueHint};
use http::Uri;

use crate::input::Source;

/// Where the operator's endpoint is asked unless said.
pub(crate) const ADMIN: &str = "http://127.0.0.1:8083";

/// Make an exception from a limit of running gateways, until it ends by itself: no file, no restart, every instance within a
/// second.
///
/// The operator's endpoint (`admin`) of any one instance is asked. It holds the exception against its policy as a file is
/// held, keeps it in the store that all instances share, and logs who made it and why. Tidegate writes its words. Counts are
/// kept, when it begins and when it ends: nothing is refilled. Without RULE/LIMIT those in force are listed.
///
/// With `--key` it is for one key alone, and goes before one for everybody.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("change").args(["limit", "terms", "mode", "remove"])))]
#[command(override_usage = "tidegate override [OPTIONS] [RULE/LIMIT]")]
#[command(after_help = "Example:
  tidegate override verify/per-account --limit 2 --for 2h --because \"an attack from AS64500\"
  tidegate override verify/per-account --mode refuse --key account=mallory --for 30m --because \"a bot\"
  tidegate override search/per-client --terms 'token_bucket: { capacity: 2, refill: 1 per 20s }' --for 1h --because overload
  tidegate override
  tidegate override --remove verify/per-account

Exits with 0; 1 when there is none to remove, or the endpoint or its store does not answer; 2 when the exception cannot be.
docs/overrides.md, beside the source, describes it.")]
pub(crate) struct OverrideArgs {
    /// The limit; without it, those in force are listed.
    #[arg(value_name = "RULE/LIMIT")]
    pub(crate) name: Option<String>,
    /// Another number: a window's limit, a lockout's attempts, a bucket's capacity or a queue's places, these two with the
    /// rate in proportion.
    #[arg(long, value_name = "NUMBER", requires_all = ["name", "lasts", "because"])]
    pub(crate) limit: Option<u64>,
    /// Another algorithm, as a policy file writes it.
    #[arg(long, value_name = "ALGORITHM", requires_all = ["name", "lasts", "because"])]
    pub(crate) terms: Option<String>,
    /// What becomes of refusals: counted only (shadow), not looked at (off), everything (refuse).
    #[arg(long, value_name = "MODE", value_parser = ["shadow", "off", "refuse"], requires_all = ["name", "lasts", "because"])]
    pub(crate) mode: Option<String>,
    /// Remove the exception.
    #[arg(long, requires = "name")]
    pub(crate) remove: bool,
    /// The one key it is for: the value, or the name it has in logs (hmac:…), or NAME=VALUE, which may be repeated.
    #[arg(long, value_name = "KEY", requires = "change")]
    pub(crate) key: Vec<String>,
    /// How long: 1s to 30d.
    #[arg(long = "for", id = "lasts", value_name = "TIME", requires = "change")]
    pub(crate) lasts: Option<String>,
    /// Why, for whoever finds it in the log.
    #[arg(long, value_name = "REASON", requires = "change")]
    pub(crate) because: Option<String>,
    /// Write JSON instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// Take the endpoint and its token from this policy file.
    #[arg(long, value_name = "POLICY", value_hint = ValueHint::FilePath, conflicts_with_all = ["admin", "token_file"])]
    pub(crate) policy: Option<Source>,
}

/// Where the operator's endpoint of a running process is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AdminArgs {
    /// The operator's endpoint of a running process. [default of `override`: the variable `TIDEGATE_ADMIN`, else
    /// `http://127.0.0.1:8083`]
    #[arg(long, value_name = "URL", value_parser = place_of)]
    pub(crate) admin: Option<Uri>,
    /// The file with the token that it demands.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
}

/// Reads where an endpoint is.
///
/// # Errors
/// With what to write.
pub(crate) fn place_of(text: &str) -> Result<Uri, &'static str> {
    const REMEDY: &str = "write it as http://127.0.0.1:8083";
    let uri: Uri = text.parse().map_err(|_| REMEDY)?;
    let is_root = matches!(uri.path(), "" | "/") && uri.query().is_none();
    let is_http = uri.scheme_str() == Some("http") && uri.host().is_some();
    if is_http && is_root { Ok(uri) } else { Err(REMEDY) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_place_and_no_path() {
        assert!(place_of(ADMIN).is_ok() && place_of("http://[::1]:8083/").is_ok());
        for wrong in
            ["127.0.0.1:8083", "https://127.0.0.1:8083", "http://127.0.0.1:8083/v1/overrides", "", "x"]
        {
            assert!(place_of(wrong).is_err(), "{wrong}");
        }
    }
}
