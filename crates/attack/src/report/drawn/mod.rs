//! What is drawn of attacks: which rows are worth a drawing, and the places of their figures.

mod growth;
mod guess;
mod places;
mod weighed;
mod windows;

use super::{LimitShown, Row, RuleReport, Trade};
use crate::measure::InSpan;
use tidegate_trials::plot::Drawing;

pub(super) use growth::side_by_side;
pub(super) use guess::hit_over_time;
pub(super) use places::seconds;
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

/// Returns the rows of those whose every request was counted: what passes while a store is lost is held by no bound.
fn counted(rule: &RuleReport) -> impl DoubleEndedIterator<Item = &Row> {
    rule.rows.iter().filter(|row| row.worst.without_store == 0)
}

/// Returns the fullest span by which an adversary is told: of the length of the window of the limit that he goes for, or of
/// the first one.
pub(super) fn fullest_window<'r>(rule: &RuleReport, row: &'r Row) -> Option<&'r InSpan> {
    let own = rule.limits.iter().find(|limit| Some(&limit.name) == row.limit.as_ref());
    row.worst.peak(own.or(rule.limits.first())?.window())
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
