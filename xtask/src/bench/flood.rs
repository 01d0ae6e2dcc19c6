//! What a flood of one key does to everybody else: the gateway at seven tenths of what it can do, six of them the flood's.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Scale;
use super::computed::figures::median;
use super::computed::page::{Page, short};
use super::gateway::{self, FIELD, USERS};
use super::process::{ASKING, on};
use super::tools::Tool;
use super::wrk::{self, Asks};

const TURNS: u32 = 3;
/// How long each phase of a turn goes on: without the flood, and with it.
const SECONDS: u32 = 5;
/// Parts of the capacity.
const USERS_PART: f64 = 0.1;
const FLOOD_PART: f64 = 0.6;

/// A server that is flooded, and what its turns saw.
struct Flooded {
    id: &'static str,
    name: &'static str,
    port: u16,
    turns: Vec<Turn>,
}

/// What a turn saw.
struct Turn {
    without: f64,
    with: f64,
    slowdown: f64,
    refused: f64,
    limited: Option<String>,
}

impl Flooded {
    fn median(&self, figure: fn(&Turn) -> f64) -> f64 {
        median(&self.turns.iter().map(figure).collect::<Vec<f64>>())
    }

    fn row(&self) -> [String; 5] {
        [
            self.name.to_owned(),
            short(self.median(|turn| turn.without)),
            short(self.median(|turn| turn.with)),
            short(self.median(|turn| turn.slowdown)),
            short(self.median(|turn| turn.refused)),
        ]
    }
}

/// Measures, and adds the table.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    let upstream = gateway::upstream()?;
    let (_nginx, beside) = gateway::nginx(upstream.1)?;
    let (_server, port) = gateway::tidegate(upstream.1)?;
    let capacity = capacity(port, scale.of(3, 1).into())?;
    let seconds = scale.of(SECONDS, 2);
    let mut flooded = [
        Flooded { id: "nginx", name: "nginx, `limit_req`", port: beside, turns: Vec::new() },
        Flooded { id: "tidegate", name: "tidegate", port, turns: Vec::new() },
    ];
    for _ in 0..scale.of(TURNS, 1) {
        for one in &mut flooded {
            one.turns.push(turn(one.port, capacity, seconds)?);
        }
    }
    page.figure("flood/capacity", capacity);
    for one in &flooded {
        page.figure(format!("flood/{}/p99-us-without", one.id), one.median(|turn| turn.without));
        page.figure(format!("flood/{}/p99-us-with", one.id), one.median(|turn| turn.with));
        page.figure(format!("flood/{}/p99", one.id), one.median(|turn| turn.slowdown));
    }
    let [users, flood] = [USERS_PART, FLOOD_PART].map(|part| capacity * part);
    page.line(&format!(
        "`tidegate loadtest --shape one-key-flood`, an open loop: requests come by a schedule (Poisson), whether or not earlier \
         ones have been answered, and waits count from when they were due. The gateway forwards {} requests a second to its \
         upstream when wrk leaves it no pause. Of that, users have {:.0} %, {} a second by {USERS} of them, and the flood {:.0} %, {} a \
         second of one key, of which a hundred a second are let through. {seconds} s without the flood, then {seconds} s with it; medians \
         of {} turns. nginx, which could bear more, has just as much of it: what becomes of its users is what the machine and the \
         load test do to them. The server has one processor; the load test and the upstream share the other.",
        short(capacity),
        USERS_PART * 100.0,
        short(users),
        FLOOD_PART * 100.0,
        short(flood),
        scale.of(TURNS, 1),
    ));
    let rows = flooded.each_ref().map(Flooded::row);
    page.table(["p99 of users, µs", "without", "with the flood", "ratio", "of the flood refused, %"], &rows);
    if let Some(why) = flooded.iter().flat_map(|one| &one.turns).find_map(|turn| turn.limited.as_ref()) {
        page.line(&format!("The load test says of itself that it may have been what was slow: {why}"));
    }
    Ok(())
}

/// Returns how many requests a second the gateway forwards when it is asked without a pause.
fn capacity(port: u16, seconds: f64) -> Result<f64> {
    let request = format!("'GET', '/allowed', {{ ['{FIELD}'] = string.format('user-%06d', number) }}");
    let answered = wrk::run(&Asks { name: "capacity", count: USERS, request }, port, seconds)?;
    ensure!(answered.refusals == 0, "{} were refused", answered.refusals);
    Ok(answered.rate)
}

fn turn(port: u16, capacity: f64, seconds: u32) -> Result<Turn> {
    let mut command = on(ASKING, &Tool::Tidegate.path()?)?;
    command.args(["loadtest", &format!("http://127.0.0.1:{port}/limited")]);
    command.args(["--shape", "one-key-flood", "--key-header", FIELD, "--threads", "1"]);
    command.args(["--users", &USERS.to_string(), "--skew", "0"]);
    command.args(["--rate", &format!("{:.0}", capacity * USERS_PART)]);
    command.args(["--flood-rate", &format!("{:.0}", capacity * FLOOD_PART)]);
    command.args(["--duration", &format!("{seconds}s"), "--json", "-", "--quiet"]);
    let output = command.output().context("starting tidegate loadtest")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "tidegate loadtest ended with {}: {said}", output.status);
    read(&serde_json::from_slice(&output.stdout)?, seconds)
}

/// Takes from what the load test saw what is shown, once users were served and the flood was refused.
fn read(seen: &Value, seconds: u32) -> Result<Turn> {
    let number = |pointer: &str| {
        let value = seen.pointer(pointer).and_then(Value::as_f64);
        value.with_context(|| format!("the load test does not tell {pointer}"))
    };
    for phase in ["0", "1"] {
        for kind in ["refused", "errors"] {
            let count = number(&format!("/phases/{phase}/classes/others/{kind}"))?;
            ensure!(count == 0.0, "users: {kind} is {count} in phase {phase}");
        }
    }
    let admitted = number("/phases/1/classes/flood/admitted")?;
    let most = 100.0 * f64::from(seconds + 3);
    ensure!(admitted <= most, "{admitted} of the flood were let through, and {most} are the most");
    let all = number("/phases/1/classes/flood/requests")?;
    let limited = ["0", "1"].iter().find_map(|phase| {
        let why = seen.pointer(&format!("/phases/{phase}/generator/limited_by"))?;
        why.as_str().map(str::to_owned)
    });
    Ok(Turn {
        without: number("/phases/0/classes/others/latency_us/p99")?,
        with: number("/phases/1/classes/others/latency_us/p99")?,
        slowdown: number("/slowdown")?,
        refused: 100.0 * number("/phases/1/classes/flood/refused")? / all,
        limited,
    })
}
