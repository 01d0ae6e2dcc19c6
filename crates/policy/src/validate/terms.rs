//! What a limit says and allows: for everybody, for a plan, for one key.

use super::algorithms::{self, ALGORITHMS};
use crate::file::{Fields, Node, Report};
use crate::limit::Terms;
use crate::problem::At;

/// The most characters of a sentence.
const LONGEST_SENTENCE: usize = 1_000;

/// Reads the words and the algorithm of `what`, a limit, a plan or an override.
pub(super) fn read(fields: &mut Fields<'_>, what: &str, report: &mut Report) -> Option<Terms> {
    let says = fields.get("says");
    if says.is_none() {
        let remedy = "say in words what its numbers say, or let `tidegate words --write` do it";
        fields.lack(&["says"], format!("{what} has no `says`"), remedy);
    }
    let at = At(says.map_or(fields.place(), |node| node.place));
    let says = says.and_then(|node| sentence(node, report));
    let remark = note(fields, report);
    let quota = algorithms::read(fields, what, report);
    let (quota, numbers) = quota?;
    Some(Terms { says: says?.to_owned(), note: remark, quota, numbers, at })
}

/// Reads a sentence, of a length at which people read it.
fn sentence<'n>(node: &'n Node, report: &mut Report) -> Option<&'n str> {
    let says = node.text("says", report)?;
    let length = says.chars().count();
    if length > LONGEST_SENTENCE {
        let remedy = format!(
            "say it in {LONGEST_SENTENCE} characters at most; `note` takes what else there is to say"
        );
        report.add(node.place, format!("says has {length} characters"), remedy);
        return None;
    }
    Some(says)
}

/// Reads the note.
pub(super) fn note(fields: &mut Fields<'_>, report: &mut Report) -> Option<String> {
    fields.get("note").and_then(|node| node.text("note", report)).map(str::to_owned)
}

/// Refuses words and algorithms of a limit whose plans have them.
pub(super) fn refuse_own(fields: &mut Fields<'_>, report: &mut Report) {
    for member in ["says"].into_iter().chain(ALGORITHMS) {
        if let Some(entry) = fields.entry(member) {
            report.add(
                entry.place,
                format!("`{member}` stands beside plans, and each plan has its own"),
                "move it into a plan, or remove it",
            );
        }
    }
}

/// Knows the same members of a limit whose plans have another name or are missing, so that nothing is said of them.
pub(super) fn know_own(fields: &mut Fields<'_>) {
    for member in ["says"].into_iter().chain(ALGORITHMS) {
        fields.entry(member);
    }
}
