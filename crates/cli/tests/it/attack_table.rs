//! The table of `tidegate attack`: what each figure may claim of what was played.

use serde_json::Value;

use crate::process::{run, text};

const QUILLON: &str = "../../../../../examples/quillon.yaml";
const ARTICLE: &str = "../../../../../examples/seed-article.yaml";

/// Attacks and returns the table, having ended with that code.
fn told(args: &[&str], code: i32) -> String {
    let output = run([&["attack"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    if code == 0 { text(&output.stdout).to_owned() } else { text(&output.stderr).to_owned() }
}

/// Returns the cells of an adversary's row by the headings of their columns; none is longer than its column.
fn cells(told: &str, adversary: &str) -> Vec<(String, String)> {
    let line = |name: &str| told.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    let (headings, row): (Vec<char>, Vec<char>) =
        (line("ADVERSARY").chars().collect(), line(adversary).chars().collect());
    // A column begins behind two blanks.
    let begins = |at: &usize| {
        headings[*at] != ' ' && (*at == 2 || (headings[at - 1] == ' ' && headings[at - 2] == ' '))
    };
    let starts: Vec<usize> = (2..headings.len()).filter(begins).collect();
    let cell = |of: &[char], from: usize, to: usize| {
        let (from, to) = (from.min(of.len()), to.min(of.len()));
        of[from..to].iter().collect::<String>().trim().to_owned()
    };
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    let columns = starts.iter().zip(ends);
    columns.map(|(from, to)| (cell(&headings, *from, to), cell(&row, *from, to))).collect()
}

fn of<'a>(cells: &'a [(String, String)], heading: &str) -> &'a str {
    &cells.iter().find(|(name, _)| name == heading).unwrap_or_else(|| panic!("{heading}: {cells:?}")).1
}

/// Guards against "1 of 5 in a day" of an hour's play, which reads as if the limit let no more through; and against a share
/// to four digits of nine tries.
#[test]
fn longer_spans_than_were_played_are_not_told_and_few_tries_in_numbers() {
    let args = ["--rule", "recovery", "--for", "1h", "--adversary", "low-and-slow", "--adversary", "lockout"];
    let told = told(&[&args[..], &[QUILLON]].concat(), 0);
    let slow = cells(&told, "low-and-slow");
    assert_eq!((of(&slow, "IN AN HOUR"), of(&slow, "IN A DAY")), ("1 of 5", "–"), "{told}");
    let lockout = cells(&told, "lockout");
    // Five are all that a day has room for, however long it was.
    assert_eq!(of(&lockout, "IN A DAY"), "5 of 5", "{told}");
    let denied = of(&lockout, "DENIED");
    let (refused, tries) = denied.split_once(" of ").unwrap_or_else(|| panic!("{told}"));
    assert!(refused == tries && tries.parse::<u32>().is_ok_and(|tries| tries < 100), "{told}");
    assert!(told.contains("\na of b: passed, of at most so many by closed form; "), "{told}");
}

/// Guards against messages that seem to end after a day since they carry no guesses, and that seem to cost nothing.
#[test]
fn messages_go_on_as_messages_and_cost_what_one_costs() {
    let told = told(&["--rule", "send", "--adversary", "sms-pumping", "--quick", QUILLON], 0);
    let row = cells(&told, "sms-pumping");
    let number = |of: &str| of.replace(',', "").split(' ').next().unwrap().parse::<u64>().unwrap();
    let (day, goes_on, costs) =
        (number(of(&row, "IN A DAY")), number(of(&row, "THEN A DAY")), of(&row, "COSTS A DAY"));
    assert!(day > 1_000 && goes_on > 1_000 && goes_on <= 1_200, "{told}");
    assert_eq!((number(costs), costs.ends_with(" cents")), (5 * day, true), "{told}");
    let unpriced = self::told(&["--rule", "recovery", "--adversary", "lockout", "--quick", QUILLON], 0);
    assert!(!unpriced.contains("COSTS"), "{unpriced}");
}

/// Guards against a row of one limit's play where that of another limit is worse in some column.
#[test]
fn of_an_adversary_who_is_played_for_several_limits_each_column_has_the_worst() {
    let args = ["--rule", "verify", "--adversary", "restart", "--quick", QUILLON];
    let told = told(&args, 0);
    let row = cells(&told, "restart");
    let report: Value = serde_json::from_str(&self::told(&[&args[..], &["--json"]].concat(), 0)).unwrap();
    let rows = report["rules"][0]["rows"].as_array().unwrap();
    assert!(rows.len() > 1, "{told}");
    let halves = rows.iter().map(|row| row["guess"]["p50"].as_f64().unwrap());
    let years = halves.fold(f64::INFINITY, f64::min) / 86_400.0 / 365.0;
    let half: f64 = of(&row, "50 % BY").strip_suffix(" years").unwrap().parse().unwrap();
    assert!((half / years - 1.0).abs() < 0.005, "{half}, {years}: {told}");
    for (micros, heading) in [(60_000_000_u64, "IN A MINUTE"), (86_400_000_000, "IN A DAY")] {
        let peaks = rows.iter().flat_map(|row| row["worst"]["peaks"].as_array().unwrap());
        let seen = peaks.filter(|peak| peak["micros"] == micros).map(|peak| peak["seen"].as_u64().unwrap());
        let most = seen.max().unwrap();
        assert!(of(&row, heading).starts_with(&format!("{most} of ")), "{heading}, {most}: {told}");
    }
}

/// Guards against an empty table that ends with "nothing passed".
#[test]
fn adversaries_that_do_nothing_at_the_rules_are_an_error_and_one_of_several_is_told() {
    let alone = told(&["--rule", "verify", "--adversary", "sms-flood", QUILLON], 2);
    assert!(alone.starts_with("error: sms-flood does nothing at verify as it is set up"), "{alone}");
    let args = ["--rule", "recovery", "--adversary", "sms-flood", "--adversary", "refill", "--quick"];
    let beside = told(&[&args[..], &[QUILLON]].concat(), 0);
    assert!(beside.contains("\nnot played: sms-flood, which does nothing at these rules"), "{beside}");
    assert!(!beside.contains("not played: refill"), "{beside}");
}

/// Guards CI against minutes: the same attacks, at fewer instants.
#[test]
fn a_quick_attack_plays_each_adversary_at_two_instants_and_long() {
    let plays = |more: &[&str]| {
        let args = ["--rule", "fixed", "--adversary", "boundary-straddler", "--for", "1m", "--json", ARTICLE];
        let report: Value = serde_json::from_str(&told(&[&args[..], more].concat(), 0)).unwrap();
        report["rules"][0]["rows"][0]["plays"].as_u64().unwrap()
    };
    assert_eq!((plays(&[]), plays(&["--quick"])), (17, 3));
}
