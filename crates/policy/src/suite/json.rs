//! JSON bodies written as YAML: members in their order, numbers and texts as they stand.

use std::fmt::Write as _;

use serde::de::IgnoredAny;

use crate::file::{Node, Report, Value};

/// Writes a value as JSON. What other YAML readers take for something else than it looks has to stand in quotes.
pub(super) fn write(node: &Node, report: &mut Report) -> Option<String> {
    let mut out = String::new();
    append(node, &mut out, report)?;
    Some(out)
}

fn append(node: &Node, out: &mut String, report: &mut Report) -> Option<()> {
    match &node.value {
        Value::Scalar { text, plain: true } if text.is_empty() || text == "~" => out.push_str("null"),
        // A number, `true`, `false` and `null` are taken as they stand: `1.0` is not `1` to everybody.
        Value::Scalar { text, plain: true } if is_literal(text) => out.push_str(text),
        Value::Scalar { plain: true, .. } => string(node.text("a value", report)?, out),
        Value::Scalar { text, plain: false } => string(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                append(item, out, report)?;
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                string(&entry.key, out);
                out.push(':');
                append(&entry.value, out, report)?;
            }
            out.push('}');
        }
    }
    Some(())
}

/// Returns whether a text is a JSON value that is no text, list or object.
fn is_literal(text: &str) -> bool {
    let begins =
        text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | 't' | 'f' | 'n'));
    begins && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn string(text: &str, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{}", serde_json::Value::from(text));
}
