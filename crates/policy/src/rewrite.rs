//! Writing sentences into a policy file: those that are missing, and those that contradict numbers which are meant.
//!
//! The file is edited as text, so that comments, order and everything else of it stay as they are. Where a sentence goes
//! is told by the tree; what it says by the policy that the edited text gives.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use saphyr_parser::{Event, Parser};

use crate::file::{Entry, Node, Report, Value, load};
use crate::limit::Whose;
use crate::problem::{Place, Problems};
use crate::validate::ALGORITHMS;
use crate::{Policy, Reading, words};

/// What stands where a sentence goes until it is known what it says; nobody who reads it understands it.
const BLANK: &str = "\"?\"";

/// A policy file with its sentences written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The file's text.
    pub text: String,
    /// What was written, in the order of the file.
    pub written: Vec<Written>,
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
    let mut edits = Edits { text, wins: numbers_win, list: Vec::new(), named: Vec::new() };
    edits.look(&root, None);
    if let Some(name) = numbers_win.iter().find(|name| !edits.named.contains(name)) {
        return Err(RewriteError::UnknownLimit(name.clone()));
    }
    let blanked = edits.apply();
    let policy = reading.parse(file_name, &blanked).map_err(|problems| {
        // What is told has to stand where the file has it, not where the blanks have moved it.
        RewriteError::Problems(reading.parse(file_name, text).err().unwrap_or(problems))
    })?;
    let rewritten = fill(&policy, &blanked, &edits.before());
    let safe = reading.parse(file_name, &rewritten.text).map_err(|problems| problems.to_string());
    match safe {
        Err(why) => Err(RewriteError::Unsafe(why)),
        Ok(after) if after.rules.len() != policy.rules.len() => {
            Err(RewriteError::Unsafe("its rules would not be the same".to_owned()))
        }
        Ok(_) => Ok(rewritten),
    }
}

/// An edit: what is replaced, by what, and the sentence that stood there.
struct Edit {
    range: Range<usize>,
    with: String,
    before: Option<String>,
}

/// Where sentences are missing or rewritten.
struct Edits<'a> {
    text: &'a str,
    wins: &'a [String],
    list: Vec<Edit>,
    /// The names among `wins` that were found.
    named: Vec<&'a String>,
}

impl Edits<'_> {
    /// Looks for terms in a part of the file; `limit` is the limit they are of, once that is known.
    fn look(&mut self, node: &Node, limit: Option<&str>) {
        match &node.value {
            Value::Scalar { .. } => {}
            Value::List(items) => items.iter().for_each(|item| self.look(item, limit)),
            Value::Map(entries) => {
                let name = node.member("name").and_then(Node::scalar);
                for entry in entries {
                    let within = match (entry.key.as_str(), limit, name) {
                        ("fallback", None, _) => Some("fallback".to_owned()),
                        ("limits", None, Some(rule)) => Some(rule.to_owned()),
                        _ => limit.map(str::to_owned),
                    };
                    self.look(&entry.value, within.as_deref());
                }
                if let (Some(within), Some(_)) = (limit, node.member("key")) {
                    self.look_at_limit(node, &format!("{within}/{}", name.unwrap_or_default()));
                }
                self.terms(node);
            }
        }
    }

    /// Looks at terms: a mapping with an algorithm, which needs a sentence beside it.
    fn terms(&mut self, node: &Node) {
        let Value::Map(entries) = &node.value else { return };
        let Some(algorithm) = entries.iter().find(|entry| ALGORITHMS.contains(&entry.key.as_str())) else {
            return;
        };
        if node.member("says").is_some() {
            return;
        }
        let Some(at) = offset(self.text, algorithm.place) else { return };
        let with = if self.is_in_braces(at) {
            format!("says: {BLANK}, ")
        } else {
            let column = usize::try_from(algorithm.place.column).unwrap_or(1).saturating_sub(1);
            format!("says: {BLANK}\n{}", " ".repeat(column))
        };
        self.list.push(Edit { range: at..at, with, before: None });
    }

    /// Blanks the sentences of a limit whose numbers are to win.
    fn look_at_limit(&mut self, node: &Node, name: &str) {
        let Some(named) = self.wins.iter().find(|wanted| *wanted == name) else { return };
        self.named.push(named);
        self.blank(node);
    }

    fn blank(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { .. } => {}
            Value::List(items) => items.iter().for_each(|item| self.blank(item)),
            Value::Map(entries) => {
                for entry in entries {
                    let range = value_of(self.text, entry);
                    if let (true, Some(says), Some(range)) =
                        (entry.key == "says", entry.value.scalar(), range)
                    {
                        let before = Some(says.to_owned());
                        self.list.push(Edit { range, with: BLANK.to_owned(), before });
                    } else {
                        self.blank(&entry.value);
                    }
                }
            }
        }
    }

    /// Returns whether a member at that place stands in a mapping in braces.
    fn is_in_braces(&self, at: usize) -> bool {
        let before = self.text.get(..at).unwrap_or_default();
        before.trim_end().ends_with(['{', ','])
    }

    /// Returns the text with all edits made.
    fn apply(&mut self) -> String {
        self.list.sort_by_key(|edit| edit.range.start);
        let (mut out, mut done) = (String::with_capacity(self.text.len()), 0);
        for edit in &self.list {
            out.push_str(self.text.get(done..edit.range.start).unwrap_or_default());
            out.push_str(&edit.with);
            done = edit.range.end;
        }
        out.push_str(self.text.get(done..).unwrap_or_default());
        out
    }

    /// Returns the sentences that stood where blanks stand now, in the order of the file.
    fn before(&self) -> Vec<Option<String>> {
        self.list.iter().map(|edit| edit.before.clone()).collect()
    }
}

/// Writes a sentence over each blank.
fn fill(policy: &Policy, blanked: &str, before: &[Option<String>]) -> Rewritten {
    let mut sentences = BTreeMap::new();
    for limit in policy.limits() {
        for (whose, terms) in limit.variants() {
            // Those of other files have their own.
            let range = scalar_at(blanked, terms.at.0).filter(|_| terms.at.0.file == 0);
            if let Some(range) = range.filter(|range| blanked.get(range.clone()) == Some(BLANK)) {
                let says = words::canonical(&limit.meaning(terms));
                sentences.insert(range.start, (called(&limit.name, whose), says));
            }
        }
    }
    let (mut text, mut written, mut done) = (String::new(), Vec::new(), 0);
    for ((start, (limit, says)), before) in sentences.into_iter().zip(before.iter().cloned()) {
        text.push_str(blanked.get(done..start).unwrap_or_default());
        text.push_str(&quoted(&says));
        done = start.saturating_add(BLANK.len());
        written.push(Written { limit, says, before });
    }
    text.push_str(blanked.get(done..).unwrap_or_default());
    Rewritten { text, written }
}

fn called(name: &str, whose: Whose<'_>) -> String {
    whose.shown().map_or_else(|| name.to_owned(), |shown| format!("{name}, {shown}"))
}

/// Writes a sentence as YAML takes it wherever it stands.
fn quoted(says: &str) -> String {
    format!("\"{}\"", says.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the byte at which something stands.
fn offset(text: &str, place: Place) -> Option<usize> {
    let (line, column) = (usize::try_from(place.line).ok()?, usize::try_from(place.column).ok()?);
    let mut start = if text.starts_with('\u{feff}') && line == 1 { '\u{feff}'.len_utf8() } else { 0 };
    for _ in 1..line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let rest = text.get(start..)?;
    let ahead = rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at);
    Some(start + ahead)
}

/// Returns the bytes of a member's scalar, from behind the colon: a block begins with its sign, before its text.
fn value_of(text: &str, entry: &Entry) -> Option<Range<usize>> {
    let end = scalar_at(text, entry.value.place)?.end;
    let key = offset(text, entry.place)?;
    let behind = key + text.get(key..end)?.find(':')? + 1;
    let value = text.get(behind..end)?;
    Some(end - value.trim_start().len()..end)
}

/// Returns the bytes of the scalar that stands at a place, its quotes included.
fn scalar_at(text: &str, place: Place) -> Option<Range<usize>> {
    let begin = offset(text, place)?;
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len().checked_sub(bare.len())?;
    let mut parser = Parser::new_from_str(bare);
    while let Some(Ok((event, span))) = parser.next_event() {
        let starts = (span.start.line(), span.start.col() + 1);
        let wanted = (usize::try_from(place.line).ok()?, usize::try_from(place.column).ok()?);
        if matches!(event, Event::Scalar(..)) && starts == wanted {
            let end = bare.char_indices().nth(span.end.index()).map_or(bare.len(), |(at, _)| at);
            let scalar = text.get(begin..end.checked_add(shift)?)?;
            return Some(begin..begin + scalar.trim_end().len());
        }
    }
    None
}

#[cfg(test)]
mod tests;
