//! A committed copy of a threat model, held against the policy as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::read::{self, Stated};
use super::{ThreatModel, json};

/// A figure or a choice of a committed copy that is no longer so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The rule, or the limit with its terms; empty for the whole policy.
    pub about: String,
    /// What it is: a label of the page, or the members of the JSON that lead to it.
    pub what: String,
    /// What the copy says; none for what it does not know.
    pub old: Option<String>,
    /// What is so; none for what is no more.
    pub new: Option<String>,
}

impl fmt::Display for Difference {
    /// Writes it in a line: `verify/per-account: Most at once: 4 -> 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.about.is_empty() {
            write!(f, "{}: ", self.about)?;
        }
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
        write!(f, "{}: {} -> {}", self.what, side(&self.old), side(&self.new))
    }
}

/// A copy that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompareError {
    /// It is a page of HTML, which is not read back.
    Html,
    /// It begins as JSON and is none.
    Json(String),
    /// Nothing in it is a threat model of ours.
    Nothing,
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Html => f.write_str("it is HTML, which is not read back; keep a copy in Markdown or JSON"),
            Self::Json(error) => write!(f, "it begins as JSON and is none: {error}"),
            Self::Nothing => f.write_str("there is no table of a threat model in it; write it with --output"),
        }
    }
}

impl std::error::Error for CompareError {}

/// Compares the figures and choices of a committed copy, in Markdown or JSON, with the policy as it is.
///
/// What is told twice is compared twice and told once.
///
/// # Errors
/// When the copy is neither, or holds nothing to compare.
pub fn compare(model: &ThreatModel<'_>, copy: &str) -> Result<Vec<Difference>, CompareError> {
    let text = copy.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') {
        return Err(CompareError::Html);
    }
    let (old, new) = if text.starts_with('{') {
        let old: Value = serde_json::from_str(text).map_err(|error| CompareError::Json(error.to_string()))?;
        (json::stated(&old), json::stated(&json::write(model)))
    } else {
        (read::markdown(text), read::markdown(&model.to_markdown()))
    };
    if old.is_empty() {
        return Err(CompareError::Nothing);
    }
    Ok(differences(&old, &new))
}

/// What is said of one thing, in every place where it is said.
type Said<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>;

fn differences(old: &[Stated], new: &[Stated]) -> Vec<Difference> {
    let (before, after) = (said(old), said(new));
    let mut told = BTreeSet::new();
    let mut differences = Vec::new();
    // In the order of the page, what is no more behind.
    for stated in new.iter().chain(old) {
        let key = (stated.about.as_str(), stated.label.as_str());
        if !told.insert(key) {
            continue;
        }
        let difference = |old: Option<&str>, new: Option<&str>| Difference {
            about: stated.about.clone(),
            what: stated.label.clone(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        match (before.get(&key), after.get(&key)) {
            (None, Some(new)) => differences.push(difference(None, new.first().copied())),
            (Some(old), None) => differences.push(difference(old.first().copied(), None)),
            (Some(old), Some(new)) => {
                let gone = old.difference(new).map(|old| difference(Some(old), new.first().copied()));
                differences.extend(gone);
            }
            (None, None) => {}
        }
    }
    differences
}

fn said(stated: &[Stated]) -> Said<'_> {
    let mut said = Said::new();
    for one in stated {
        said.entry((one.about.as_str(), one.label.as_str())).or_default().insert(one.value.as_str());
    }
    said
}
