//! Load over HTTP/1.1 by wrk: 64 connections that each ask again as soon as they have their answer.

use anyhow::{Context as _, Result};

use super::computed::told::{Answered, MARK, wrk_line};
use super::process::{ASKING, file, on};
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

/// Asks the server on that port for so long.
///
/// # Errors
/// When wrk cannot be run, or a connection fails.
pub(super) fn run(asks: &Asks, port: u16, seconds: f64) -> Result<Answered> {
    let script = file(&format!("{}.lua", asks.name), &script(asks))?;
    let mut command = on(ASKING, &Tool::Wrk.path()?)?;
    command.args(["--threads", "1", "--connections", &CONNECTIONS.to_string()]);
    // Whole seconds are all that wrk knows.
    command.args(["--duration", &format!("{seconds:.0}s"), "--script", &script]);
    command.arg(format!("http://127.0.0.1:{port}/"));
    let output = command.output().context("starting wrk")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    wrk_line(&said).with_context(|| format!("wrk said: {said} {errors}"))
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
