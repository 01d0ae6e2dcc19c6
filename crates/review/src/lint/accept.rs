//! What rules accept, and nothing is there to accept.

use super::draft::Draft;
use super::view::View;
use super::{Lint, lints};
use crate::finding::Severity;

const UNKNOWN: &str = "accept-unknown";
const NOT_FOUND: &str = "accept-not-found";

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: UNKNOWN,
        summary: "accept names a rule of the review that does not exist",
        find: |_| Vec::new(),
    },
    Lint { id: NOT_FOUND, summary: "accept names what is not found", find: |_| Vec::new() },
];

/// Returns what is accepted although the review does not know it, or does not find it there.
pub(super) fn without_object(
    view: &View<'_>,
    drafts: &[(&'static str, Draft)],
) -> Vec<(&'static str, Draft)> {
    let mut without = Vec::new();
    for subject in view.rules() {
        for one in &subject.rule.accept {
            let draft = |message, remedy: String| {
                Draft::of_rule(subject, Severity::Warning, message, remedy).at(one.at.0)
            };
            if !lints().any(|lint| lint.id == one.id) {
                let message = format!("{} is accepted, and the review has no such rule", one.id);
                let remedy = near(&one.id).map_or_else(
                    || "remove it, or write an id that `tidegate check` shows".to_owned(),
                    |near| format!("did you mean {near}?"),
                );
                without.push((UNKNOWN, draft(message, remedy)));
            } else if !drafts.iter().any(|(id, draft)| *id == one.id && draft.rule == Some(subject.index)) {
                let message = format!("{} is accepted, and is not found on this rule", one.id);
                let remedy = "remove it, so that it does not hide a later one".to_owned();
                without.push((NOT_FOUND, draft(message, remedy)));
            }
        }
    }
    without
}

/// Returns the id that shares most words with one that is unknown.
fn near(id: &str) -> Option<&'static str> {
    let shared =
        |known: &str| known.split('-').filter(|word| id.split('-').any(|other| other == *word)).count();
    let best = lints().map(|lint| (shared(lint.id), lint.id)).max_by_key(|(shared, _)| *shared);
    best.filter(|(shared, _)| *shared >= 2).map(|(_, id)| id)
}
