//! Sentences that are nominally right, and may be taken for more.

use tidegate_policy::{Limit, Place};

use super::Lint;
use super::draft::Draft;
use super::reach::{self, Kind};
use super::view::{Subject, View};
use crate::finding::Severity;

pub(super) const LINTS: &[Lint] = &[Lint {
    id: "nominal-claim-not-met",
    summary: "the words say less than what passes at worst",
    find: misleading,
}];

fn misleading(view: &View<'_>) -> Vec<Draft> {
    let each = view.policy.misleading.iter();
    each.map(|problem| {
        let (message, remedy) = (problem.message.as_str(), problem.remedy.as_str());
        // Twice as many from one address, or of what guards nobody, is no matter.
        match saying(view, problem.place) {
            Some((subject, limit)) => {
                let by_address = reach::has(&limit.key, Kind::Address);
                let matters = subject.class().is_guarded() && !by_address;
                let severity = if matters { Severity::Warning } else { Severity::Note };
                Draft::of_limit((subject, limit), severity, message, remedy).at(problem.place)
            }
            None => Draft::of_policy(problem.place, Severity::Note, message, remedy),
        }
    })
    .collect()
}

/// Returns the limit that a sentence at a place belongs to: the last one that begins before it.
fn saying<'p>(view: &View<'p>, place: Place) -> Option<(Subject<'p>, &'p Limit)> {
    let before = view.limits().filter(|(_, limit)| limit.at.0.file == place.file && limit.at.0 <= place);
    before.max_by_key(|(_, limit)| limit.at.0)
}
