//! A threat model as Markdown, to be kept beside the policy and read in a pull request.

use std::fmt::{self, Write as _};

use super::facts::{self, Fact, OVERVIEW};
use super::{Row, RuleRows, ThreatModel};
use crate::Finding;

/// Writes it: what is so for the whole policy, all rows at a glance, then each rule with its rows.
pub(super) fn write(model: &ThreatModel<'_>) -> String {
    let mut out = format!("# Threat model of {}\n\n", escape(&model.file));
    for line in opening(model) {
        out.push_str(&escape(&line));
        out.push_str("\n\n");
    }
    table(&mut out, "Policy", &facts::of_policy(model));
    for finding in &model.findings {
        put(&mut out, format_args!("\n{}\n", escape(&open(finding))));
    }
    out.push_str("\n## At a glance\n\n");
    overview(&mut out, model);
    for rule in &model.rules {
        of_rule(&mut out, rule);
    }
    out
}

/// Returns what a reader has to know before the figures, in sentences.
pub(super) fn opening(model: &ThreatModel<'_>) -> Vec<String> {
    let mut lines = vec![
        "What each limit admits at most, whatever anybody does, and what an attacker makes of it. \"Any\" span is half-open: \
         it holds its first instant and not its last. A blind guess begins on fresh counts, knows the limits and asks as \
         soon as they let it."
            .to_owned(),
        format!(
            "Written by: tidegate threat-model {0}. Run with --check and this file, it tells when a figure or \
             a choice is no longer so.",
            model.file
        ),
    ];
    if model.copies > 1 {
        lines.push(format!(
            "Each key is counted {} times, by instances or regions that do not know each other's counts. All figures are \
             those of all of them together.",
            model.copies
        ));
    }
    lines
}

fn overview(out: &mut String, model: &ThreatModel<'_>) {
    header(out, std::iter::once("Limit").chain(OVERVIEW));
    for rule in &model.rules {
        for limit in &rule.rows {
            let facts = facts::of_row(limit, rule.explained.code.is_some());
            let name = limit.explained.name();
            row(out, std::iter::once(name.as_str()).chain(OVERVIEW.map(|label| value(&facts, label))));
        }
    }
}

/// Returns a value for the overview; a dash where a limit has none.
pub(super) fn value<'f>(facts: &'f [Fact], label: &str) -> &'f str {
    facts.iter().find(|fact| fact.label == label).map_or("-", |fact| fact.value.as_str())
}

fn of_rule(out: &mut String, rule: &RuleRows<'_>) {
    heading(out, 2, &rule.rule().name);
    table(out, "Rule", &facts::of_rule(rule));
    for line in notes(rule) {
        put(out, format_args!("\n{}\n", escape(&line)));
    }
    for limit in &rule.rows {
        of_row(out, limit, rule.explained.code.is_some());
    }
}

/// Returns the prose of a rule: what happens without the store and why, and why findings are kept.
pub(super) fn notes(rule: &RuleRows<'_>) -> Vec<String> {
    let gone = rule.explained.limits.first().filter(|limit| limit.gone.share.is_none());
    let mut notes: Vec<String> =
        gone.map(|limit| format!("Without the store: {}.", limit.gone.says())).into_iter().collect();
    let because = rule.rule().store_failure_because.as_ref();
    notes.push(because.map_or_else(
        || "Why that is chosen, the policy does not say: store_failure_because would.".to_owned(),
        |because| format!("That is chosen because {}.", because.trim_end_matches('.')),
    ));
    notes.extend(rule.open().map(open));
    notes.extend(
        rule.accepted()
            .iter()
            .map(|one| format!("Kept knowingly: {}, because {}.", one.id, one.because.trim_end_matches('.'))),
    );
    notes
}

/// Writes a finding that is not accepted.
pub(super) fn open(finding: &Finding) -> String {
    let about = finding.about.as_ref().map(|about| format!(" ({about})")).unwrap_or_default();
    format!("Open, {}{about}: {}. What to do: {}.", finding.id, finding.message, finding.remedy)
}

fn of_row(out: &mut String, limit: &Row<'_>, guesses: bool) {
    heading(out, 3, &limit.explained.name());
    for line in words(limit) {
        put(out, format_args!("> {}\n>\n", escape(&line)));
    }
    out.push('\n');
    table(out, "Figure", &facts::of_row(limit, guesses));
}

/// Returns the prose of a limit: its words, as the file and as Tidegate write them, what a refusal tells, and each
/// instance's share without the store.
pub(super) fn words(limit: &Row<'_>) -> Vec<String> {
    let explained = &limit.explained;
    let mut lines = vec![explained.terms.says.clone()];
    if explained.words != explained.terms.says {
        lines.push(format!("In exact words: {}", explained.words));
    }
    lines.extend(explained.terms.note.iter().map(|note| format!("Note: {note}")));
    lines.push(format!("A refusal tells: {}.", explained.refusal.says));
    if explained.gone.share.is_some() {
        lines.push(format!("Without the store: {}.", explained.gone.says()));
    }
    lines
}

fn heading(out: &mut String, level: usize, text: &str) {
    put(out, format_args!("\n{} {}\n\n", "#".repeat(level), escape(text)));
}

fn table(out: &mut String, title: &str, facts: &[Fact]) {
    header(out, [title, "Value"]);
    for fact in facts {
        row(out, [fact.label.as_str(), fact.value.as_str()]);
    }
}

/// Writes a table's first row, and the line under it.
fn header<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str> + Clone) {
    let columns = cells.clone().into_iter().count();
    row(out, cells);
    out.push_str(&"| --- ".repeat(columns));
    out.push_str("|\n");
}

fn row<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str>) {
    for cell in cells {
        out.push_str("| ");
        out.push_str(&escape(cell));
        out.push(' ');
    }
    out.push_str("|\n");
}

/// Adds a text that is put together on the spot.
pub(super) fn put(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

/// Escapes a text to stand in a line, a heading or a table's cell, as nothing but itself.
///
/// Underscores within words and other marks that mean nothing where they stand are left as they are, for those who read
/// the file as text.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut chars = text.trim().chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' if out.is_empty() => out.push_str("\\>"),
            // A line's end would end the cell or the heading.
            '\n' | '\r' | '\t' => out.push(' '),
            char if char.is_control() => {}
            '_' if before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric()) => {
                out.push('_');
            }
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '#' | '$' => out.extend(['\\', char]),
            // What would begin a list or a rule, or a link that is made of plain text.
            '-' | '+' | '='
                if out.is_empty() && chars.peek().is_some_and(|next| *next == ' ' || *next == char) =>
            {
                out.extend(['\\', char]);
            }
            '.' | ')' if is_number(&out) && chars.peek() == Some(&' ') => out.extend(['\\', char]),
            ':' if chars.peek() == Some(&'/') => out.push_str("&#58;"),
            '@' => out.push_str("&#64;"),
            char => out.push(char),
        }
        before = char;
    }
    out
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
