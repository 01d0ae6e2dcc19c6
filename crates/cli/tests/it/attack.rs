//! `tidegate attack` and `tidegate compare` in simulation: what they print and write, and how they end.

use serde_json::Value;

use crate::process::{Folder, run, run_with_input, text};

const QUILLON: &str = "../../../../../examples/quillon.yaml";
/// A small part of the default run: the whole of it takes minutes without optimization.
const BRIEF: [&str; 7] = ["attack", "--rule", "recovery", "--for", "1h", "--adversary", "greedy"];
/// Slow limits, which a day of attacks asks less often.
const A: &str = "fixed_window: {limit: 5, window: 6h}";
const B: &str = "token_bucket: {capacity: 4, refill: 1 per 2h}";

/// Returns what was said on standard error but how far plays have come, which a slow machine is told.
fn complaints(stderr: &[u8]) -> String {
    let far = |line: &&str| line.starts_with("after ") && line.contains(" plays");
    text(stderr).lines().filter(|line| !far(line)).collect()
}

/// Five in any day pass whatever is tried, in one second or in one day: the table's figures are the limit's.
#[test]
fn the_table_has_what_passed_beside_the_most_that_can() {
    let output = run([&BRIEF[..], &["--adversary", "burst-and-wait", QUILLON]].concat());
    let told = text(&output.stdout);
    assert_eq!((output.status.code(), complaints(&output.stderr)), (Some(0), String::new()), "{told}");
    assert!(
        told.contains("recovery/per-account: Never more than five in any 24 hours, per account."),
        "{told}"
    );
    let row = |name: &str| told.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(row("burst-and-wait").contains("5 of 5"), "{told}");
    assert!(row("greedy").contains("1 of 5") && row("greedy").contains("5 of 5"), "{told}");
    assert!(told.ends_with("nothing passed that the closed forms do not allow\n"), "{told}");
}

/// Guards against a report that changes from run to run: plays go on side by side, and chance is the seed's.
#[test]
fn one_seed_is_one_report_and_json_has_all_of_it() {
    let attack = |seed: &str| {
        run([&BRIEF[..], &["--adversary", "refill", "--json", "--seed", seed, QUILLON]].concat())
    };
    let (one, again, other) = (attack("7"), attack("7"), attack("8"));
    assert!(one.stdout == again.stdout && !one.stdout.is_empty(), "{}", text(&one.stdout));
    let report: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!((&report["seed"], &report["policy"]), (&7.into(), &QUILLON.into()));
    let rule = &report["rules"][0];
    assert_eq!((&rule["rule"], &rule["class"]), (&"recovery".into(), &"recovery".into()));
    for member in ["limits", "trades", "rows", "exposed"] {
        assert!(rule[member].is_array(), "{member}: {rule}");
    }
    let row = &rule["rows"][0];
    assert_eq!((&row["adversary"], &row["worst"]["admitted"]), (&"greedy".into(), &5.into()), "{row}");
    for peak in row["worst"]["peaks"].as_array().unwrap() {
        assert!(peak["seen"].as_u64() <= peak["bound"].as_u64() && peak["bound"].is_u64(), "{peak}");
    }
    let seed = serde_json::from_slice::<Value>(&other.stdout).unwrap()["seed"].clone();
    assert_eq!(seed, 8);
}

#[test]
fn a_page_is_written_beside_the_table() {
    let folder = Folder::new("attack-page");
    let path = folder.path("attack.html");
    let output = run([&BRIEF[..], &["--html", path.to_str().unwrap(), QUILLON]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page:.200}");
    assert!(page.contains("recovery/per-account") && page.contains("<svg"), "{page:.2000}");

    let nowhere = folder.path("no/such/folder.html");
    let output = run([&BRIEF[..], &["--html", nowhere.to_str().unwrap(), QUILLON]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).starts_with("error: cannot write "), "{output:?}");
}

/// A stranger can keep a person out of an account that is counted by itself alone: that is a mistake, and shown.
#[test]
fn a_mistake_that_is_shown_fails_only_those_who_asked_to_be_strict() {
    let lockout = |more: &[&str]| {
        let most = ["attack", "--rule", "recovery", "--for", "1h", "--adversary", "lockout", QUILLON];
        run([&most[..], more].concat())
    };
    let (told, strict) = (lockout(&[]), lockout(&["--strict"]));
    assert!(text(&told.stdout).contains("  shown: ") && told.stdout == strict.stdout, "{told:?}");
    assert_eq!((told.status.code(), strict.status.code()), (Some(0), Some(1)));
    let sound = run([&BRIEF[..], &["--strict", QUILLON]].concat());
    assert_eq!(sound.status.code(), Some(0), "{sound:?}");
    assert!(!text(&sound.stdout).contains("shown:"), "{sound:?}");
}

#[test]
fn names_that_there_are_not_are_answered_with_those_that_there_are() {
    let rule = run(["attack", QUILLON, "--rule", "verfy"]);
    let expected = "error: the policy has no rule \"verfy\"; it has edge, send, verify, recovery, reports\n";
    assert_eq!((rule.status.code(), text(&rule.stderr)), (Some(2), expected));
    let adversary = run(["attack", QUILLON, "--adversary", "gredy"]);
    let stderr = text(&adversary.stderr);
    let begins = "error: there is no adversary \"gredy\"; there are greedy, boundary-straddler, ";
    assert!(adversary.status.code() == Some(2) && stderr.starts_with(begins), "{stderr}");
    // A gateway is not asked before names are known.
    let live = run(["attack", QUILLON, "--rule", "verfy", "--against", "http://127.0.0.1:1"]);
    assert_eq!((live.status.code(), text(&live.stderr)), (Some(2), expected));
}

#[test]
fn a_policy_with_problems_is_refused_with_all_of_them() {
    let output = run(["attack", "wrong.yaml"]);
    let checked = run(["check", "wrong.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let first = text(&checked.stdout).lines().next().unwrap();
    assert!(text(&output.stderr).contains(first), "{output:?}");
    assert_eq!(run(["attack", "missing.yaml"]).status.code(), Some(2));
}

#[test]
fn a_policy_is_taken_from_standard_input() {
    let policy = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quillon.yaml")).unwrap();
    let output = run_with_input([&BRIEF[..], &["--json", "-"]].concat(), &policy);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["rules"][0]["rule"]), (Some(0), &"recovery".into()));
}

/// The table's figures are the closed forms' of the two, and the promise is that of the first's numbers.
#[test]
fn limits_stand_side_by_side_with_what_keeps_the_promise() {
    let folder = Folder::new("compare");
    let path = folder.path("compare.html");
    let output = run(["compare", A, B, "--html", path.to_str().unwrap()]);
    let told = text(&output.stdout);
    assert_eq!((output.status.code(), complaints(&output.stderr)), (Some(0), String::new()), "{told}");
    let cells = |name: &str| {
        let line =
            told.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {told}"));
        line[name.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(cells("at most in any 6h"), ["10", "6"]);
    assert_eq!(cells("  as seen"), ["10", "6"]);
    assert_eq!(cells("at once"), ["5", "4"]);
    assert_eq!(cells("in the first day, at most"), ["25", "16"]);
    let (_, promise) = told.split_once("to promise never more than 5 in any 6h, use one of\n").unwrap();
    assert!(promise.contains("sliding_log: { limit: 5, window: 6h }"), "{promise}");
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page:.200}");
}

#[test]
fn a_comparison_in_json_is_the_same_for_the_same_seed() {
    let compare = || run(["compare", B, "--json", "--span", "1h"]);
    let (one, again) = (compare(), compare());
    assert_eq!(one.stdout, again.stdout);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    let report: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert!(report.is_object() && report.to_string().contains("token_bucket"), "{report:#}");
}

#[test]
fn a_limit_that_cannot_be_read_is_told_by_its_number() {
    let output = run(["compare", A, "token_bucket: {capacity: 4}"]);
    let stderr = text(&output.stderr);
    let expected = "error: LIMIT 2:1:15: token_bucket has no `refill`; write `refill: 1 per 10s`";
    assert!(output.status.code() == Some(2) && stderr.starts_with(expected), "{stderr}");
}
