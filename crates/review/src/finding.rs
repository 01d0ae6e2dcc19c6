//! What is unwise in a policy, as a reviewer would say it.

use std::fmt;

use tidegate_policy::Place;

/// How bad it is for the class of endpoint at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Note,
    /// Unwise; the policy works all the same.
    Warning,
    /// The limit does not do what a rule of its class is there for.
    Error,
}

/// One finding of the review.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rule of the review that found it: a stable name, such as `verify-by-address-only`; its page is
    /// `docs/review/<id>.md`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where it stands in the policy file.
    pub place: Place,
    /// What it is about: `rule`, or `rule/limit`; none for the policy as a whole.
    pub about: Option<String>,
    /// What is so, with its figure.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// Why it is kept knowingly, if the rule says so under `accept`.
    pub accepted: Option<String>,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}
