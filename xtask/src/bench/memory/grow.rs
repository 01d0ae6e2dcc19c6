//! Bytes that a key takes: what a process grew by, in a process of its own, over the number of keys.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tidegate_store::algorithms::Ask;

use super::super::Scale;
use super::super::computed::page::{Page, short};
use super::keys::{MILLION, compose};
use super::sides::{Governor, Limit, Side, Throttlecrab, Tidegate};
use crate::bench::algorithms;

/// The argument by which this program fills one side and says what it grew by.
pub(in super::super) const FLAG: &str = "--grow";
/// A growing table lies between its fullest and its emptiest, so several sizes are weighed; the aim speaks of a million.
const SIZES: [u32; 4] = [600_000, 800_000, MILLION, 1_200_000];
const SIDES: [&str; 3] = ["tidegate", "governor", "throttlecrab"];

/// Measures, and adds the table.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    page.line("### Bytes a key takes");
    let sizes = if scale.quick() { &SIZES[2..3] } else { &SIZES[..] };
    let mut rows = Vec::new();
    for &keys in sizes {
        let mut bytes = [0.0; 3];
        for (bytes, side) in bytes.iter_mut().zip(SIDES) {
            *bytes = of_a_key(side, keys)?;
        }
        let [ours, governor, throttlecrab] = bytes;
        if keys == MILLION {
            page.figure("memory/bytes/tidegate", ours);
            page.figure("memory/bytes/governor", governor);
            page.figure("memory/bytes/of-governor", ours / governor);
        }
        rows.push([
            format!("{} keys", short(f64::from(keys))),
            short(ours),
            short(governor),
            short(throttlecrab),
            short(ours / governor),
        ]);
    }
    page.table(["token bucket", "tidegate", "governor", "throttlecrab", "tidegate / governor"], &rows);
    page.line("What the process grew by (resident pages), the keys' own text and all spare room of the tables included.");
    Ok(())
}

/// Runs this program once more to fill one side, and returns the bytes a key.
pub(in super::super) fn of_a_key(side: &str, keys: u32) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", FLAG, side, &keys.to_string()]);
    let output = command.output().context("starting this program once more")?;
    ensure!(output.status.success(), "filling {side}: {}", String::from_utf8_lossy(&output.stderr));
    let grown: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(grown / f64::from(keys))
}

/// Fills one side with keys, each asked for once or as often as its algorithm's table says, and returns the bytes that the
/// process grew by.
pub(in super::super) fn fill(side: &str, keys: u32) -> Result<u64> {
    match side {
        "tidegate" => filled(&Tidegate::new(Limit::Admits)?, keys),
        "governor" => filled(&Governor::new(Limit::Admits)?, keys),
        "throttlecrab" => filled(&Throttlecrab::new(Limit::Admits), keys),
        _ => {
            let (quota, charges) = algorithms::weighed(side)?;
            let ours = Tidegate::of(quota)?;
            grown(keys, charges, |key| ours.ask_for(key, Ask::ONE))
        }
    }
}

fn filled(side: &impl Side, keys: u32) -> Result<u64> {
    grown(keys, 1, |key| side.ask(key))
}

fn grown(keys: u32, charges: u32, ask: impl Fn(&String) -> bool) -> Result<u64> {
    let mut key = String::with_capacity(64);
    let before = resident()?;
    for number in (0..charges).flat_map(|_| 0..keys) {
        compose(&mut key, number);
        ensure!(ask(&key), "key {number} was refused");
    }
    Ok(resident()?.saturating_sub(before))
}

/// Returns the bytes of this process that are in memory.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS is not told")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1_024)
}
