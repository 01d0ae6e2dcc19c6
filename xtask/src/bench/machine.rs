//! What was measured on, and which versions of everything.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::computed::told::version_in;
use super::tools::{THROTTLECRAB, Tool};

/// The machine, and the versions of what runs on it.
#[derive(Debug)]
pub(super) struct Machine {
    /// The day, as in 2026-11-30.
    pub(super) date: String,
    /// The commit of this repository, and whether files differ from it.
    pub(super) commit: String,
    /// Names and what they are, in the order in which they are shown.
    pub(super) facts: Vec<(&'static str, String)>,
    /// How much of the processors others took before anything was measured, of a hundred.
    pub(super) busy: f64,
}

/// From here on, others take so much that the figures are no more than a rehearsal.
pub(super) const BUSY: f64 = 10.0;

impl Machine {
    /// Looks at everything.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(super) fn look() -> Result<Self> {
        let locked = fs::read_to_string("Cargo.lock")?;
        let of = |name| version_in(&locked, name).unwrap_or_else(|| "unknown".to_owned());
        let facts = vec![
            ("processor", processor()?),
            ("memory", memory()?),
            ("system", format!("{}, Linux {}", distribution(), read("/proc/sys/kernel/osrelease")?)),
            ("Rust", first_line("rustc", &["--version"])),
            ("`governor`", of("governor")),
            ("`throttlecrab`, throttlecrab-server", format!("{}, {THROTTLECRAB}", of("throttlecrab"))),
            ("`ratelimit`", of("ratelimit")),
            ("Redis", told(Tool::Redis, "--version", "v=")),
            ("nginx", told(Tool::Nginx, "-v", "nginx/")),
            ("wrk", told(Tool::Wrk, "-v", "wrk ")),
        ];
        Ok(Self { date: first_line("date", &["-u", "+%F"]), commit: commit(), facts, busy: busy()? })
    }
}

fn processor() -> Result<String> {
    let told = fs::read_to_string("/proc/cpuinfo")?;
    let named = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = named.map_or("a processor without a name", |(_, name)| name.trim());
    Ok(format!("{name}, {} of its threads", std::thread::available_parallelism()?))
}

fn memory() -> Result<String> {
    let told = fs::read_to_string("/proc/meminfo")?;
    let line =
        told.lines().find_map(|line| line.strip_prefix("MemTotal:")).context("MemTotal is not told")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(format!("{} GiB", kib.div_ceil(1 << 20)))
}

fn distribution() -> String {
    let told = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("a Linux").trim_matches('"').to_owned()
}

fn read(path: &str) -> Result<String> {
    Ok(fs::read_to_string(path).with_context(|| path.to_owned())?.trim().to_owned())
}

/// Returns the commit, with a word when what was built is not what it says. The page itself is what a run writes.
fn commit() -> String {
    let commit = first_line("git", &["rev-parse", "--short=12", "HEAD"]);
    let changed = first_line("git", &["status", "--porcelain", "--", ".", ":!docs/benchmarks.md"]);
    if changed.is_empty() { commit } else { format!("{commit} with changes") }
}

/// Returns the first line that a program prints, empty where it prints nothing or is not there.
fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// Returns the word after `mark` in what a program says of itself, on whichever stream.
fn told(tool: Tool, flag: &str, mark: &str) -> String {
    let output = tool.find().and_then(|path| Command::new(path).arg(flag).output().ok());
    let Some(output) = output else { return "not there".to_owned() };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let word = said.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next());
    word.unwrap_or("unknown").to_owned()
}

/// Looks for a second how much of the processors is in use, while this program sleeps.
fn busy() -> Result<f64> {
    let before = ticks()?;
    std::thread::sleep(Duration::from_secs(1));
    let after = ticks()?;
    let all = after.0.saturating_sub(before.0);
    let idle = after.1.saturating_sub(before.1);
    #[allow(clippy::cast_precision_loss, reason = "ticks of a second")]
    Ok(100.0 * all.saturating_sub(idle) as f64 / all.max(1) as f64)
}

/// Returns all the processors' ticks so far, and those in which they had nothing to do.
fn ticks() -> Result<(u64, u64)> {
    let told = fs::read_to_string("/proc/stat")?;
    let first = told.lines().next().unwrap_or_default();
    let numbers: Vec<u64> = first.split_whitespace().skip(1).filter_map(|it| it.parse().ok()).collect();
    let idle = numbers.iter().skip(3).take(2).sum();
    // The last two, of guests, are within the first two.
    Ok((numbers.iter().take(8).sum(), idle))
}
