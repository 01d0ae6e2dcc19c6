//! What a check finds, in the forms that people and machines read.

mod github;
mod json;
mod sarif;

use tidegate_policy::{Policy, Problem, Problems};
use tidegate_review::{Finding, Severity};

use crate::args::Format;
use crate::output::Output;

/// The id of what is wrong with a file, so that it is no policy at all.
const PROBLEM: &str = "policy-problem";
/// The id of a sentence that cannot be read.
const UNREAD: &str = "words-unread";

/// One thing that was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// Its stable id.
    pub(crate) id: &'static str,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// The file it is in, as it was given.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: u32,
    /// The column in characters, from 1.
    pub(crate) column: u32,
    /// The rule, or `rule/limit`, if it is about one.
    pub(crate) about: Option<String>,
    /// What is so.
    pub(crate) message: String,
    /// What to do; may be empty.
    pub(crate) remedy: String,
    /// Why it is kept knowingly, if it is.
    pub(crate) accepted: Option<String>,
}

impl Item {
    /// Takes a finding of the review of a policy.
    pub(crate) fn of_finding(policy: &Policy, finding: Finding) -> Self {
        let Finding { id, severity, place, about, message, remedy, accepted } = finding;
        let (file, line, column) = (policy.file_of(place).to_owned(), place.line, place.column);
        Self { id, severity, file, line, column, about, message, remedy, accepted }
    }

    /// Takes what keeps a file from being a policy.
    pub(crate) fn of_problems(problems: &Problems) -> Vec<Self> {
        let each = problems.list().iter();
        each.map(|problem| Self::of_problem(PROBLEM, problems.file_of(problem.place), problem)).collect()
    }

    /// Takes the sentences of a policy that cannot be read.
    pub(crate) fn of_unread(policy: &Policy) -> Vec<Self> {
        let each = policy.unread.iter();
        each.map(|problem| Self::of_problem(UNREAD, policy.file_of(problem.place), problem)).collect()
    }

    fn of_problem(id: &'static str, file: &str, problem: &Problem) -> Self {
        Self {
            id,
            severity: Severity::Error,
            file: file.to_owned(),
            line: problem.place.line,
            column: problem.place.column,
            about: None,
            message: problem.message.clone(),
            remedy: problem.remedy.clone(),
            accepted: None,
        }
    }

    /// Returns whether the check fails by it.
    pub(crate) fn fails(&self) -> bool {
        self.severity == Severity::Error && self.accepted.is_none()
    }

    /// Returns the message with its remedy.
    fn sentence(&self) -> String {
        if self.remedy.is_empty() {
            self.message.clone()
        } else {
            format!("{}; {}", self.message, self.remedy)
        }
    }

    /// Returns a line for people.
    pub(crate) fn line(&self) -> String {
        let Self { id, severity, file, line, column, .. } = self;
        match &self.accepted {
            Some(because) => format!("{file}:{line}:{column}: accepted: {} [{id}]: {because}", self.message),
            None => format!("{file}:{line}:{column}: {severity}: {} [{id}]", self.sentence()),
        }
    }
}

/// Writes what was found in a form for machines; nothing for people, who are told file by file.
pub(crate) fn write(format: Format, items: &[Item], out: &mut Output) {
    match format {
        Format::Text => {}
        Format::Json => out.line(&json::render(items).to_string()),
        Format::Sarif => out.line(&format!("{:#}", sarif::render(items))),
        Format::Github => items.iter().for_each(|item| out.line(&github::command(item))),
    }
}

/// Returns how many of each kind there are, for people: `1 error, 2 warnings, 1 accepted`; nothing when there is none.
pub(crate) fn summary(items: &[Item]) -> Option<String> {
    let counts = Counts::of(items);
    let kinds = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.notes, "note")];
    let plural =
        |(count, what): &(usize, &str)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" });
    let mut parts: Vec<String> = kinds.iter().filter(|(count, _)| *count > 0).map(plural).collect();
    if counts.accepted > 0 {
        parts.push(format!("{} accepted", counts.accepted));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How many findings there are of each severity that are not accepted, and how many are.
#[derive(Debug, Default)]
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
    accepted: usize,
}

impl Counts {
    fn of(items: &[Item]) -> Self {
        let mut counts = Self::default();
        for item in items {
            let one = match item.severity {
                _ if item.accepted.is_some() => &mut counts.accepted,
                Severity::Error => &mut counts.errors,
                Severity::Warning => &mut counts.warnings,
                Severity::Note => &mut counts.notes,
            };
            *one = one.saturating_add(1);
        }
        counts
    }
}

#[cfg(test)]
mod tests;
