//! The arguments of `tidegate why`.

use std::net::IpAddr;

use clap::ValueHint;
use tidegate::Timestamp;

use super::OutputStyle;
use crate::cmd::why::{Entries, descriptor, instant, key};
use crate::input::Source;

/// Say why a policy does with a request what it does: which rules apply and which do not and why not, what is read of it,
/// what every limit says. The same of a call of Envoy's about descriptors.
///
/// The request is explained as if nothing had been counted before, or after `--repeat` requests like it, at one instant,
/// none of which was a success.
/// A running process explains requests against what it has counted: `/v1/why` of the decision API.
#[derive(Debug, clap::Args)]
#[command(override_usage = "tidegate why [OPTIONS] <POLICY> [METHOD] <PATH>
       tidegate why [OPTIONS] <POLICY> --domain <DOMAIN> --descriptor <ENTRIES>...")]
#[command(after_help = "Example:
  tidegate why policy.yaml POST /otp/verify --client 192.0.2.7 --json '{\"account\":\"ada\"}' --repeat 4
  tidegate why policy.yaml --domain shop --descriptor '{ path: /checkout, remote_address: 192.0.2.7 }'

It asks the file alone: it knows nothing of what running gateways have counted, nor of their overrides. `/v1/why` of a gateway's
decision API or operator's endpoint (`admin`) does.

Keys are shown as they are read: mind who looks over your shoulder.")]
pub(crate) struct WhyArgs {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Source,
    /// The method, `GET` unless said, and the path with its query, or a URL.
    #[arg(value_names = ["METHOD", "PATH"], num_args = 1..=2, required_unless_present = "domain")]
    pub(crate) request: Vec<String>,
    /// A header field, `name: value`; may be repeated.
    #[arg(short = 'H', long, value_name = "FIELD")]
    pub(crate) header: Vec<String>,
    /// A body in JSON; its type is said unless a header field says another.
    #[arg(long, value_name = "BODY", conflicts_with = "body")]
    pub(crate) json: Option<String>,
    /// A field of a form body; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = key, conflicts_with_all = ["json", "body"])]
    pub(crate) form: Vec<(String, String)>,
    /// A body of the type that the header fields say.
    #[arg(long, value_name = "BODY")]
    pub(crate) body: Option<String>,
    /// The address of the connection's other end.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<IpAddr>,
    /// The host the request is for.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// A ready-made value of a key; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = key)]
    pub(crate) key: Vec<(String, String)>,
    /// The domain that Envoy asks under: explains a call about descriptors in a request's place.
    #[arg(long, value_name = "DOMAIN", requires = "descriptor", help_heading = "A call of Envoy's")]
    #[arg(conflicts_with_all = ["request", "header", "json", "form", "body", "client", "host", "key", "cost"])]
    pub(crate) domain: Option<String>,
    /// A descriptor: its entries in order, `{ path: /checkout, remote_address: 192.0.2.7 }`, or `[[path, /a], [path, /b]]`
    /// where a key comes twice; may be repeated.
    #[arg(long, value_name = "ENTRIES", requires = "domain", help_heading = "A call of Envoy's")]
    #[arg(value_parser = descriptor)]
    pub(crate) descriptor: Vec<Entries>,
    /// The units each descriptor takes, instead of each limit's own cost; 0 looks only.
    #[arg(long, value_name = "UNITS", requires = "domain", help_heading = "A call of Envoy's")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    pub(crate) hits: Option<u32>,
    /// The units to ask for, instead of each limit's own cost.
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<u32>,
    /// The instant of the request, in UTC. [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub(crate) at: Option<Timestamp>,
    /// How many requests like it were made before, at the same instant.
    #[arg(long, value_name = "TIMES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub(crate) repeat: u32,
    /// How the explanation is written.
    #[arg(long, value_name = "STYLE", default_value = "human")]
    pub(crate) output: OutputStyle,
}
