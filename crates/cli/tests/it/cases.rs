//! `tidegate cases`: published figures, computed anew.

use std::fs;
use std::path::Path;

use crate::process::{run, text};

/// Returns the page that lists the cases.
fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cases.md")).unwrap()
}

/// A row of the page: an id and what it is about.
fn rows(page: &str) -> Vec<(String, String)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let cells = |row: &str| row.split_once("` | ").map(|(id, what)| (id.to_owned(), what.to_owned()));
    rows.filter_map(cells).collect()
}

/// Runs the whole set once, which takes a while: guards the ids and labels that people read, the exit code that scripts read,
/// and the page's table.
#[test]
fn every_case_comes_out_and_stands_on_the_page() {
    let output = run(["cases"]);
    let told = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{told}");
    let blocks: Vec<(&str, &str)> = told.split("\n\n").filter_map(|block| block.split_once('\n')).collect();
    for (head, says) in [
        ("rubygems-2020: agrees", "0.50748"),
        ("seed-years: something published is off by 333 times", "36.17 days"),
        ("adminx-core: something published is off by 876 times", "about 5,000 years"),
        ("signal-2021 (unconfirmed): agrees", "505,000,000"),
        ("seed-strict-counter: no published figure to compare", "No algorithm of Tidegate's"),
    ] {
        let block = blocks.iter().find(|(first, _)| *first == head);
        assert!(block.is_some_and(|(_, rest)| rest.contains(says)), "{head}: {told}");
    }
    assert!(told.ends_with("every figure comes out as it is known to\n"), "{told}");

    let shown: Vec<(String, String)> = blocks
        .iter()
        .filter_map(|(head, rest)| {
            let id = head.split_once(": ")?.0;
            let label = if id.ends_with(" (unconfirmed)") { " (unconfirmed)" } else { "" };
            let what = rest.lines().next()?.strip_prefix("  ")?;
            Some((id.trim_end_matches(label).to_owned(), format!("{what}{label}")))
        })
        .collect();
    assert_eq!(rows(&page()), shown);
}

/// Guards the page against showing what the command on it does not print.
#[test]
fn the_page_shows_what_its_command_says() {
    let page = page();
    let (command, rest) = page.split_once("```sh\ntidegate ").unwrap().1.split_once("\n```\n").unwrap();
    let shown = rest.trim_start().strip_prefix("```text\n").unwrap().split("```").next().unwrap();
    let output = run(command.split(' '));
    assert_eq!(text(&output.stdout), shown, "{command}");
}

/// Guards the members that scripts read.
#[test]
fn chosen_cases_come_as_json_in_the_order_they_were_asked_for() {
    let output = run(["cases", "adminx-core", "microsoft-2021", "adminx-core", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<_> = told.as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["adminx-core", "microsoft-2021"]);
    assert_eq!([&told[0]["confirmed"], &told[1]["confirmed"]], [true, false]);
    let mean = &told[0]["figures"][0];
    assert_eq!((&mean["unit"], &mean["how"]), (&"years".into(), &"closed_form".into()));
    assert_eq!((&mean["agrees"], &mean["comes_out"]), (&false.into(), &true.into()));
    assert!((mean["ours"].as_f64().unwrap() - 5.7).abs() < 0.01, "{mean}");
    assert!((told[0]["verdict"]["off_by"].as_f64().unwrap() - 876.0).abs() < 1.0, "{told}");
    assert_eq!(told[1]["verdict"], "agrees");
}

#[test]
fn a_case_that_there_is_not_is_told_with_those_there_are() {
    let output = run(["cases", "rubygems"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    let told = text(&output.stderr);
    assert!(told.starts_with("error: there is no case \"rubygems\"\nwrite one of "), "{told}");
    assert!(told.contains("rubygems-2019, rubygems-2020"), "{told}");
}
