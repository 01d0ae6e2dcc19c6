//! `tidegate bound`: the figures of one limit.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{run, text};

const SEED: &str = "token_bucket: {capacity: 4, refill: 1 per 10s}";

/// Runs the command and reads its JSON.
fn json(args: &[&str]) -> serde_json::Value {
    let output = run([&["bound"], args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns what the command says of arguments it cannot use.
fn refused(args: &[&str]) -> String {
    let output = run([&["bound"], args].concat());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{output:?}");
    text(&output.stderr).to_owned()
}

/// Returns a number of seconds in days.
fn days(seconds: &serde_json::Value) -> f64 {
    seconds.as_f64().unwrap() / 86_400.0
}

/// Guards the members that scripts read, and their figures for the limit of the documents this project began with.
#[test]
fn the_json_has_the_members_it_says_and_no_others() {
    let told = json(&[SEED, "--span", "30s", "--horizon", "10m", "--digits", "6", "--valid", "3"]);
    let members: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(members, ["half_open", "closed", "from_idle", "long_run_per_second", "guess"]);
    let guess: Vec<&String> = told["guess"].as_object().unwrap().keys().collect();
    assert_eq!(guess, ["mean_s", "p50_s", "p95_s", "chance_day", "chance_year"]);
    assert_eq!([&told["half_open"], &told["closed"], &told["from_idle"]], [6, 7, 64]);
    assert_eq!(told["long_run_per_second"], "1/10");
    assert!((days(&told["guess"]["mean_s"]) - 38.58).abs() < 0.005, "{told}");
    assert!((days(&told["guess"]["p95_s"]) - 115.6).abs() < 0.05, "{told}");
    assert!((told["guess"]["chance_day"].as_f64().unwrap() - 0.0256).abs() < 0.000_05, "{told}");
}

#[test]
fn five_per_thirty_seconds_is_23_days_by_each_algorithm_that_lets_five_through() {
    for (algorithm, half_open) in [("fixed_window", 10), ("sliding_counter", 10), ("sliding_log", 5)] {
        let told = json(&[&format!("{algorithm}: {{limit: 5, window: 30s}}")]);
        assert_eq!((&told["half_open"], &told["closed"]), (&half_open.into(), &10.into()), "{algorithm}");
        assert_eq!(told["long_run_per_second"], "1/6");
        assert!((days(&told["guess"]["mean_s"]) - 23.15).abs() < 0.005, "{algorithm}: {told}");
    }
}

/// `check` and the threat model tell the same cost: two figures for one thing are one too many.
#[test]
fn what_a_denial_costs_is_told_of_half_open_days_as_everywhere() {
    for (limit, requests) in [
        ("sliding_log: {limit: 27, window: 24h}", "27"),
        ("fixed_window: {limit: 5, window: 15m}", "480"),
        ("lockout: {attempts: 10, within: 30m, lock: 30m}", "480"),
        (SEED, "8,643"),
    ] {
        let output = run(["bound", limit]);
        let told =
            text(&output.stdout).lines().find(|line| line.contains("keep a key refused a day")).unwrap();
        assert!(told.ends_with(&format!("   {requests} requests")), "{limit}: {told}");
    }
}

/// Guards against counts that only fit in JSON readers, and a mean that takes minutes to sum.
#[test]
fn the_widest_limits_have_figures_too() {
    let widest = "leaky_bucket: {rate: 1073741824 per 1ms, queue: 1073741824}";
    let widest = run(["bound", widest, "--horizon", "36500d", "--json"]);
    // The queue and the one that is served, and 2^30 in each of a hundred years' milliseconds.
    let from_idle = (1_u128 << 30) * 3_153_600_000_000 + (1 << 30) + 1;
    assert!(text(&widest.stdout).contains(&format!("\"from_idle\":{from_idle},")), "{widest:?}");
    let slowest = json(&["sliding_log: {limit: 1, window: 400d}", "--digits", "18", "--valid", "1"]);
    assert!(slowest["guess"]["mean_s"].as_f64().unwrap() > 1e25, "{slowest}");
    let nothing = json(&["sliding_log: {limit: 0, window: 1d}"]);
    assert_eq!(nothing["guess"]["mean_s"], serde_json::Value::Null);
    assert_eq!(
        (&nothing["long_run_per_second"], &nothing["guess"]["chance_year"]),
        (&"0".into(), &0.0.into())
    );
}

#[test]
fn a_limit_that_cannot_be_read_is_told_with_its_place_and_the_remedy() {
    assert_eq!(
        refused(&["token_bucket: {capacity: 0, refill: 1 per 10s}"]),
        "error: LIMIT:1:26: token_bucket: capacity 0 is out of range; the nearest possible is 1\n"
    );
    assert!(refused(&["five a minute"]).starts_with("error: LIMIT:1:1: the limit has to be a mapping"));
    assert!(refused(&[SEED, "--span", "30"]).contains("it has no unit; did you mean 30s?"));
    assert!(refused(&[SEED, "--horizon", "0s"]).contains("write a time from 1ms to 36500d"));
    assert!(refused(&[SEED, "--target-year", "1"]).contains("write a percentage above 0%"));
    assert!(refused(&[SEED, "--digits", "0"]).contains("write --digits and --valid such as"));
    assert!(refused(&[SEED, "--digits", "1", "--valid", "11"]).contains("from 1 to 10 codes"));
}

/// Guards the answer the other way round: the limits it names have to keep what was asked for.
#[test]
fn the_limits_it_advises_keep_the_target() {
    let limits = [
        SEED,
        "fixed_window: {limit: 5, window: 30s, anchor: first_hit}",
        "fixed_window: {limit: 100, window: week, anchor: calendar}",
        "sliding_counter: {limit: 100, window: 1m}",
        "leaky_bucket: {rate: 5 per 1s, queue: 10}",
        "lockout: {attempts: 10, within: 30m, lock: 1h}",
        "sliding_log: {limit: 10, window: 24h}",
    ];
    for limit in limits {
        let target = &json(&[limit, "--target-year", "1%"])["target"];
        assert_eq!(target["kept"], false, "{limit}");
        let advised = target["limits"].as_array().unwrap();
        assert!(!advised.is_empty(), "{limit}");
        for advised in advised.iter().map(|limit| limit.as_str().unwrap()) {
            let told = json(&[advised, "--target-year", "1%"]);
            assert_eq!(told["target"]["kept"], true, "{advised}");
            assert!(told["guess"]["chance_year"].as_f64().unwrap() <= 0.01, "{advised}: {told}");
        }
    }
    let target = &json(&["fixed_window: {limit: 5, window: 30s}", "--target-year", "1%"])["target"];
    assert!((target["attempts_day"].as_f64().unwrap() - 9.18).abs() < 0.005, "{target}");
    assert_eq!(target["digits"], 10);
    let flood = run(["bound", "sliding_log: {limit: 5000, window: 400d}", "--target-year", "0.0001%"]);
    assert!(text(&flood.stdout).contains("none with these numbers; at most 0 may pass at once"), "{flood:?}");
}

/// Guards the page against showing what the commands on it do not print.
#[test]
fn the_page_shows_what_its_commands_say() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bound.md");
    let page = fs::read_to_string(page).unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).collect();
    assert!(blocks.len() > 3, "the page shows commands");
    for block in blocks {
        let (command, rest) = block.split_once("```\n").unwrap();
        let shown = rest.trim_start().strip_prefix("```text\n").unwrap().split("```").next().unwrap();
        let output = Command::new("sh").args(["-c", command]).env("PATH", &path).output().unwrap();
        assert_eq!(text(&output.stdout), shown, "{command}{}", text(&output.stderr));
    }
}
