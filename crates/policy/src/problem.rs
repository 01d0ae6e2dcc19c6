//! What is wrong with a policy file: every finding with its place, its message and its remedy.

use std::collections::BTreeSet;
use std::fmt;

/// A place in a policy file, counted from 1 as editors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which file: 0 for the policy file itself, then those it includes, in order.
    pub file: u16,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Place {
    /// The first character of a file.
    pub const START: Self = Self { file: 0, line: 1, column: 1 };
}

/// Where something stands, beside what it is: two things that are the same are equal wherever they stand.
#[derive(Debug, Clone, Copy)]
pub struct At(pub Place);

impl PartialEq for At {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for At {}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it; empty when the message says it all.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.remedy.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.remedy)
    }
}

/// The most problems that are shown: nobody reads more, and most of them come from one slip.
pub(crate) const MOST: usize = 100;

/// Everything that is wrong with a policy file, in the order of the file; never empty.
#[derive(Clone, PartialEq, Eq)]
pub struct Problems {
    /// The names of the files by the number in a place; the policy file's own is the first.
    files: Vec<String>,
    list: Vec<Problem>,
    not_yaml: bool,
}

impl Problems {
    pub(crate) fn new(files: Vec<String>, mut list: Vec<Problem>, not_yaml: bool) -> Self {
        list.sort_by_key(|problem| problem.place);
        // What several parts read is reported by each.
        let mut told = BTreeSet::new();
        list.retain(|problem| told.insert((problem.place, problem.message.clone())));
        if let Some(last) = list.get(MOST).map(|problem| problem.place) {
            let more = list.len().saturating_sub(MOST);
            list.truncate(MOST);
            let message = format!("{more} more problems from here on");
            list.push(Problem { place: last, message, remedy: "mend those above first".to_owned() });
        }
        if list.is_empty() {
            let message = "the file cannot be read".to_owned();
            list.push(Problem { place: Place::START, message, remedy: String::new() });
        }
        Self { files, list, not_yaml }
    }

    /// Returns the file's name as it was given.
    pub fn file(&self) -> &str {
        self.file_of(Place::START)
    }

    /// Returns the name of the file a place is in.
    pub fn file_of(&self, place: Place) -> &str {
        self.files.get(usize::from(place.file)).map_or("", String::as_str)
    }

    /// Returns whether the file is not YAML, so that nothing is known of what it says.
    pub fn is_not_yaml(&self) -> bool {
        self.not_yaml
    }

    /// Returns the problems in the order of the file.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    /// Writes one line a problem: `policy.yaml:12:9: message; remedy`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:{}: {problem}", self.file_of(problem.place), problem.place)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Problems {
    /// Writes the same lines: this is what a `main` that returns problems prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Problems {}
