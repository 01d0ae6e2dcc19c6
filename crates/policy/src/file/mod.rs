//! A policy file as written: a tree of values, each with its place.
//!
//! Nothing here knows what a policy is. Scalars stay text: `validate` knows at each place whether it wants a
//! number, a name or a span, so that no value is ever guessed at (`NO` is a country, `012` a slip).

mod fields;
mod hints;
mod load;
mod meant;
mod near;
mod scalar;
mod sentences;

pub(crate) use fields::{Fields, list, one_or_more};
pub(crate) use load::{load, load_bytes};
pub(crate) use near::nearest;
pub(crate) use scalar::{is_name, name_remedy, span};
pub(crate) use sentences::items;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::foreign::Foreign;
use crate::problem::{MOST, Place, Problem, Problems};

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Text; `plain` when it stands without quotes, so that YAML readers may take it for something else.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One member of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Whether the key stands without quotes.
    pub(crate) plain: bool,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

impl Node {
    /// Returns what kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar { text, plain: true } if is_null(text) => "nothing",
            Value::Scalar { .. } => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// Returns a member's value; `None` when it is not there, or this is no mapping.
    pub(crate) fn member(&self, key: &str) -> Option<&Self> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Returns the text of a scalar that is not null.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, plain } if !(*plain && is_null(text)) => Some(text),
            _ => None,
        }
    }
}

/// Returns whether a plain scalar stands for nothing.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Where problems are collected.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The names of the files that were read, the policy file's own first.
    files: Vec<String>,
    list: Vec<Problem>,
    /// The first places of problems, as many as are shown.
    first: BTreeSet<Place>,
    not_yaml: bool,
    /// The variables in the values at these places.
    variables: BTreeMap<Place, String>,
    /// Where a value is one variable, and has neither a default nor text around it.
    bare_variables: BTreeSet<Place>,
    /// Places of which all is said.
    settled: BTreeSet<Place>,
    /// Names that are declared, and references to such names, which may stand above them.
    declared: BTreeSet<String>,
    references: Vec<(Place, String)>,
    /// The files that are another program's.
    foreign: BTreeMap<u16, Foreign>,
}

impl Report {
    /// Adds a problem.
    pub(crate) fn add(&mut self, place: Place, message: impl Into<String>, remedy: impl Into<String>) {
        if self.settled.contains(&place) {
            return;
        }
        self.list.push(Problem { place, message: message.into(), remedy: remedy.into() });
        if self.shows(place) {
            self.first.insert(place);
            if self.first.len() > MOST {
                self.first.pop_last();
            }
        }
    }

    /// Adds a problem whose remedy takes time or room, which only one that may be shown is worth.
    pub(crate) fn add_with(
        &mut self,
        place: Place,
        message: impl Into<String>,
        remedy: impl FnOnce() -> String,
    ) {
        let remedy = if self.shows(place) { remedy() } else { String::new() };
        self.add(place, message, remedy);
    }

    /// Returns whether a problem at a place may still be among those that are shown: what takes time to find out is not
    /// worth it for another.
    pub(crate) fn shows(&self, place: Place) -> bool {
        self.first.len() < MOST || self.first.last().is_some_and(|last| place <= *last)
    }

    /// Notes that no more is to be said of a value: what it holds is not what was meant.
    pub(crate) fn settle(&mut self, place: Place) {
        self.settled.insert(place);
    }

    /// Notes that the text is not YAML, beside the problem that says why.
    pub(crate) fn not_yaml(&mut self) {
        self.not_yaml = true;
    }

    /// Returns whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Opens a file under a name and returns the number that its places bear.
    pub(crate) fn open_file(&mut self, name: &str) -> u16 {
        self.files.push(name.to_owned());
        u16::try_from(self.files.len().saturating_sub(1)).unwrap_or(u16::MAX)
    }

    /// Notes that a file is another program's, and served as it is.
    pub(crate) fn note_foreign(&mut self, file: u16, whose: Foreign) {
        self.foreign.insert(file, whose);
    }

    /// Returns the files that are another program's.
    pub(crate) fn foreign(&self) -> &BTreeMap<u16, Foreign> {
        &self.foreign
    }

    /// Returns the names of the files that were read, by the number in a place.
    pub(crate) fn file_names(&self) -> &[String] {
        &self.files
    }

    /// Returns the name of the file a place is in.
    pub(crate) fn name_of(&self, place: Place) -> &str {
        self.files.get(usize::from(place.file)).map_or("", String::as_str)
    }

    /// Returns the name of a file whose path is meant from the folder of the policy file.
    pub(crate) fn beside(&self, path: &str) -> String {
        let folder = Path::new(self.name_of(Place::START)).parent().unwrap_or(Path::new(""));
        folder.join(path).display().to_string()
    }

    /// Returns a place as one reads it from another: with its file's name, if that is another file.
    pub(crate) fn cite(&self, place: Place, from: Place) -> String {
        if place.file == from.file { place.to_string() } else { format!("{}:{place}", self.name_of(place)) }
    }

    /// Notes which variables are in the value at a place: who reads a problem there sees their names in the file,
    /// and what they hold in the problem.
    pub(crate) fn note_variables(&mut self, place: Place, names: String) {
        self.variables.insert(place, names);
    }

    /// Returns whether the value at a place is one variable of the environment, and nothing besides.
    pub(crate) fn is_variable(&self, place: Place) -> bool {
        self.bare_variables.contains(&place)
    }

    /// Notes that the value at a place is one variable alone.
    pub(crate) fn note_bare_variable(&mut self, place: Place) {
        self.bare_variables.insert(place);
    }

    /// Notes a name that references lead to, wherever they stand.
    pub(crate) fn declare(&mut self, name: &str) {
        self.declared.insert(name.to_owned());
    }

    /// Notes a reference to a name that may be declared further on, or in another file.
    pub(crate) fn refer(&mut self, place: Place, name: &str) {
        self.references.push((place, name.to_owned()));
    }

    /// Takes the references to what nobody has declared, each with the declared name that is nearest.
    pub(crate) fn dangling(&mut self) -> Vec<(Place, String, Option<String>)> {
        let references = std::mem::take(&mut self.references);
        let dangling = references.into_iter().filter(|(_, name)| !self.declared.contains(name));
        let near = |name: &str| nearest(name, self.declared.iter().map(String::as_str)).map(str::to_owned);
        // The first of them are those that may be shown.
        let mut dangling: Vec<_> = dangling.collect();
        dangling.sort();
        dangling
            .into_iter()
            .enumerate()
            .map(|(index, (place, name))| {
                let near = if index <= MOST && self.shows(place) { near(&name) } else { None };
                (place, name, near)
            })
            .collect()
    }

    /// Returns the problems of all files.
    pub(crate) fn into_problems(mut self) -> Problems {
        for problem in &mut self.list {
            if let Some(names) = self.variables.get(&problem.place) {
                problem.message = format!("{} (with {names} filled in as text)", problem.message);
            }
        }
        Problems::new(self.files, self.list, self.not_yaml)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> Place {
        Place { line, ..Place::START }
    }

    /// Guards against a file of 1 MiB that takes half a minute to refuse: remedies were looked for that nobody is shown,
    /// and each may be long.
    #[test]
    fn a_remedy_is_looked_for_only_where_it_may_be_shown() {
        let (mut report, mut looked) = (Report::default(), 0);
        for line in 1..=1_000 {
            report.add_with(at(line), "wrong", || {
                looked += 1;
                "mend it".to_owned()
            });
        }
        assert_eq!(looked, MOST);
        let problems = report.into_problems();
        assert!(problems.list()[..MOST].iter().all(|problem| problem.remedy == "mend it"));
        assert_eq!(problems.list()[MOST].message, "900 more problems from here on");
    }

    /// Guards the remedies of what is read late and stands early, as an unknown member of the first level does.
    #[test]
    fn what_stands_early_has_its_remedy_however_late_it_is_read() {
        let mut report = Report::default();
        for line in (1..=1_000).rev() {
            report.add_with(at(line), "wrong", || "mend it".to_owned());
            report.add_with(at(line), "wrong as well", || "mend it".to_owned());
        }
        let problems = report.into_problems();
        assert!(problems.list()[..MOST].iter().all(|problem| problem.remedy == "mend it"));
    }
}
