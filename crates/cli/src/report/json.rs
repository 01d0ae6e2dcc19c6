//! Findings as one JSON value.

use serde_json::{Value, json};

use super::{Counts, Item};

/// Returns all findings, and how many there are of each kind.
pub(super) fn render(items: &[Item]) -> Value {
    let findings: Vec<Value> = items.iter().map(finding).collect();
    let Counts { errors, warnings, notes, accepted } = Counts::of(items);
    json!({
        "findings": findings,
        "errors": errors,
        "warnings": warnings,
        "notes": notes,
        "accepted": accepted,
    })
}

fn finding(item: &Item) -> Value {
    json!({
        "id": item.id,
        "severity": item.severity.to_string(),
        "file": item.file,
        "line": item.line,
        "column": item.column,
        "about": item.about,
        "message": item.message,
        "remedy": item.remedy,
        "accepted": item.accepted,
    })
}
