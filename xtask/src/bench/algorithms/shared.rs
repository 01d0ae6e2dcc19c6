//! The same in Redis: the server's processor time for a decision, and the bytes it takes for a key.

use anyhow::Result;

use super::super::Scale;
use super::super::computed::claim::{self, Cost};
use super::super::computed::figures::{median, ratio};
use super::super::computed::page::{Page, short};
use super::super::redis::Bench;
use super::super::redis::bytes::of_a_key;
use super::super::redis::callers::{self, Asking};
use super::{Algorithm, CHARGES, all};

/// Keys that are asked: few enough that all of them soon have been asked often.
const KEYS: usize = 2_000;
/// In a turn: four for each key, more or less.
const DECISIONS: usize = 8_000;
const TURNS: u32 = 5;
const CALLERS: usize = 64;
/// Keys that are weighed, and logs with their entries: these take long to fill.
const WEIGHED: usize = 60_000;
const LOGS: usize = 6_000;

/// Measures, and adds the table.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    let algorithms = all()?;
    let cpu = cpu(scale, &algorithms)?;
    let weighing = Bench::new(if scale.quick() { WEIGHED / 10 } else { WEIGHED })?;
    let bytes = algorithms.iter().map(|it| weigh(&weighing, it, 1)).collect::<Result<Vec<f64>>>()?;
    let logs = if scale.quick() { LOGS / 10 } else { LOGS };
    let log = weigh(&Bench::new(logs)?, &algorithms[6], CHARGES)?;
    page.line("### In Redis");
    let mut rows = Vec::new();
    for ((algorithm, cpu_of), bytes) in algorithms.iter().zip(&cpu).zip(&bytes) {
        page.figure(format!("algorithms/redis/{}/cpu-us", algorithm.id), median(cpu_of));
        page.figure(format!("algorithms/redis/{}/bytes", algorithm.id), *bytes);
        let of = short(ratio(cpu_of, &cpu[0]));
        rows.push([algorithm.name.to_owned(), short(median(cpu_of)), of, short(*bytes)]);
    }
    page.figure("algorithms/redis/sliding-log/bytes-full", log);
    rows.push([format!("sliding log, {CHARGES} entries"), "–".into(), "–".into(), short(log)]);
    page.table(["algorithm", "CPU µs a decision", "ratio", "bytes a key"], &rows);
    page.line(&format!(
        "CPU: what the server takes, medians of {} turns of {DECISIONS} decisions by {CALLERS} callers on {KEYS} keys. Bytes: growth of \
         `used_memory` over {} keys, each charged once; of the log with entries {logs}.",
        scale.of(TURNS, 1),
        weighing.keys.len(),
    ));
    let costs: Vec<Cost> = algorithms
        .iter()
        .zip(cpu.iter().zip(&bytes))
        .map(|(algorithm, (cpu, &bytes))| Cost {
            name: algorithm.name,
            time: median(cpu),
            bytes: if algorithm.id == "sliding-log" { log } else { bytes },
        })
        .collect();
    page.line(&claim::judge("In Redis", &costs));
    Ok(())
}

/// Returns the server's microseconds for a decision, by algorithm and turn.
fn cpu(scale: Scale, algorithms: &[Algorithm]) -> Result<Vec<Vec<f64>>> {
    let bench = Bench::new(KEYS)?;
    let asking = algorithms.iter().map(|it| asking(&bench, it)).collect::<Result<Vec<Asking>>>()?;
    for asking in &asking {
        (0..CHARGES).try_for_each(|_| callers::each_once(&bench, asking))?;
    }
    let mut cpu = vec![Vec::new(); algorithms.len()];
    for _ in 0..scale.of(TURNS, 1) {
        for (asking, cpu) in asking.iter().zip(&mut cpu) {
            let before = bench.server.cpu_micros()?;
            callers::decide(&bench, asking, CALLERS, DECISIONS)?;
            #[allow(clippy::cast_precision_loss, reason = "a few thousand decisions")]
            cpu.push((bench.server.cpu_micros()? - before) / DECISIONS as f64);
        }
    }
    Ok(cpu)
}

/// Returns the bytes of a key that was charged so many times.
fn weigh(bench: &Bench, algorithm: &Algorithm, charges: u32) -> Result<f64> {
    let asking = asking(bench, algorithm)?;
    // Connected, and its script loaded, before the first look.
    callers::decide(bench, &asking, 1, 1)?;
    of_a_key(bench, || (0..charges).try_for_each(|_| callers::each_once(bench, &asking)))
}

fn asking(bench: &Bench, algorithm: &Algorithm) -> Result<Asking> {
    let keys = bench.keys.len();
    Ok(Asking { store: bench.store()?, limit: algorithm.id, quota: algorithm.quota, admits: true, keys })
}
