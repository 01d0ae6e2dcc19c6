//! Writing sentences into a policy file: those that are missing, and those that contradict numbers which are meant.
//!
//! The file is edited as text, so that comments, order and everything else of it stay as they are. Where a sentence goes
//! is told by the tree; what it says by the policy that the edited text gives.

mod edits;
mod places;

use std::collections::BTreeMap;
use std::fmt;

use crate::file::{Report, load};
use crate::limit::{Limit, Terms, Whose};
use crate::problem::{Problem, Problems};
use crate::words::{self, Contradiction, Unclear};
use crate::{Policy, Reading};
use edits::{BLANK, Edit, Edits, Fate, apply};
use places::offset;

/// A policy file with its sentences written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The file's text.
    pub text: String,
    /// What was written, in the order of the file.
    pub written: Vec<Written>,
    /// The sentences that stay although they contradict their numbers or cannot be read, in the order of the file.
    pub left: Vec<Left>,
}

/// A sentence that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Whose: `rule/limit`, and the plan or the key if it is not everybody's.
    pub limit: String,
    /// The sentence.
    pub says: String,
    /// What stood there before, if anything did.
    pub before: Option<String>,
}

/// A sentence that was left alone, and for which `check` refuses the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Whose: `rule/limit`.
    pub limit: String,
    /// Where it stands in the file, what is wrong with it, and what to write.
    pub problem: Problem,
}

/// Why nothing was written.
#[derive(Debug)]
pub enum RewriteError {
    /// Something else is wrong with the file.
    Problems(Problems),
    /// There is no limit of that name.
    UnknownLimit(String),
    /// The file would not mean the same afterwards: an edit that this program cannot make.
    Unsafe(String),
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problems(problems) => write!(f, "{problems}"),
            Self::UnknownLimit(name) => write!(f, "there is no limit {name} in the file itself"),
            Self::Unsafe(why) => {
                write!(f, "the sentences cannot be written into this file: {why}; write `says` by hand")
            }
        }
    }
}

impl std::error::Error for RewriteError {}

/// Writes the sentences that are missing, and those of the limits named `rule/limit` anew, as their numbers say.
///
/// # Errors
/// When something else is wrong with the file, a name is of no limit in it, or the edit cannot be made safely.
pub fn rewrite(
    reading: Reading<'_>,
    file_name: &str,
    text: &str,
    numbers_win: &[String],
) -> Result<Rewritten, RewriteError> {
    let mut report = Report::default();
    let number = report.open_file(file_name);
    let Some(root) = load(text, number, &mut report) else {
        return Err(RewriteError::Problems(report.into_problems()));
    };
    let (edits, named) = Edits::of(text, numbers_win, &root);
    if let Some(name) = numbers_win.iter().find(|name| !named.contains(name)) {
        return Err(RewriteError::UnknownLimit(name.clone()));
    }
    // With every sentence blank, one that contradicts its numbers does not keep the others from being written.
    let (blanked, starts) = apply(text, &edits, |_| Some(BLANK));
    let policy = reading.parse(file_name, &blanked).map_err(|problems| {
        // What is told has to stand where the file has it, not where the blanks have moved it.
        match reading.parse(file_name, text).err() {
            Some(own) if own.list().iter().any(|problem| !lacks_a_sentence(problem)) => {
                RewriteError::Problems(own)
            }
            _ => RewriteError::Unsafe(format!("with them it would not be in order ({problems})")),
        }
    })?;
    let terms = terms_by_start(&policy, &blanked);
    let decided = edits.iter().zip(&starts).map(|(edit, start)| decide(edit, terms.get(start)));
    let unplaced = || RewriteError::Unsafe("it cannot be told where one of them belongs".to_owned());
    let decided = decided.collect::<Option<Vec<_>>>().ok_or_else(unplaced)?;
    // What is left alone may contradict; the rest has to be in order.
    let (harmless, _) = apply(text, &edits, |number| decided.get(number)?.with_blanks());
    let safe = reading.parse(file_name, &harmless).map_err(|problems| problems.to_string());
    match safe {
        Err(why) => return Err(RewriteError::Unsafe(why)),
        Ok(after) if after.rules.len() != policy.rules.len() => {
            return Err(RewriteError::Unsafe("its rules would not be the same".to_owned()));
        }
        Ok(_) => {}
    }
    let (text, _) = apply(text, &edits, |number| decided.get(number)?.written());
    let mut rewritten = Rewritten { text, written: Vec::new(), left: Vec::new() };
    for one in decided {
        match one {
            Decided::Write { written, .. } => rewritten.written.push(written),
            Decided::Leave(left) => rewritten.left.push(left),
            Decided::Keep => {}
        }
    }
    Ok(rewritten)
}

/// Returns whether what is wrong is just what writing a sentence mends; files that are included are written on their own.
fn lacks_a_sentence(problem: &Problem) -> bool {
    let is_lacking =
        problem.message.ends_with("has no `says`") || problem.message.starts_with("says is empty");
    problem.place.file == 0 && is_lacking
}

/// What becomes of the place of a sentence.
enum Decided {
    Write { quoted: String, written: Written },
    Leave(Left),
    Keep,
}

impl Decided {
    /// Returns the sentence to write.
    fn written(&self) -> Option<&str> {
        match self {
            Self::Write { quoted, .. } => Some(quoted),
            Self::Leave(_) | Self::Keep => None,
        }
    }

    /// Returns the sentence to write, blank where one that is wrong stays.
    fn with_blanks(&self) -> Option<&str> {
        if matches!(self, Self::Leave(_)) { Some(BLANK) } else { self.written() }
    }
}

/// The terms of a policy file's own limits, by where in the text their sentences begin.
fn terms_by_start<'p>(policy: &'p Policy, text: &str) -> BTreeMap<usize, (&'p Limit, Whose<'p>, &'p Terms)> {
    let all = policy.limits().flat_map(|limit| {
        let variants = limit.variants().filter(|(_, terms)| terms.at.0.file == 0);
        variants.map(move |(whose, terms)| (limit, whose, terms))
    });
    all.filter_map(|found| Some((offset(text, found.2.at.0)?, found))).collect()
}

/// Decides what becomes of a sentence; `None` when it is not known whose it is, though one has to be written.
fn decide(edit: &Edit, found: Option<&(&Limit, Whose<'_>, &Terms)>) -> Option<Decided> {
    let Some((limit, whose, terms)) = found else {
        return (edit.fate == Fate::Stays).then_some(Decided::Keep);
    };
    let meaning = limit.meaning(terms);
    if edit.fate != Fate::Stays {
        let name = &limit.name;
        let says = words::canonical(&meaning);
        let limit = whose.shown().map_or_else(|| name.clone(), |shown| format!("{name}, {shown}"));
        let quoted = quoted(&says);
        return Some(Decided::Write {
            quoted,
            written: Written { limit, says, before: edit.before.clone() },
        });
    }
    let wrong = match words::read(edit.before.as_deref().unwrap_or_default(), &meaning) {
        words::Reading::Agrees { .. } => None,
        words::Reading::Contradicts(all) => {
            let first = all.into_iter().next();
            first.map(|Contradiction { claim, fact, sentence, numbers, .. }| {
                (
                    format!("it says \"{claim}\", and {fact}"),
                    format!("write `says: {sentence}`, or take {numbers}"),
                )
            })
        }
        words::Reading::Unclear(Unclear { why, sentence, .. }) => {
            Some((format!("it cannot be read: {why}"), format!("write `says: {sentence}`")))
        }
    };
    let problem = wrong.map(|(message, remedy)| Problem { place: edit.place, message, remedy });
    Some(problem.map_or(Decided::Keep, |problem| Decided::Leave(Left { limit: limit.name.clone(), problem })))
}

/// Writes a sentence as YAML takes it wherever it stands.
fn quoted(says: &str) -> String {
    format!("\"{}\"", says.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
