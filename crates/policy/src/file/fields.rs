//! Reading a mapping member by member, so that what is left over is what nobody knows.

use super::hints::{Hint, hint, sentence};
use super::sentences::{items, mapping};
use super::{Entry, Node, Report, Value, nearest};
use crate::problem::{MOST, Place};

/// A mapping that is being read.
pub(crate) struct Fields<'n> {
    /// What the mapping is, for messages: `sliding_log`, `the gateway`.
    what: String,
    place: Place,
    entries: &'n [Entry],
    known: Vec<&'static str>,
    lacks: Vec<Lack>,
}

/// A member that has to be there and is not: any of `keys` would have done.
struct Lack {
    keys: Vec<&'static str>,
    message: String,
    remedy: String,
    /// Whether a member that nobody knows was meant for one of them.
    takes_unknown: bool,
}

impl<'n> Fields<'n> {
    /// Opens a mapping; anything else is reported.
    pub(crate) fn open(node: &'n Node, what: impl Into<String>, report: &mut Report) -> Option<Self> {
        let what = what.into();
        let Value::Map(entries) = &node.value else {
            let message = format!("{what} has to be a mapping, and this is {}", node.kind());
            report.add(node.place, message, mapping(&what));
            return None;
        };
        Some(Self { what, place: node.place, entries, known: Vec::new(), lacks: Vec::new() })
    }

    /// Returns where the mapping begins.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns whether nothing stands in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns a member's value.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns a member.
    pub(crate) fn entry(&mut self, key: &'static str) -> Option<&'n Entry> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns those of some members that are there, in the order of the file.
    pub(crate) fn among(&mut self, keys: &[&'static str]) -> Vec<(&'static str, &'n Entry)> {
        let mut found: Vec<(&'static str, &Entry)> =
            keys.iter().filter_map(|key| self.entry(key).map(|entry| (*key, entry))).collect();
        found.sort_by_key(|(_, entry)| entry.place);
        found
    }

    /// Returns a member that has no place here, so that nothing else is said of it.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'n Entry> {
        if self.has(key) { self.entry(key) } else { None }
    }

    /// Returns whether every member is one of these.
    pub(crate) fn has_only(&self, members: &[&str]) -> bool {
        self.entries.iter().all(|entry| members.contains(&entry.key.as_str()))
    }

    /// Returns whether a member is there, without knowing it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Returns where a member's value stands, or the mapping's place when it is not there.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.entries.iter().find(|entry| entry.key == key).map_or(self.place, |entry| entry.value.place)
    }

    /// Returns a member's text as it is written, without knowing the member.
    pub(crate) fn written(&self, key: &str) -> Option<&'n str> {
        self.entries.iter().find(|entry| entry.key == key)?.value.scalar()
    }

    /// Returns a member that has to be there; its absence is reported with an example.
    pub(crate) fn need(&mut self, key: &'static str, example: &str) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            let message = format!("{} has no `{key}`", self.what);
            self.lack(&[key], message, format!("write `{key}: {example}`"));
        }
        found
    }

    /// Returns a member that has to be there unless another is.
    pub(crate) fn need_unless(
        &mut self,
        key: &'static str,
        other: &'static str,
        remedy: &str,
    ) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            let message = format!("{} has no `{key}`", self.what);
            self.lack(&[key, other], message, remedy);
        }
        found
    }

    /// Notes that none of some members is there. It is reported at the end, unless one of them turns out to be there
    /// with a slip in its name, which is then the one thing to say.
    pub(crate) fn lack(
        &mut self,
        keys: &[&'static str],
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (message, remedy) = (message.into(), remedy.into());
        self.lacks.push(Lack { keys: keys.to_vec(), message, remedy, takes_unknown: false });
    }

    /// Notes that none of some members is there, of which one is what the mapping is about: a member that nobody knows
    /// was meant for it, and is then the one thing to say.
    pub(crate) fn lack_source(
        &mut self,
        keys: &[&'static str],
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.lack(keys, message, remedy);
        if let Some(lack) = self.lacks.last_mut() {
            lack.takes_unknown = true;
        }
    }

    /// Returns the member and its value that YAML took for one word: `path:/a`, `limit = 10`.
    fn run_together<'e>(&self, entry: &'e Entry) -> Option<(&'static str, &'e str)> {
        let (name, value) = entry.key.split_once([':', '=']).filter(|_| entry.value.kind() == "nothing")?;
        let member = self.known.iter().find(|member| **member == name.trim())?;
        Some((member, value.trim()))
    }

    /// Returns what to do about a member that nobody knows, and the members that were meant by it; nothing when nobody
    /// knows that either.
    fn remedy(&self, entry: &Entry) -> Option<(String, Vec<&'static str>)> {
        let key = entry.key.as_str();
        if let Some((words, covers)) = sentence(key, &self.known) {
            return Some((words.to_owned(), covers.to_vec()));
        }
        if let Some(known) = nearest(key, self.known.iter().copied()) {
            let meant = self.known.iter().copied().find(|member| *member == known);
            return Some((format!("did you mean \"{known}\"?"), meant.into_iter().collect()));
        }
        if let Some((member, value)) = self.run_together(entry) {
            return Some((format!("write `{member}: {value}`, with a colon and a space"), vec![member]));
        }
        // A comma ends a text inside braces, and what follows looks like a key without a value.
        if key.contains(' ') && entry.value.kind() == "nothing" {
            let remedy = "if it belongs to the text before it, put that text in double quotes";
            return Some((remedy.to_owned(), Vec::new()));
        }
        Some(match hint(key, &self.known)? {
            Hint::Member(member) => (format!("did you mean \"{member}\"?"), vec![member]),
            Hint::SecretFile(member) => {
                (format!("secrets come from files: write `{member}: …`"), vec![member])
            }
            Hint::Words(words, covers) => (words.to_owned(), covers.to_vec()),
        })
    }

    /// Ends the reading: reports every member that was not asked for, and what is lacking. `later` are words of the
    /// language that this version does not know yet.
    pub(crate) fn finish(mut self, later: &[&str], report: &mut Report) {
        let mut meant = Vec::new();
        let mut takers: Vec<Lack> = Vec::new();
        let mut looked_at = 0_usize;
        let is_known = |entry: &&Entry| self.known.contains(&entry.key.as_str());
        for entry in self.entries.iter().filter(|entry| !is_known(entry)) {
            let key = entry.key.as_str();
            // What a merge key or a variable would bring may be all that is lacking; they are told of elsewhere.
            if key == "<<" || key.contains("${") {
                self.lacks.clear();
            }
            if key == "<<" {
                continue;
            }
            // A remedy takes time to find, and a file may have a hundred thousand unknown members.
            let is_worth_it = report.shows(entry.place) || (looked_at < MOST && report.shows(self.place));
            let told = if later.contains(&key) || !is_worth_it { None } else { self.remedy(entry) };
            looked_at = looked_at.saturating_add(1);
            if told.is_none() {
                takers.extend(self.lacks.extract_if(.., |lack| lack.takes_unknown));
            }
            if later.contains(&key) {
                let message = format!("`{key}` in {} is not yet supported", self.what);
                report.add(entry.place, message, "leave it out in this version");
                continue;
            }
            let remedy = told.map(|(remedy, members)| {
                meant.extend(members);
                remedy
            });
            let remedy = remedy.or_else(|| takers.first().map(|lack| lack.remedy.clone()));
            let remedy = remedy.unwrap_or_else(|| format!("it knows {}", self.known.join(", ")));
            report.add(entry.place, format!("unknown key \"{key}\" in {}", self.what), remedy);
        }
        for lack in self.lacks.into_iter().filter(|lack| !lack.keys.iter().any(|key| meant.contains(key))) {
            report.add(self.place, lack.message, lack.remedy);
        }
    }
}

/// Returns the items of a list; anything else is reported.
pub(crate) fn list<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n [Node]> {
    let Value::List(items) = &node.value else {
        let message = format!("{what} has to be a list, and this is {}", node.kind());
        report.add(node.place, message, items(what));
        return None;
    };
    Some(items)
}

/// Returns the items of a list, or the one value that stands for a list of one.
pub(crate) fn one_or_more(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => std::slice::from_ref(node),
    }
}
