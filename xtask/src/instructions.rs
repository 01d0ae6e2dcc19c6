//! `cargo xtask instructions`: how many instructions the hot ways take, each held against a budget.
//!
//! The ways and their budgets stand in the benchmark `instructions` of the crate `tidegate-tower`, which has all below it; this
//! builds it, runs each of its ways under valgrind's callgrind, and reads what that counted.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::Message;

/// How often each way is passed: what comes once in a while counts as well.
const TIMES: u64 = 2_000;

/// Counts every way, and returns the table with whether all are within their budgets.
///
/// # Errors
/// When the benchmark cannot be built, or valgrind is missing or fails.
pub(crate) fn run() -> Result<(String, bool)> {
    let program = build()?;
    let folder = program.with_file_name("instructions.counts");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut table = format!("{:<42} {:>9} {:>9}\n", "instructions a passage", "counted", "at most");
    let mut within = true;
    for (number, way) in ways(&program)?.iter().enumerate() {
        let counted = count(&program, &way.name, &folder.join(format!("{number}.out")))?;
        let over = counted > way.budget;
        within &= !over;
        let remark = if over { "  OVER" } else { "" };
        let _ = writeln!(table, "{:<42} {counted:>9} {:>9}{remark}", way.name, way.budget);
    }
    Ok((table, within))
}

/// Builds the benchmark, optimised, and returns where it is.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let bench = ["bench", "--package", "tidegate-tower", "--bench", "instructions", "--no-run"];
    let built = Command::new(cargo)
        .args(bench)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(built.status.success(), "the benchmark does not build");
    for message in Message::parse_stream(&built.stdout[..]) {
        if let Message::CompilerArtifact(artifact) = message.context("reading what cargo built")?
            && artifact.target.name == "instructions"
            && let Some(program) = artifact.executable
        {
            return Ok(program.into());
        }
    }
    bail!("cargo built no program of that name")
}

struct Way {
    name: String,
    budget: u64,
}

/// Asks the benchmark for its ways.
fn ways(program: &Path) -> Result<Vec<Way>> {
    let listed = Command::new(program).arg("--list").output().context("asking the benchmark for its ways")?;
    ensure!(listed.status.success(), "its list: {}", String::from_utf8_lossy(&listed.stderr));
    listed_ways(&String::from_utf8(listed.stdout).context("its list")?)
}

/// Reads the list. One without ways is none: whatever they took would be within their budgets.
fn listed_ways(list: &str) -> Result<Vec<Way>> {
    ensure!(!list.is_empty(), "the benchmark lists no ways");
    list.lines().map(|line| way(line).with_context(|| format!("its line {line:?}"))).collect()
}

fn way(line: &str) -> Result<Way> {
    let (budget, name) = line.split_once('\t').context("a budget and a name are wanted")?;
    Ok(Way { name: name.to_owned(), budget: budget.parse().context("the budget")? })
}

/// Runs a way under callgrind and returns the instructions of one passage, rounded up.
fn count(program: &Path, way: &str, file: &Path) -> Result<u64> {
    let mut out = OsString::from("--callgrind-out-file=");
    out.push(file);
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*::counted*"])
        .arg(out)
        .arg(program)
        .args([way, &TIMES.to_string()])
        .output()
        .context("starting valgrind: `apt-get install valgrind` brings it")?;
    ensure!(ran.status.success(), "{way}: {}", String::from_utf8_lossy(&ran.stderr));
    let written = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let counted = total(&written).with_context(|| format!("reading {}", file.display()))?;
    ensure!(counted > 0, "{way}: nothing was counted; has its function another name now?");
    Ok(counted.div_ceil(TIMES))
}

/// Reads how many instructions callgrind counted in all.
fn total(written: &str) -> Result<u64> {
    let totals = written.lines().find_map(|line| line.strip_prefix("totals: ")).context("no totals")?;
    totals.trim().parse().context("its totals")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_callgrind_counted_is_read_from_its_totals() {
        assert_eq!(total("events: Ir\nfn=(1) counted\n1 20\ntotals: 123456\n").unwrap(), 123_456);
        assert!(total("events: Ir\n").is_err());
    }

    #[test]
    fn a_way_is_a_budget_and_a_name() {
        let way = way("1200\tstore: one, hot").unwrap();
        assert_eq!((way.budget, way.name.as_str()), (1_200, "store: one, hot"));
    }

    #[test]
    fn a_line_that_is_no_way_is_an_error() {
        assert!(way("store").is_err());
        assert!(listed_ways("1200\tstore\nstore\n").is_err());
    }

    /// Guards against budgets that hold since nothing is held to them.
    #[test]
    fn a_list_without_ways_is_an_error() {
        assert!(listed_ways("").is_err());
        assert_eq!(listed_ways("1200\tstore\n").unwrap().len(), 1);
    }
}
