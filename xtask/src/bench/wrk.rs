//! Load over HTTP/1.1 by wrk: 64 connections that each ask again as soon as they have their answer.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::process::{ASKING, file};
use super::tools::Tool;

/// How many connections ask.
pub(super) const CONNECTIONS: u32 = 64;

/// What is asked for, again and again: one of `count` requests, at random.
#[derive(Debug)]
pub(super) struct Asks {
    /// The name of the script that says it.
    pub(super) name: &'static str,
    pub(super) count: u32,
    /// Lua for the `number`-th request: method, path, header fields and body.
    pub(super) request: String,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) requests: u64,
    /// Answers of a status from 400 on.
    pub(super) refusals: u64,
    /// Requests a second.
    pub(super) rate: f64,
    /// In microseconds.
    pub(super) p99: f64,
}

/// Asks the server on that port for so long.
///
/// # Errors
/// When wrk cannot be run, or a connection fails.
pub(super) fn run(asks: &Asks, port: u16, seconds: f64) -> Result<Answered> {
    let script = file(&format!("{}.lua", asks.name), &script(asks))?;
    let mut command = Command::new(Tool::Taskset.path()?);
    command.args(["--cpu-list", &ASKING.to_string()]).arg(Tool::Wrk.path()?);
    command.args(["--threads", "1", "--connections", &CONNECTIONS.to_string()]);
    // Whole seconds are all that wrk knows.
    command.args(["--duration", &format!("{seconds:.0}s"), "--script", &script]);
    command.arg(format!("http://127.0.0.1:{port}/"));
    let output = command.output().context("starting wrk")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    read(&said).with_context(|| format!("wrk said: {said} {errors}"))
}

fn script(asks: &Asks) -> String {
    format!(
        "local requests = {{}}
init = function(args)
  for number = 1, {count} do
    requests[number] = wrk.format({request})
  end
end
request = function()
  return requests[math.random({count})]
end
done = function(summary, latency, requests)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('{MARK} %d %d %d %d %d\\n', summary.requests, summary.duration, errors.status, broken,
    latency:percentile(99)))
end
",
        count = asks.count,
        request = asks.request,
    )
}

/// What the line begins with that the script prints at the end.
const MARK: &str = "tidegate-bench";

fn read(said: &str) -> Result<Answered> {
    let line = said.lines().find_map(|line| line.strip_prefix(MARK)).context("its script did not end")?;
    let numbers: Vec<u64> =
        line.split_whitespace().map(str::parse).collect::<Result<_, _>>().context("numbers")?;
    let [requests, micros, refusals, broken, p99] = numbers[..] else {
        anyhow::bail!("{} numbers instead of five", numbers.len())
    };
    ensure!(broken == 0, "{broken} requests got no answer");
    ensure!(requests > 0 && micros > 0, "nothing was answered");
    #[allow(clippy::cast_precision_loss, reason = "counts of seconds")]
    Ok(Answered { requests, refusals, rate: requests as f64 * 1e6 / micros as f64, p99: p99 as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_is_read_and_a_broken_connection_is_no_figure() {
        let answered = read("Running 3s test\ntidegate-bench 6000 3000000 10 0 950\n").unwrap();
        assert_eq!((answered.requests, answered.refusals), (6_000, 10));
        assert!((answered.rate - 2_000.0).abs() < 1e-9 && (answered.p99 - 950.0).abs() < 1e-9);
        assert!(read("tidegate-bench 6000 3000000 0 1 950\n").is_err());
        assert!(read("tidegate-bench 0 3000000 0 0 0\n").is_err());
        assert!(read("unable to connect").is_err());
    }
}
