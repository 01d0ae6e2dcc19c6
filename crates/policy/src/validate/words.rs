//! The sentences of limits, held against their numbers.

use super::limits::shown;
use crate::file::Report;
use crate::limit::Limit;
use crate::problem::Problem;
use crate::words::{Contradiction, Misleading, Reading, Unclear, read};

/// What is to be said of sentences, without its keeping a policy from being in force.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Sentences that cannot be read.
    pub(super) unread: Vec<Problem>,
    /// Sentences that are right and may be taken for more.
    pub(super) misleading: Vec<Problem>,
}

/// Reads every sentence of the limits; what contradicts its numbers is reported.
pub(super) fn check<'l>(limits: impl Iterator<Item = &'l Limit>, report: &mut Report) -> Remarks {
    let mut remarks = Remarks::default();
    for limit in limits {
        for (whose, terms) in limit.variants() {
            let place = terms.at.0;
            match read(&terms.says, &limit.meaning(terms)) {
                Reading::Agrees { misleading } => {
                    let problems =
                        misleading.into_iter().map(|Misleading { claim, fact, remedy, .. }| {
                            let message = format!("{} says \"{claim}\", and {fact}", limit.name);
                            Problem { place, message, remedy }
                        });
                    remarks.misleading.extend(problems);
                }
                Reading::Contradicts(all) => {
                    for Contradiction { claim, fact, sentence, numbers, .. } in all {
                        let message = format!("{} says \"{claim}\", and {fact}", shown(whose));
                        report.add(place, message, format!("write `says: {sentence}`, or take {numbers}"));
                    }
                }
                Reading::Unclear(Unclear { why, sentence, .. }) => {
                    let message = format!("the words of {} cannot be read: {why}", limit.name);
                    remarks.unread.push(Problem {
                        place,
                        message,
                        remedy: format!("write `says: {sentence}`"),
                    });
                }
            }
        }
    }
    remarks
}
