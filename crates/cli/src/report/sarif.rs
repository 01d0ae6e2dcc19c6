//! Findings as SARIF 2.1.0, which code hosts and editors read.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};
use tidegate_review::lints;

use super::{Item, PROBLEM, UNREAD};

/// What cannot stand in the path of a URI as it is.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the log of one run with its rules and results.
pub(super) fn render(items: &[Item]) -> Value {
    let rules: Vec<(&str, &str, String)> = [
        (PROBLEM, "the file is no policy", "See docs/policy.md.".to_owned()),
        (
            UNREAD,
            "a sentence cannot be read, so that nobody holds it against the numbers",
            "See docs/policy.md.".to_owned(),
        ),
    ]
    .into_iter()
    .chain(lints().map(|lint| (lint.id, lint.summary, format!("See docs/review/{}.md.", lint.id))))
    .collect();
    let index = |id: &str| rules.iter().position(|(known, ..)| *known == id);
    let results: Vec<Value> = items.iter().map(|item| result(item, index(item.id))).collect();
    let rules: Vec<Value> = rules.iter().map(rule).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "tidegate", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule((id, summary, help): &(&str, &str, String)) -> Value {
    json!({
        "id": id,
        "shortDescription": { "text": format!("{summary}.") },
        "help": { "text": help },
    })
}

fn result(item: &Item, index: Option<usize>) -> Value {
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&item.file) },
            "region": { "startLine": item.line, "startColumn": item.column },
        },
    });
    let mut result = json!({
        "ruleId": item.id,
        "level": item.severity.to_string(),
        "message": { "text": item.sentence() },
    });
    if let Some(about) = &item.about {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": about }]);
        // Lines move; what a finding is about does not.
        result["partialFingerprints"] = json!({ "finding/v1": format!("{} {about}", item.id) });
    }
    result["locations"] = json!([location]);
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if let Some(because) = &item.accepted {
        result["suppressions"] =
            json!([{ "kind": "inSource", "status": "accepted", "justification": because }]);
    }
    result
}

/// Returns the URI of a file: of a relative path one that is relative to where the check ran.
fn uri(file: &str) -> String {
    let path = utf8_percent_encode(file, PATH).to_string();
    match path.strip_prefix('/') {
        Some(rest) => format!("file:///{rest}"),
        // The first segment of a relative reference would be taken for a scheme up to its colon.
        None if path.split('/').next().is_some_and(|first| first.contains(':')) => format!("./{path}"),
        None => path,
    }
}
