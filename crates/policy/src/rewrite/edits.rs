//! Which parts of a file are sentences, or are where one is missing.

use std::ops::Range;

use super::places::{behind_colon, offset, value_of};
use crate::file::{Entry, Node, Value};
use crate::problem::Place;
use crate::validate::ALGORITHMS;

/// What stands where a sentence goes until it is known what it says; nobody who reads it understands it.
pub(super) const BLANK: &str = "\"?\"";

/// What is to become of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is not there, and is written.
    Missing,
    /// It gives way to the one that the numbers call for.
    GivesWay,
    /// It stays as it is.
    Stays,
}

/// A place for a sentence.
pub(super) struct Edit {
    pub(super) fate: Fate,
    /// What is replaced, and what has to stand before and behind the sentence.
    range: Range<usize>,
    lead: &'static str,
    trail: String,
    /// The sentence that stands there, and where.
    pub(super) before: Option<String>,
    pub(super) place: Place,
}

/// Looks for the places for sentences in a part of the file.
pub(super) struct Edits<'a> {
    text: &'a str,
    wins: &'a [String],
    list: Vec<Edit>,
    /// The names among `wins` that were found.
    named: Vec<&'a String>,
}

/// What a part of the file lies in.
#[derive(Clone, Copy)]
enum Within<'a> {
    Nothing,
    Rule(&'a str),
    Limit { gives_way: bool },
}

impl<'a> Edits<'a> {
    /// Returns all places in the order of the file, and which of the names whose numbers win were found.
    pub(super) fn of(text: &'a str, wins: &'a [String], root: &Node) -> (Vec<Edit>, Vec<&'a String>) {
        let mut edits = Self { text, wins, list: Vec::new(), named: Vec::new() };
        edits.look(root, Within::Nothing);
        edits.list.sort_by_key(|edit| edit.range.start);
        // What an alias repeats is one part of the text.
        edits.list.dedup_by(|one, other| one.range == other.range);
        (edits.list, edits.named)
    }

    fn look(&mut self, node: &Node, within: Within<'_>) {
        match &node.value {
            Value::Scalar { .. } => {}
            Value::List(items) => items.iter().for_each(|item| self.look(item, within)),
            Value::Map(entries) => {
                let name = node.member("name").and_then(Node::scalar);
                let within = match within {
                    Within::Rule(rule) if node.member("key").is_some() => {
                        Within::Limit { gives_way: self.gives_way(rule, name.unwrap_or_default()) }
                    }
                    other => other,
                };
                for entry in entries {
                    let below = match (entry.key.as_str(), within, name) {
                        ("fallback", Within::Nothing, _) => Within::Rule("fallback"),
                        ("limits", Within::Nothing, Some(rule)) => Within::Rule(rule),
                        _ => within,
                    };
                    self.look(&entry.value, below);
                }
                self.terms(entries, within, self.is_in_braces(node));
            }
        }
    }

    /// Returns whether the numbers of a limit win, and notes that it was found.
    fn gives_way(&mut self, rule: &str, limit: &str) -> bool {
        let name = format!("{rule}/{limit}");
        let named = self.wins.iter().find(|wanted| **wanted == name);
        self.named.extend(named);
        named.is_some()
    }

    /// Looks at terms: a mapping with an algorithm, which needs a sentence beside it.
    fn terms(&mut self, entries: &[Entry], within: Within<'_>, in_braces: bool) {
        let Some(algorithm) = entries.iter().find(|entry| ALGORITHMS.contains(&entry.key.as_str())) else {
            return;
        };
        let edit = match entries.iter().find(|entry| entry.key == "says") {
            Some(says) => self.there(says, matches!(within, Within::Limit { gives_way: true })),
            None => self.above(algorithm, in_braces),
        };
        self.list.extend(edit);
    }

    /// Returns the place of a sentence that is there, or whose member is and has nothing in it.
    fn there(&self, says: &Entry, gives_way: bool) -> Option<Edit> {
        let place = says.value.place;
        let Some(before) = says.value.scalar().filter(|before| !before.is_empty()) else {
            return self.instead_of_nothing(says);
        };
        let range = value_of(self.text, says)?;
        // What is repeated elsewhere is not taken away from there.
        let written = self.text.get(range.clone())?;
        let fate = match (gives_way, written.starts_with(['&', '*', '!'])) {
            (true, _) => Fate::GivesWay,
            (false, true) => return None,
            (false, false) => Fate::Stays,
        };
        Some(Edit { fate, range, lead: "", trail: String::new(), before: Some(before.to_owned()), place })
    }

    /// Returns the place of a sentence whose member is there, with nothing behind it: no text, `~` or an empty one.
    fn instead_of_nothing(&self, says: &Entry) -> Option<Edit> {
        let Value::Scalar { text, plain } = &says.value.value else { return None };
        let (range, lead) = if *plain && text.is_empty() {
            let at = behind_colon(self.text, says)?;
            (at..at, " ")
        } else {
            (value_of(self.text, says)?, "")
        };
        let (trail, place) = (String::new(), says.value.place);
        Some(Edit { fate: Fate::Missing, range, lead, trail, before: None, place })
    }

    /// Returns the place above an algorithm that has no sentence beside it.
    fn above(&self, algorithm: &Entry, in_braces: bool) -> Option<Edit> {
        let at = offset(self.text, algorithm.place)?;
        let trail = if in_braces {
            ", ".to_owned()
        } else {
            let column = usize::try_from(algorithm.place.column).unwrap_or(1).saturating_sub(1);
            format!("\n{}", " ".repeat(column))
        };
        let (lead, place) = ("says: ", algorithm.place);
        Some(Edit { fate: Fate::Missing, range: at..at, lead, trail, before: None, place })
    }

    /// Returns whether a mapping is one in braces; its anchor, if it has one, stands before them.
    fn is_in_braces(&self, mapping: &Node) -> bool {
        let text = offset(self.text, mapping.place).and_then(|at| self.text.get(at..)).unwrap_or_default();
        let anchored = text.strip_prefix('&').and_then(|anchor| anchor.split_once(char::is_whitespace));
        anchored.map_or(text, |(_, behind)| behind.trim_start()).starts_with('{')
    }
}

/// Puts sentences into their places; `None` leaves what is there. Returns the text, and where each sentence begins in it.
pub(super) fn apply<'s>(
    text: &str,
    edits: &[Edit],
    mut sentence: impl FnMut(usize) -> Option<&'s str>,
) -> (String, Vec<usize>) {
    let (mut out, mut starts, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (number, edit) in edits.iter().enumerate() {
        out.push_str(text.get(done..edit.range.start).unwrap_or_default());
        done = edit.range.end;
        if let Some(sentence) = sentence(number) {
            out.push_str(edit.lead);
            starts.push(out.len());
            out.push_str(sentence);
            out.push_str(&edit.trail);
        } else {
            starts.push(out.len());
            out.push_str(text.get(edit.range.clone()).unwrap_or_default());
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, starts)
}
