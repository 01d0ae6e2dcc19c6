//! Members of the section, whose names Spring takes in several spellings: `maxRequests`, `max-requests`, `max_requests`.

use crate::file::{Entry, Node, Report, Value, nearest};

/// Returns a name without what the spellings differ in.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(|letter| !matches!(letter, '-' | '_'))
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// A mapping of the section that is being read.
pub(super) struct Members<'n> {
    what: String,
    node: &'n Node,
    entries: &'n [Entry],
    known: Vec<&'static str>,
}

impl<'n> Members<'n> {
    /// Opens a mapping; anything else is reported with what to write.
    pub(super) fn open(
        node: &'n Node,
        what: impl Into<String>,
        example: &str,
        report: &mut Report,
    ) -> Option<Self> {
        let what = what.into();
        let Value::Map(entries) = &node.value else {
            let message = format!("{what} has to be a mapping, and this is {}", node.kind());
            report.add(node.place, message, format!("write `{example}`"));
            return None;
        };
        Some(Self { what, node, entries, known: Vec::new() })
    }

    /// Returns a member by the name that Java code has for it; a second one under another spelling is reported.
    pub(super) fn get(&mut self, name: &'static str, report: &mut Report) -> Option<&'n Node> {
        self.known.push(name);
        let mut found = self.entries.iter().filter(|entry| plain(&entry.key) == plain(name));
        let first = found.next()?;
        for second in found {
            let message =
                format!("{} has {name} twice, as `{}` and as `{}`", self.what, first.key, second.key);
            report.add(second.place, message, "keep one");
        }
        Some(&first.value)
    }

    /// Returns a member that has to be there.
    pub(super) fn need(
        &mut self,
        name: &'static str,
        example: &str,
        report: &mut Report,
    ) -> Option<&'n Node> {
        let found = self.get(name, report);
        // A member that nobody knows and that is nearly this one is told instead.
        if found.is_none() && !self.entries.iter().any(|entry| self.is_slip(entry, name)) {
            let message = format!("{} has no `{name}`", self.what);
            report.add(self.node.place, message, format!("write `{name}: {example}`"));
        }
        found
    }

    fn is_slip(&self, entry: &Entry, name: &str) -> bool {
        let others = self.known.iter().filter(|known| **known != name);
        let is_another = others.into_iter().any(|known| plain(known) == plain(&entry.key));
        !is_another && nearest(&plain(&entry.key), [plain(name).as_str()]).is_some()
    }

    /// Reports what is left: members that nobody knows, and those of `others`, which mean something elsewhere.
    pub(super) fn finish(self, others: &[&str], report: &mut Report) {
        for entry in self.entries {
            if self.known.iter().any(|known| plain(known) == plain(&entry.key)) {
                continue;
            }
            let names = self.known.join(", ");
            if others.iter().any(|other| plain(other) == plain(&entry.key)) {
                let message = format!("{} takes no `{}`", self.what, entry.key);
                report.add(entry.place, message, format!("it takes {names}"));
                continue;
            }
            let spellings: Vec<String> = self.known.iter().map(|known| plain(known)).collect();
            let near = nearest(&plain(&entry.key), spellings.iter().map(String::as_str));
            let near = near.and_then(|near| self.known.iter().find(|known| plain(known) == near));
            let remedy =
                near.map_or_else(|| format!("it takes {names}"), |near| format!("did you mean \"{near}\"?"));
            report.add(entry.place, format!("unknown member \"{}\" in {}", entry.key, self.what), remedy);
        }
    }
}
