//! The arguments of `tidegate loadtest`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};
use tidegate::Span;

use super::bound::span;

/// Load-test a limiter: how many decisions a second it makes, how long they take, and what a flood does to everybody else.
///
/// With --rate, or by the shape `ramp`, requests come by a schedule, whether or not earlier ones have been answered (open loop), and
/// a latency counts from when its request was meant to be sent: what had to wait is measured, and not hidden by a client that waits
/// itself. Without --rate each connection asks again as soon as it has its answer (closed loop), which shows the highest throughput.
///
/// Shapes with a flood are played without it first, and then with it. The generator watches itself, and says so when it was the
/// bottleneck. Ctrl-C ends the test with what was measured so far.
///
/// Exits with 0; with 1 when something that was expected is not so; with 2 when it cannot be run as asked; with 3 when the target does
/// not answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate loadtest http://127.0.0.1:8080/ --shape ramp
  tidegate loadtest http://127.0.0.1:8080/ --shape one-key-flood --rate 2000 --flood-rate 20000 --max-slowdown 1.5
  tidegate loadtest http://127.0.0.1:8080/ --key-header X-Api-Key --users 10000 --rate 5000
  tidegate loadtest api+http://127.0.0.1:8081 --question '{\"path\":\"/\",\"client\":\"{address}\"}' --connections 32
  tidegate loadtest grpc://127.0.0.1:8082 --domain shop --descriptor 'path=/checkout,remote_address={address}'
  tidegate loadtest memory: --limit 'sliding_counter: {limit: 600, window: 1m}' --users 1000000

docs/loadtest.md, beside the source, says what each figure means, and what the JSON holds.")]
pub(crate) struct LoadArgs {
    /// What to test: http://HOST:PORT/PATH (a gateway), api+http://HOST:PORT (a decision API), grpc://HOST:PORT (Envoy's rate-limit
    /// service), memory: or redis://HOST:PORT (a store); a loopback address unless --i-own-this names its host.
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
    /// Who asks.
    #[arg(long, value_name = "SHAPE", default_value = "normal")]
    pub(crate) shape: LoadShape,
    /// How many requests users send a second, by a schedule; of a ramp, its first rate. Without it every connection asks again as
    /// soon as it has its answer.
    #[arg(long, value_name = "COUNT", value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// How many requests a flood sends a second. [default: four times --rate]
    #[arg(long, value_name = "COUNT", value_parser = rate, requires = "rate")]
    pub(crate) flood_rate: Option<f64>,
    /// How requests of a schedule come.
    #[arg(long, value_name = "HOW", default_value = "poisson")]
    pub(crate) schedule: LoadSchedule,
    /// How many requests of users are under way at once at most, and as many of a flood.
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) connections: u32,
    /// How many users there are. [default: 1000; where each has an address of his own, --connections]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) users: Option<u32>,
    /// How unevenly users come, as the exponent of Zipf's law; 0 is evenly.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = skew)]
    pub(crate) skew: f64,
    /// How long each phase goes on; of a ramp, about how long all of it takes, at half a second a step or more.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10s")]
    pub(crate) duration: Span,
    /// How long users send before anything is measured; 0 for not at all.
    #[arg(long, value_name = "TIME", value_parser = span_or_none, default_value = "500ms")]
    pub(crate) warm_up: Span,
    /// How long an answer is waited for, from when its request was meant to be sent.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    pub(crate) timeout: Span,
    /// How many threads send. [default: half of the processors]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: Option<u32>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Fail when the 99th percentile of users is higher; may be as short as 500us or 0.5ms.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(crate) max_p99: Option<Span>,
    /// Fail when fewer decisions are made a second, or by a ramp the capacity is lower.
    #[arg(long, value_name = "COUNT", value_parser = rate)]
    pub(crate) min_rate: Option<f64>,
    /// Fail when the 99th percentile of users with the flood is more than so many times that without.
    #[arg(long, value_name = "TIMES", value_parser = rate)]
    pub(crate) max_slowdown: Option<f64>,
    /// Fail when more requests bring no decision, such as 1%.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) max_errors: Option<f64>,
    /// How high the 99th percentile may go before a ramp is at its end.
    #[arg(long, value_name = "TIME", value_parser = latency, default_value = "100ms")]
    pub(crate) ramp_p99: Span,
    /// Measure what this process takes of the processor.
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Read the calls to the store from the metrics of this operator's endpoint.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) admin: Option<String>,
    /// The file of the token that the operator's endpoint demands.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "admin")]
    pub(crate) admin_token_file: Option<PathBuf>,
    /// The host of a target that is yours to test.
    #[arg(long, value_name = "HOST")]
    pub(crate) i_own_this: Option<String>,
    /// Where chance begins.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write everything as JSON to this file; `-` is standard output, and nothing else is written there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
    /// Write a page with plots to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Show neither how far it is nor the table; what was expected and is not so is told all the same.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How a target is asked. In texts `{key}` stands for a user's name and `{address}` for an IPv4 address of his.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How it is asked")]
pub(crate) struct AskArgs {
    /// The method of requests to a gateway. [default: GET, with a body POST]
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A field of every request to a gateway or a decision API; may be repeated.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The field that tells users apart: a name, for `{key}`, or `NAME: VALUE` with either. [default: users differ by the address
    /// that they send from]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_header: Option<String>,
    /// The body of requests to a gateway.
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// What a decision API is asked. [default: {"path":"/","client":"{address}"}]
    #[arg(long, value_name = "JSON")]
    pub(crate) question: Option<String>,
    /// The domain that Envoy's rate-limit service is asked about.
    #[arg(long, value_name = "NAME")]
    pub(crate) domain: Option<String>,
    /// A descriptor, its entries KEY=VALUE with commas between; may be repeated. [default: `remote_address={address}`]
    #[arg(long, value_name = "ENTRIES")]
    pub(crate) descriptor: Vec<String>,
    /// The file of the token that a decision API or rate-limit service demands.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// The limit that a store decides by. [default: `token_bucket: {capacity: 100, refill: 100 per 1s}`]
    #[arg(long, value_name = "LIMIT")]
    pub(crate) limit: Option<String>,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadShape {
    /// Many users, some of whom come far more often than others.
    Normal,
    /// Users, without and with one key that is hammered.
    OneKeyFlood,
    /// Users, without and with keys that come once each.
    ManyKeyFlood,
    /// Users, without and with both floods.
    Mix,
    /// Users at a rate that rises until the target keeps up no longer.
    Ramp,
}

/// How requests of a schedule come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadSchedule {
    /// By chance.
    Poisson,
    /// Evenly.
    Constant,
}

/// The most requests a second that anything here could send.
const MOST_RATE: f64 = 1e8;

fn rate(text: &str) -> Result<f64, String> {
    let number = text.replace('_', "").parse::<f64>().ok();
    number
        .filter(|number| *number > 0.0 && *number <= MOST_RATE)
        .ok_or_else(|| "write a number above 0, such as 2000".to_owned())
}

fn skew(text: &str) -> Result<f64, &'static str> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=10.0).contains(number));
    number.ok_or("write a number from 0 to 10, such as 1")
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .map(|number| number / 100.0)
        .ok_or("write a percentage from 0% to 100%, such as 1%")
}

/// Reads a latency: a time as everywhere, one in microseconds, or a fraction of milliseconds or seconds, as tables show them.
fn latency(text: &str) -> Result<Span, String> {
    // The longer unit first: `s` ends them all.
    let units = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
    let read = units.into_iter().find_map(|(unit, micros)| {
        let number = text.strip_suffix(unit)?.trim_end().parse::<f64>().ok()? * micros;
        let micros = Some(number.round()).filter(|micros| (1.0..=3.6e9).contains(micros))?;
        u64::try_from(tidegate_review::whole(micros)).ok()
    });
    match read {
        Some(micros) => Ok(Span::from_micros(micros)),
        None => span(text).map_err(|error| format!("{error}; or one such as 500us or 0.5ms")),
    }
}

fn span_or_none(text: &str) -> Result<Span, String> {
    if matches!(text, "0" | "0s" | "0ms") { Ok(Span::ZERO) } else { span(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards whoever copies a p99 from the table into a bound.
    #[test]
    fn a_latency_is_read_as_tables_show_it() {
        let read = ["500us", "2.50 µs", "0.5ms", "1.80 ms", "2s", "1h"]
            .map(|text| latency(text).unwrap().as_micros());
        assert_eq!(read, [500, 3, 500, 1_800, 2_000_000, 3_600_000_000]);
        for wrong in ["", "0ms", "-1ms", "5", "NaNms", "0.1us"] {
            assert!(latency(wrong).unwrap_err().contains("500us"), "{wrong}");
        }
    }
}
