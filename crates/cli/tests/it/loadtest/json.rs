//! The JSON that is written, held against the page that tells what is in it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tested;

/// Guards whoever reads the JSON by the page: a member that is there and not told, or told and not there.
#[test]
fn the_page_tells_every_member_of_the_json() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/loadtest.md")).unwrap();
    let (_, table) = page.split_once("## The JSON").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let told: BTreeSet<String> = rows.map(|(path, _)| path.to_owned()).collect();
    let mut seen = BTreeSet::new();
    let report = tested(&[
        "memory:",
        "--shape",
        "one-key-flood",
        "--rate",
        "100",
        "--min-rate",
        "1",
        "--pid",
        &std::process::id().to_string(),
    ]);
    members(&report, "", &mut seen);
    let missing: Vec<_> = seen.difference(&told).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    // These are null in this test, or of a ramp.
    let elsewhere = [
        "capacity.rate",
        "capacity.limited_by",
        "phases[].store.calls",
        "phases[].store.calls_per_request",
        "phases[].store.remembered",
    ];
    let gone: Vec<_> = told.difference(&seen).filter(|path| !elsewhere.contains(&path.as_str())).collect();
    assert!(gone.is_empty(), "not in the JSON: {gone:?}");
    assert_eq!(report["version"], 1);
}

/// Collects the paths of members; classes are told once, and what they hold is told of `CLASS`.
fn members(value: &Value, path: &str, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(members_of) => {
            for (name, value) in members_of {
                let path = if path.ends_with("classes") {
                    "CLASS".to_owned()
                } else if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                if path != "CLASS" {
                    seen.insert(path.clone());
                }
                members(value, &path, seen);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| members(value, &format!("{path}[]"), seen)),
        _ => {}
    }
}
