//! Bytes that a key takes in the server.

use anyhow::{Result, ensure};
use tidegate_store::algorithms::{Anchor, Quota, Rate, Span};

use super::super::computed::page::Page;
use super::Bench;
use super::callers::{self, Asking};
use super::scripts::{self, Gcra, Piped};

/// The most bytes of a fixed window's key, and of a token bucket's.
const AIM: f64 = 130.0;
/// How many keys: just below a power of two, where Redis's tables are as full as they get.
const KEYS: usize = 125_000;
const DAY: Span = Span::from_secs(86_400);

/// Measures, and adds the table.
pub(super) fn measure(page: &mut Page) -> Result<()> {
    let bench = &Bench::new(KEYS)?;
    let rate = Rate::new(1, Span::from_secs(3_600))?;
    let quotas = [
        ("fixed window", Quota::fixed_window(100, DAY, Anchor::Clock)?),
        ("token bucket", Quota::token_bucket(100, rate)?),
    ];
    let mut piped = Piped::new(bench, 'm', scripts::PIPELINE)?;
    let counted = of_a_key(bench, || piped.incr_and_expire_each())?;
    let numbers = Gcra { per_micros: 3_600_000_000, most: 100, admits: true };
    let by_hand = of_a_key(bench, || piped.gcra_each(numbers))?;
    let mut rows = vec![("INCR and PEXPIRE", counted), ("GCRA script by hand", by_hand)];
    let store = bench.store()?;
    for (name, quota) in quotas {
        let asking = Asking { store: store.clone(), limit: "bench/bytes", quota, admits: true, keys: KEYS };
        // Connected, and its script loaded, before the first look.
        callers::decide(bench, &asking, 1, 1)?;
        rows.push((name, of_a_key(bench, || callers::each_once(bench, &asking))?));
    }
    page.line("### Bytes of a key");
    page.line(&format!(
        "Growth of `used_memory` by {KEYS} keys, each counted on once, its expiry included. The first two kinds have names of 20 \
         bytes, the store gives its own of 14."
    ));
    let row = |(name, bytes): &(&str, f64)| {
        [(*name).to_owned(), format!("{bytes:.1}"), format!("{:.2}", bytes / counted)]
    };
    page.table(["kept", "bytes", "of INCR and PEXPIRE"], &rows.iter().map(row).collect::<Vec<_>>());
    for (name, bytes) in rows.iter().filter(|(name, _)| ["fixed window", "token bucket"].contains(name)) {
        page.held_to(&format!("bytes of a {name}'s key"), *bytes, AIM);
    }
    Ok(())
}

/// Returns the bytes that the server has grown by for each of the bench's keys, all of which are there once they are filled in.
#[allow(clippy::cast_precision_loss, reason = "a server's memory is far below 2^52 bytes")]
pub(in super::super) fn of_a_key(bench: &Bench, fill: impl FnOnce() -> Result<()>) -> Result<f64> {
    bench.server.flush()?;
    let before = bench.server.used_memory()?;
    fill()?;
    let after = bench.server.used_memory()?;
    let keys = bench.server.keys()?;
    ensure!(
        keys == bench.keys.len(),
        "{keys} keys are there, of {}: some have expired, or others came",
        bench.keys.len()
    );
    Ok((after as f64 - before as f64) / keys as f64)
}
