//! What the review finds in a policy with an override over it, and not in the file's.

use serde::Serialize;
use tidegate::policy_file::Policy;
use tidegate_review::{Finding, Severity, review};

/// Something unwise.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Warning {
    /// The rule of the review that found it.
    id: &'static str,
    severity: String,
    /// The limit or the rule it is about.
    about: Option<String>,
    message: String,
    remedy: String,
}

impl Warning {
    /// Returns what is found in a policy with an override and not in the file's; with one that is looser, also what has become
    /// worse. Whether dates of the file have passed is no matter of an override's.
    pub(super) fn new_in(policy: &Policy, file: &Policy, is_looser: bool) -> Vec<Self> {
        let known = review(file, None);
        let is_same = |one: &Finding, found: &Finding| {
            (one.id, &one.about) == (found.id, &found.about) && (!is_looser || one.message == found.message)
        };
        let is_new = |found: &Finding| !known.iter().any(|one| is_same(one, found));
        let is_told = |found: &Finding| found.severity != Severity::Note && found.accepted.is_none();
        let found = review(policy, None).into_iter();
        found.filter(|found| is_told(found) && is_new(found)).map(Self::of).collect()
    }

    fn of(found: Finding) -> Self {
        let Finding { id, severity, about, message, remedy, .. } = found;
        Self { id, severity: severity.to_string(), about, message, remedy }
    }
}
