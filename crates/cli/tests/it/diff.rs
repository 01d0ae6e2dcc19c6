//! `tidegate diff` and `tidegate schema`.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::process::{run, run_with_input, text};

const QUILLON: &str = "../../../../../examples/quillon.yaml";

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// Compares the example with itself after some words were replaced.
fn diff(options: &[&str], replaced: &[(&str, &str)]) -> Output {
    let mut policy = read("examples/quillon.yaml");
    for (from, to) in replaced {
        assert!(policy.contains(from), "the example has no {from}");
        policy = policy.replace(from, to);
    }
    run_with_input([&["diff"], options, &[QUILLON, "-"]].concat(), policy.as_bytes())
}

/// Guards the page against showing what the command no longer says.
#[test]
fn the_page_shows_what_the_command_says() {
    let output = diff(
        &[],
        &[
            ("capacity: 4, refill: 1 per 10s", "capacity: 6, refill: 1 per 30s"),
            ("four times quickly, then once every ten", "six times quickly, then once every 30"),
            ("name: per-challenge", "name: by-challenge"),
        ],
    );
    let page = read("docs/changing.md");
    let shown = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(text(&output.stdout), shown);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_denied_fails_and_what_is_not_passes() {
    let looser = [
        ("limit: 5, window: 24h", "limit: 6, window: 24h"),
        ("more than five in any", "more than six in any"),
    ];
    assert_eq!(diff(&["--deny", "looser,fresh"], &looser).status.code(), Some(1));
    assert_eq!(diff(&["--deny", "tighter"], &looser).status.code(), Some(0));
    let renamed = [("name: per-challenge", "name: by-challenge")];
    assert_eq!(
        diff(&["--deny", "looser"], &renamed).status.code(),
        Some(1),
        "what is gone admits everything"
    );
    let other_key = [
        ("        key: challenge", "        key: [account, challenge]"),
        ("minute, per challenge", "minute, per account and challenge"),
    ];
    let denied = diff(&["--deny", "fresh"], &other_key);
    assert_eq!(denied.status.code(), Some(1));
    assert!(text(&denied.stdout).ends_with("denied: verify/per-challenge starts fresh\n"), "{denied:?}");
    let renamed = diff(&["--deny", "fresh"], &renamed);
    assert_eq!(renamed.status.code(), Some(1), "it seems to be the same limit, whose counts are lost");
}

#[test]
fn nothing_is_told_of_what_stays_as_it_is() {
    let output = run(["diff", QUILLON, QUILLON, "--deny", "looser,tighter,fresh"]);
    assert_eq!((text(&output.stdout), output.status.code()), ("nothing changes\n", Some(0)));
}

#[test]
fn a_file_that_cannot_be_used_is_told_with_its_problems() {
    let output = run(["diff", QUILLON, "wrong.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("wrong.yaml:10:14: "), "{output:?}");
    assert_eq!(run(["diff", "missing.yaml", QUILLON]).status.code(), Some(2));
}

/// Guards the schema against being no JSON, or none that says what it is.
#[test]
fn the_schema_is_written_as_json() {
    let output = run(["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["properties"]["rules"].is_object());
    assert_eq!(output.status.code(), Some(0));
}
