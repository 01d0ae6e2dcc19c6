//! What a snapshot of a million keys costs, and for how long it keeps others waiting.
//!
//! Run with `cargo bench -p tidegate-store --bench snapshot`. *pause* is the longest time one lock was held in ten snapshots; *slowest* is
//! the slowest of all decisions another thread made while the snapshots were taken, scheduling included, beside the
//! slowest of as long a time without any.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_store::algorithms::{Ask, Quota, Rate, Span};
use tidegate_store::{Check, MemoryOptions, MemoryStore, Snapshot, Store};

const KEYS: u32 = 1_000_000;
const ROUNDS: usize = 10;
const OPTIONS: MemoryOptions = MemoryOptions { max_keys: 2_000_000, max_bytes: 1 << 30 };

fn main() {
    let day = Span::from_secs(86_400);
    let bucket = Quota::token_bucket(100, Rate::new(1, day).unwrap()).unwrap();
    let log = Quota::sliding_log(100, day).unwrap();
    println!(
        "{:<14} {:>9} {:>9} {:>9} {:>11} {:>11} {:>9}",
        "a million keys", "bytes", "ms", "pause ms", "slowest ms", "without ms", "back ms"
    );
    for (name, quota, charges) in [("token_bucket", bucket, 1), ("sliding_log", log, 4)] {
        row(name, &quota, charges);
    }
}

fn row(name: &str, quota: &Quota, charges: u32) {
    let store = MemoryStore::new(OPTIONS).unwrap();
    for _ in 0..charges {
        (0..KEYS).for_each(|key| charge(&store, quota, key));
    }
    let mut times = Vec::new();
    let (slowest, snapshots) = beside(&store, quota, || {
        let began = Instant::now();
        let snapshot = store.snapshot();
        times.push(began.elapsed());
        snapshot
    });
    let least = times.iter().min().copied().unwrap_or_default();
    let (without, _) = beside(&store, quota, || thread::sleep(least));
    let pause = snapshots.iter().map(Snapshot::longest_pause).max().unwrap_or_default();
    let bytes = snapshots[0].as_bytes();
    let began = Instant::now();
    let (_, seen) = MemoryStore::restore(OPTIONS, bytes, None).unwrap();
    let back = began.elapsed();
    assert_eq!(seen.kept, usize::try_from(KEYS).unwrap());
    let [least, pause, slowest, without, back] = [least, pause, slowest, without, back].map(millis);
    let bytes = bytes.len();
    println!("{name:<14} {bytes:>9} {least:>9.1} {pause:>9.3} {slowest:>11.3} {without:>11.3} {back:>9.1}");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn charge(store: &MemoryStore, quota: &Quota, key: u32) {
    let limit = store.limit("one");
    let checks = [Check { limit, key: &key.to_be_bytes(), quota, ask: Ask::ONE, shadow: false }];
    assert!(store.decide(&checks, None).now().unwrap().is_ok());
}

/// Does something while another thread decides without a pause, and returns that one's slowest decision.
fn beside<T>(store: &MemoryStore, quota: &Quota, mut work: impl FnMut() -> T) -> (Duration, Vec<T>) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let decider = scope.spawn(|| {
            let (mut key, mut slowest) = (0_u32, Duration::ZERO);
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                charge(store, quota, key % KEYS);
                slowest = slowest.max(began.elapsed());
                key = key.wrapping_add(7_919);
            }
            slowest
        });
        let done = (0..ROUNDS).map(|_| work()).collect();
        stop.store(true, Ordering::Relaxed);
        (decider.join().unwrap(), done)
    })
}
