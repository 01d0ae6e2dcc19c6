//! Each algorithm beside the others, in memory and in Redis: time, processor time, bytes a key.

mod shared;

use anyhow::{Context as _, Result};
use tidegate_store::algorithms::{Anchor, Ask, Quota, Rate, Span};

use super::Scale;
use super::computed::claim;
use super::computed::figures::{median, ratio};
use super::computed::page::{Page, short};
use super::memory::grow;
use super::memory::keys::{MILLION, compose};
use super::memory::race::{self, ROUND, Runner, each};
use super::memory::sides::Tidegate;

/// Units in a window, or that a bucket holds.
const UNITS: u32 = 200;
/// How many of them are used up where a log is to have entries.
const CHARGES: u32 = 50;
/// Keys that are asked in turn: few enough that each has been asked several times.
const KEYS: u32 = 20_000;
const SETUPS: u32 = 3;
/// In a set-up; together they charge each key less than what is left of its units.
const ROUNDS: u32 = 16;
/// Keys of a log with entries, which is large.
const LOGS: u32 = 200_000;

/// An algorithm as it is measured: what its figures are called, its name, its numbers.
struct Algorithm {
    id: &'static str,
    name: &'static str,
    quota: Quota,
}

/// What is measured of one.
struct Measured {
    name: &'static str,
    /// Nanoseconds in memory, by round: of a decision that admits, and of one that refuses.
    nanos: [Vec<f64>; 2],
    /// Bytes of a key in memory.
    bytes: f64,
}

/// Returns all of them, with numbers of one size. The time is so long that nothing comes back while it is measured.
fn all() -> Result<Vec<Algorithm>> {
    let month = Span::from_secs(30 * 86_400);
    let units = u64::from(UNITS);
    let rate = Rate::new(units, month)?;
    let [clock, first] = [Anchor::Clock, Anchor::FirstHit];
    let algorithms = [
        ("fixed-window", "fixed window", Quota::fixed_window(units, month, clock)?),
        ("fixed-window-first", "fixed window from the first hit", Quota::fixed_window(units, month, first)?),
        ("sliding-counter", "sliding counter", Quota::sliding_counter(units, month)?),
        ("token-bucket", "token bucket", Quota::token_bucket(units, rate)?),
        ("leaky-bucket", "leaky bucket", Quota::leaky_bucket(rate, units)?),
        ("lockout", "lockout", Quota::lockout(units, month, month)?),
        ("sliding-log", "sliding log", Quota::sliding_log(units, month)?),
    ];
    Ok(algorithms.into_iter().map(|(id, name, quota)| Algorithm { id, name, quota }).collect())
}

/// Returns the quota that goes by that id where bytes are weighed, and how often each key is to be charged: `sliding-log` or,
/// charged several times, `sliding-log*50`.
pub(super) fn weighed(id: &str) -> Result<(Quota, u32)> {
    let (id, charges) = id.split_once('*').map_or((id, Ok(1)), |(id, charges)| (id, charges.parse()));
    let found = all()?.into_iter().find(|algorithm| algorithm.id == id);
    Ok((found.with_context(|| format!("no algorithm {id}"))?.quota, charges?))
}

/// Measures, and adds the tables.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    page.line(&format!(
        "All with the same numbers, {UNITS} in thirty days. Of the keys that are asked, {CHARGES} and more have been used up: a log \
         then has as many entries. Ratios are to the fixed window by the clock."
    ));
    let measured = in_memory(scale)?;
    page.line("### In memory");
    let mut rows = Vec::new();
    let base = &measured[0];
    for (one, algorithm) in measured.iter().zip(all()?) {
        let [admits, refuses] = [0, 1].map(|place: usize| median(&one.nanos[place]));
        let id = algorithm.id;
        page.figure(format!("algorithms/memory/{id}/ns"), admits);
        page.figure(format!("algorithms/memory/{id}/refused-ns"), refuses);
        page.figure(format!("algorithms/memory/{id}/bytes"), one.bytes);
        rows.push([
            one.name.to_owned(),
            short(admits),
            short(ratio(&one.nanos[0], &base.nanos[0])),
            short(refuses),
            short(one.bytes),
        ]);
    }
    let logs = if scale.quick() { LOGS / 10 } else { LOGS };
    let log = grow::of_a_key(&format!("sliding-log*{CHARGES}"), logs)?;
    page.figure("algorithms/memory/sliding-log/bytes-full", log);
    rows.push([format!("sliding log, {CHARGES} entries"), "–".into(), "–".into(), "–".into(), short(log)]);
    page.table(["algorithm", "ns, admitted", "ratio", "ns, one key, refused", "bytes a key"], &rows);
    page.line(&format!(
        "Time: medians of {} rounds of {ROUND} decisions in turn, over {KEYS} keys, or one key that is used up. Bytes: a million \
         keys, each charged once; of the log with entries {logs}.",
        scale.of(ROUNDS * SETUPS, 3)
    ));
    page.line(&claim::judge("In memory", &claimed(&measured, log)));
    shared::measure(scale, page)
}

/// Returns time and bytes by name, of the log with its entries.
fn claimed(measured: &[Measured], log: f64) -> Vec<claim::Cost> {
    let cost = |one: &Measured| claim::Cost {
        name: one.name,
        time: median(&one.nanos[0]),
        bytes: if one.name == "sliding log" { log } else { one.bytes },
    };
    measured.iter().map(cost).collect()
}

fn in_memory(scale: Scale) -> Result<Vec<Measured>> {
    let algorithms = all()?;
    let mut measured: Vec<Measured> = Vec::new();
    for algorithm in &algorithms {
        let keys = if scale.quick() { MILLION / 10 } else { MILLION };
        let bytes = grow::of_a_key(algorithm.id, keys)?;
        measured.push(Measured { name: algorithm.name, nanos: [Vec::new(), Vec::new()], bytes });
    }
    for _ in 0..scale.of(SETUPS, 1) {
        let stores = algorithms.iter().map(|it| Tidegate::of(it.quota)).collect::<Result<Vec<_>>>()?;
        let mut admit: Vec<Runner<'_>> = Vec::new();
        let mut refuse: Vec<Runner<'_>> = Vec::new();
        for (store, algorithm) in stores.iter().zip(&algorithms) {
            let mut key = String::new();
            for number in 0..KEYS * CHARGES {
                compose(&mut key, number % KEYS);
                store.ask_for(&key, Ask::ONE);
            }
            compose(&mut key, KEYS);
            // A lockout is locked by one more than it admits, and a leaky bucket has one under way.
            (0..=UNITS).for_each(|_| _ = store.ask_for(&key, Ask::ONE));
            admit.push(Runner::new(algorithm.name, move |round, _| ask(store, round, false)));
            refuse.push(Runner::new(algorithm.name, move |round, _| ask(store, round, true)));
        }
        race::alone(scale.of(ROUNDS, 3), &mut admit, true)?;
        race::alone(scale.of(ROUNDS, 3), &mut refuse, false)?;
        for (one, (admit, refuse)) in measured.iter_mut().zip(admit.iter().zip(&refuse)) {
            one.nanos[0].extend_from_slice(admit.times());
            one.nanos[1].extend_from_slice(refuse.times());
        }
    }
    Ok(measured)
}

/// Makes a round: asks for all keys in turn, in an order in which no two that follow each other lie side by side, or for the one
/// that is used up.
fn ask(store: &Tidegate, round: u32, used_up: bool) -> u32 {
    let mut key = String::with_capacity(64);
    each(|at| {
        let place = u64::from(round * ROUND + at) * 7_919 % u64::from(KEYS);
        compose(&mut key, if used_up { KEYS } else { u32::try_from(place).unwrap_or(0) });
        store.ask_for(&key, Ask::ONE)
    })
}
