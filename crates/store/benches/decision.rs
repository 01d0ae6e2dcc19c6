//! What a decision costs and a key takes, beside `governor` in the same run.
//!
//! Run with `cargo bench -p tidegate-store`. How to read the table:
//! - *ns* is the time of one decision on one thread, the clock read included on both sides: the least of many short
//!   rounds that take turns, so that what else the machine does falls on both alike. Look at the ratio; nanoseconds do
//!   not carry over to another machine.
//! - Keys are text of 29 bytes, composed into a reused buffer on each call. (A list of ready keys would add its own
//!   cache misses to both, and hide the stores'.) `compose` is that alone; it is part of every other figure.
//! - `governor` is keyed by `String` on its default store; it is asked with a `&String`, so it does not allocate either.
//!   "random keys" are a million known ones; "new keys" are asked for the first time.
//! - Both clocks read the processor's counter; the memory store holds it to the boot clock, which goes on while the machine
//!   sleeps.
//! - *bytes* is what the process grew by for a million keys (resident pages before and after, in a process of its
//!   own), over the number of keys. A growing table lies between its fullest and its emptiest: see the range.
//!
//! Both sides limit to more than is asked, so all is admitted; refusing costs about the same.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails by panicking")]

use std::hint::black_box;
use std::num::NonZeroU32;
use std::process::Command;
use std::time::{Duration, Instant};

use governor::clock::Clock as _;
use governor::{DefaultKeyedRateLimiter, RateLimiter};
use tidegate_store::algorithms::{Anchor, Ask, Calendar, Quota, Rate, Span};
use tidegate_store::{Check, LimitId, MemoryOptions, MemoryStore, Store};

/// Keys of the large run.
const KEYS: u32 = 1_000_000;
/// Decisions in one round: some milliseconds.
const ROUND: u32 = 50_000;
/// Rounds a variant.
const ROUNDS: u32 = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, side, keys] = &arguments[..]
        && flag == "--grow"
    {
        println!("{}", grow(side, keys.parse().unwrap()));
        return;
    }
    println!("{:<44} {:>9} {:>9} {:>7}", "one thread, ns a decision", "tidegate", "governor", "ratio");
    hot_keys();
    many_keys();
    other_algorithms();
    println!();
    println!("{:<44} {:>9} {:>9} {:>7}", "bytes a key, token bucket", "tidegate", "governor", "ratio");
    for keys in [600_000, 800_000, KEYS, 1_200_000] {
        let [ours, theirs] = ["tidegate", "governor"].map(|side| bytes_a_key(side, keys));
        println!("{:<44} {ours:>9.1} {theirs:>9.1} {:>7.2}", format!("{keys} keys"), ours / theirs);
    }
}

// === timing ===

/// Takes turns between variants and returns each one's least time per decision in nanoseconds.
fn race(rounds: u32, variants: &mut [&mut dyn FnMut(u32)]) -> Vec<f64> {
    let mut least = vec![Duration::MAX; variants.len()];
    for round in 0..rounds {
        for (variant, least) in variants.iter_mut().zip(&mut least) {
            let start = Instant::now();
            variant(round);
            *least = start.elapsed().min(*least);
        }
    }
    least.iter().map(|time| time.as_secs_f64() * 1e9 / f64::from(ROUND)).collect()
}

fn row(name: &str, ours: f64, theirs: f64) {
    println!("{name:<44} {ours:>9.1} {theirs:>9.1} {:>7.2}", ours / theirs);
}

/// Scatters the numbers of one round over all keys, the same way on both sides.
fn scattered(round: u32, at: u32) -> u32 {
    let mixed = u64::from(round * ROUND + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from(((mixed >> 32) * u64::from(KEYS)) >> 32).unwrap()
}

fn compose(key: &mut String, number: u32) {
    key.clear();
    key.push_str("2001:db8:");
    for shift in [28, 24, 20, 16, 12, 8, 4, 0] {
        key.push(char::from(b"0123456789abcdef"[usize::try_from(number >> shift & 15).unwrap()]));
    }
    key.push_str("|/otp/verify");
}

fn hot_keys() {
    let ours = Ours::new();
    let theirs = Theirs::new();
    let times = race(
        ROUNDS,
        &mut [
            &mut |_| each(|key, _| ours.ask(key, 1)),
            &mut |_| each(|key, _| theirs.ask(key, 1)),
            &mut |_| each(|key, _| compose(key, 1)),
            &mut |_| each(|key, _| ours.ask_batch(key, 1)),
            &mut |_| each(|key, _| (0..3).for_each(|limit| theirs.ask_of(limit, key, 1))),
            &mut |_| each(|_, _| _ = black_box(ours.store.now())),
            &mut |_| each(|_, _| _ = black_box(theirs.0[0].clock().now())),
        ],
    );
    row("one hot key", times[0], times[1]);
    row("three limits on it (governor: one by one)", times[3], times[4]);
    println!("{:<44} {:>9.1} {:>9.1}", "  of which compose the key", times[2], times[2]);
    row("  of which read the clock", times[5], times[6]);
}

fn many_keys() {
    let ours = Ours::new();
    let theirs = Theirs::new();
    let rounds = KEYS / ROUND;
    let new = race(
        rounds,
        &mut [&mut |round| each(|key, at| ours.ask(key, round * ROUND + at)), &mut |round| {
            each(|key, at| theirs.ask(key, round * ROUND + at));
        }],
    );
    let known = race(
        ROUNDS,
        &mut [&mut |round| each(|key, at| ours.ask(key, scattered(round, at))), &mut |round| {
            each(|key, at| theirs.ask(key, scattered(round, at)));
        }],
    );
    row("a million random keys", known[0], known[1]);
    row("new keys, up to a million", new[0], new[1]);
}

fn other_algorithms() {
    let hour = Span::from_secs(3_600);
    let units = 1 << 30;
    let quotas = [
        ("fixed window, one hot key", Quota::fixed_window(units, hour, Anchor::Clock)),
        ("sliding counter, one hot key", Quota::sliding_counter(units, hour)),
        (
            "leaky bucket, one hot key",
            Quota::leaky_bucket(Rate::new(units, Span::from_secs(1)).unwrap(), units),
        ),
        ("sliding log that refuses, one hot key", Quota::sliding_log(100, hour)),
        ("calendar window, one hot key", Quota::calendar_window(units, Calendar::Month)),
        ("lockout, one hot key", Quota::lockout(units, hour, hour)),
    ];
    for (name, quota) in quotas {
        let ours = Ours { quota: quota.unwrap(), ..Ours::new() };
        let times = race(ROUNDS, &mut [&mut |_| each(|key, _| ours.ask(key, 1))]);
        println!("{name:<44} {:>9.1}", times[0]);
    }
}

/// Runs one round.
fn each(mut ask: impl FnMut(&mut String, u32)) {
    let mut key = String::with_capacity(64);
    for at in 0..ROUND {
        ask(&mut key, at);
        black_box(&key);
    }
}

// === the two sides ===

struct Ours {
    store: MemoryStore,
    limits: [LimitId; 3],
    quota: Quota,
}

impl Ours {
    fn new() -> Self {
        let options = MemoryOptions { max_keys: 8_000_000, max_bytes: 1 << 30 };
        let store = MemoryStore::with_secret(options, [42; 16]);
        let limits = ["one", "two", "three"].map(|name| store.limit(name));
        let rate = Rate::new(1, Span::from_secs(3_600)).unwrap();
        Self { store, limits, quota: Quota::token_bucket(1 << 30, rate).unwrap() }
    }

    /// Returns the store as users hold it: without knowing which it is.
    fn store(&self) -> &dyn Store {
        black_box(&self.store)
    }

    fn check<'a>(&'a self, limit: usize, key: &'a str) -> Check<'a> {
        Check {
            limit: self.limits[limit],
            key: key.as_bytes(),
            quota: &self.quota,
            ask: Ask::ONE,
            shadow: false,
        }
    }

    fn ask(&self, key: &mut String, number: u32) {
        compose(key, number);
        let decided = self.store().decide(&[self.check(0, key)], None).now().unwrap().unwrap();
        black_box(decided.admitted);
    }

    fn ask_batch(&self, key: &mut String, number: u32) {
        compose(key, number);
        let checks = [self.check(0, key), self.check(1, key), self.check(2, key)];
        black_box(self.store().decide(&checks, None).now().unwrap().unwrap().admitted);
    }
}

struct Theirs([DefaultKeyedRateLimiter<String>; 3]);

impl Theirs {
    fn new() -> Self {
        let most = NonZeroU32::new(1_000_000_000).unwrap();
        Self([(); 3].map(|()| RateLimiter::keyed(governor::Quota::per_second(most))))
    }

    fn ask(&self, key: &mut String, number: u32) {
        self.ask_of(0, key, number);
    }

    fn ask_of(&self, limit: usize, key: &mut String, number: u32) {
        if limit == 0 {
            compose(key, number);
        }
        black_box(self.0[limit].check_key(key).is_ok());
    }
}

// === memory ===

/// Runs this program once more to fill one side, and returns the bytes a key.
fn bytes_a_key(side: &str, keys: u32) -> f64 {
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this).args(["--grow", side, &keys.to_string()]).output().unwrap();
    let grown: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    grown / f64::from(keys)
}

/// Fills one side with keys and returns the bytes the process grew by.
fn grow(side: &str, keys: u32) -> u64 {
    let mut key = String::with_capacity(64);
    let (ours, theirs) = (Ours::new(), Theirs::new());
    let before = resident();
    for number in 0..keys {
        match side {
            "tidegate" => ours.ask(&mut key, number),
            _ => theirs.ask(&mut key, number),
        }
    }
    resident() - before
}

/// Returns the bytes of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}
