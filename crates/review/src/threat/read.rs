//! What a committed copy states: the cells of its tables.
//!
//! Whoever keeps the copy may write around them what he likes, line tables up and set marks; tables that do not begin as
//! ours do, and lines whose label is none of ours, are his own.

use super::facts::{LABELS, SPANS};

/// One figure or choice, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stated {
    /// The rule, or the limit with its terms; empty for the whole policy.
    pub(super) about: String,
    /// What it is.
    pub(super) label: String,
    /// What is said of it.
    pub(super) value: String,
}

/// Reads all that a copy in Markdown states.
pub(super) fn markdown(text: &str) -> Vec<Stated> {
    let mut stated = Vec::new();
    let mut heading = String::new();
    // The labels of the table's columns; none outside of tables of ours.
    let mut columns: Option<Vec<String>> = None;
    let mut in_table = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(level) = heading_of(line) {
            heading = level;
        }
        let Some(cells) = cells(line) else {
            (columns, in_table) = (None, false);
            continue;
        };
        if !in_table {
            in_table = true;
            columns = is_ours(&cells).then_some(cells);
            continue;
        }
        let is_rule =
            cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|char| matches!(char, '-' | ':')));
        let (Some(columns), false) = (&columns, is_rule) else { continue };
        of_row(&mut stated, &heading, columns, &cells);
    }
    stated
}

/// Returns whether a table with this first row is one of ours.
fn is_ours(cells: &[String]) -> bool {
    match cells.first().map(String::as_str) {
        Some("Limit") => true,
        Some("Policy" | "Rule" | "Figure") => cells.len() == 2,
        _ => false,
    }
}

fn of_row(stated: &mut Vec<Stated>, heading: &str, columns: &[String], cells: &[String]) {
    let Some((first, rest)) = cells.split_first() else { return };
    let mut push = |about: &str, label: &str, value: &str| {
        // A dash stands for no value.
        if is_label(label) && value != "-" {
            stated.push(Stated { about: about.to_owned(), label: label.to_owned(), value: value.to_owned() });
        }
    };
    match columns.first().map(String::as_str) {
        Some("Limit") => {
            for (label, value) in columns.iter().skip(1).zip(rest) {
                push(first, label, value);
            }
        }
        Some("Policy") => push("", first, rest.first().map_or("", String::as_str)),
        _ => push(heading, first, rest.first().map_or("", String::as_str)),
    }
}

fn is_label(label: &str) -> bool {
    LABELS.contains(&label) || label.starts_with(SPANS)
}

/// Returns the text of a heading of the second or third level.
fn heading_of(line: &str) -> Option<String> {
    let text = line.strip_prefix("### ").or_else(|| line.strip_prefix("## "))?;
    Some(plain(text))
}

/// Returns the cells of a table's line as plain text.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?;
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for char in inner.chars() {
        if char == '|' && !escaped {
            cells.push(plain(&cell));
            cell.clear();
        } else {
            cell.push(char);
        }
        escaped = char == '\\' && !escaped;
    }
    if !cell.trim().is_empty() {
        cells.push(plain(&cell));
    }
    Some(cells)
}

/// Returns a text without what only says how it looks: marks of emphasis and code, escapes, entities, doubled spaces.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.extend(chars.next()),
            '*' | '`' => {}
            char => out.push(char),
        }
    }
    let entities = [("&#58;", ":"), ("&#64;", "@"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    let out = entities.iter().fold(out, |text, (entity, char)| text.replace(entity, char));
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
