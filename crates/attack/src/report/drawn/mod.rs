//! What is drawn of attacks: which rows are worth a drawing, and the places of their figures.

mod growth;
mod guess;
mod places;
mod weighed;
mod windows;

use tidegate_review::spoken_count;

use super::plot::Drawing;
use super::{LimitShown, Row, RuleReport, Trade};
use crate::measure::InSpan;

pub(super) use growth::side_by_side;
pub(super) use guess::hit_over_time;
pub(super) use places::{float, seconds};
pub(super) use weighed::traded;

/// Returns the drawings of a rule; `id` begins their names on the page.
pub(super) fn of_rule(rule: &RuleReport, id: &str) -> Vec<Drawing> {
    let named = |name: &str| format!("{id}-{name}");
    let drawn = [
        windows::passed_in_windows(rule, &named("windows")),
        growth::cumulative(rule, &named("envelope")),
        weighed::fullest_windows(rule, &named("fullest")),
        guess::guessed(rule, &named("guess")),
    ];
    drawn.into_iter().flatten().collect()
}

/// Returns the rows of those who are after guesses: all, unless some are there for what they do to people.
fn guessers(rule: &RuleReport) -> impl Iterator<Item = &Row> {
    let all = rule.rows.iter().all(|row| row.worst.people.tries > 0);
    rule.rows.iter().filter(move |row| all || row.worst.people.tries == 0)
}

/// Returns the span by which an adversary's fullest is told: the window of the limit that he goes for, or of the first one.
pub(super) fn window_of(rule: &RuleReport, row: &Row) -> Option<u64> {
    let own = rule.limits.iter().find(|limit| Some(&limit.name) == row.limit.as_ref());
    own.or(rule.limits.first()).map(|limit| limit.window_micros)
}

/// Returns what was seen in spans of a length.
pub(super) fn in_span(spans: &[InSpan], micros: u64) -> Option<&InSpan> {
    spans.iter().find(|span| span.micros == micros)
}

/// Writes whom a row is about: `distributed, 100 addresses (login/per-ip)`.
pub(super) fn name(row: &Row) -> String {
    let mut name = row.adversary.to_owned();
    for part in [&row.with, &row.limit].into_iter().flatten() {
        name.push_str(", ");
        name.push_str(part);
    }
    name
}

/// Writes what was seen in a span with what can be: `10 of 10`.
pub(super) fn of_bound(span: &InSpan) -> String {
    let seen = spoken_count(span.seen.into());
    match span.bound {
        Some(bound) => format!("{seen} of {}", spoken_count(bound)),
        None => format!("{seen}, unlimited"),
    }
}
