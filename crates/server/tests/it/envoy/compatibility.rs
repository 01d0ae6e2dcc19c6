//! `docs/compatibility.md`: each vector names the test that replays it, or says why it does not apply.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects the names of tests below a folder.
fn tests(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, names);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    is_test = true;
                } else if let Some(rest) = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "))
                {
                    let name = rest.split(['(', '<']).next().unwrap_or_default();
                    if std::mem::take(&mut is_test) {
                        names.insert(name.to_owned());
                    }
                }
            }
        }
    }
}

/// One row of the page's tables.
#[derive(Debug)]
struct Row {
    vector: String,
    /// The last cell: names of tests between backticks, or the reason.
    held_by: String,
}

fn rows(page: &str, section: &str) -> Vec<Row> {
    let part = page.split("\n## ").find(|part| part.starts_with(section));
    let part = part.unwrap_or_else(|| panic!("no section {section}"));
    let lines = part.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| vector"));
    let rows = lines.map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        Row { vector: cells[0].to_owned(), held_by: (*cells.last().unwrap()).to_owned() }
    });
    rows.collect()
}

/// Returns the tests that a row names; none where it says why there are none.
fn named(row: &Row) -> Vec<&str> {
    if row.held_by.starts_with("does not apply: ") {
        return Vec::new();
    }
    row.held_by.split('`').skip(1).step_by(2).collect()
}

/// Guards the page against a test that was renamed or never written, and against a vector that is left out in silence.
#[test]
fn every_vector_names_a_test_that_is_there_or_a_reason() {
    let page = fs::read_to_string(root().join("docs/compatibility.md")).unwrap();
    let mut known = BTreeSet::new();
    for folder in ["crates/server", "crates/cli", "crates/tidegate", "crates/policy", "crates/store-redis"] {
        tests(&root().join(folder), &mut known);
    }
    let mut seen = BTreeSet::new();
    for section in page.split("\n## ").skip(1) {
        for row in rows(&page, section.lines().next().unwrap()) {
            let named = named(&row);
            assert!(!named.is_empty() || row.held_by.len() > "does not apply: ".len(), "{row:?}");
            for name in named {
                assert!(known.contains(name), "{}: there is no test {name}", row.vector);
            }
            seen.insert(row.vector);
        }
    }
    let envoy = (1..=11).map(|number| format!("R{number}")).chain((1..=9).map(|number| format!("E{number}")));
    let limitador =
        (1..=8).map(|number| format!("L{number}")).chain((1..=13).map(|number| format!("H{number}")));
    // Numbers that the services' own lists leave out.
    let missing: Vec<_> = envoy
        .chain(limitador)
        .filter(|vector| !["R4", "R7", "E4", "E5", "E6", "H8"].contains(&vector.as_str()))
        .filter(|vector| !seen.contains(vector))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
