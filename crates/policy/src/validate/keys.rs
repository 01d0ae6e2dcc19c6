//! Keys: those the file names, those built in, and those written where they are used.

mod jwt;
mod named;
mod number;
mod source;
mod steps;

use smallvec::SmallVec;

use super::{entries, proxies};
use crate::Reading;
use crate::file::{Entry, Fields, Node, Report, Value, list, nearest, one_or_more};
use crate::key::{
    Derived, DerivedKind, Entry as EnvoyEntry, Key, Normalizer, Origin, Part, Source, SourceKind,
};
use crate::problem::At;

const BUILT_IN: [&str; 4] = ["global", "client_ip", "method", "route"];
/// Where a key is read.
const SOURCES: [&str; 12] = [
    "client_ip",
    "header",
    "query",
    "path",
    "json",
    "form",
    "cookie",
    "phone_country",
    "phone_prefix",
    "descriptor",
    "jwt",
    "request",
];
/// Sources that are read from another key's phone number.
const DERIVED: [(DerivedKind, &str); 2] =
    [(DerivedKind::Country, "phone_country"), (DerivedKind::Prefix, "phone_prefix")];
/// The prefixes of an IPv4 and an IPv6 client: one host, and one network of it.
const PREFIXES: (u8, u8) = (32, 64);

/// The keys that limits may name.
pub(super) struct Table<'a> {
    /// The team whose file this is, if it is one's: its keys are known elsewhere as `team/key`.
    team: Option<String>,
    parts: Vec<Part>,
    /// Names whose definitions could not be read: they are no unknown names.
    broken: Vec<String>,
    /// Names of keys that are declared, but not read yet.
    coming: Vec<String>,
    tokens: jwt::Sources<'a>,
}

impl<'a> Table<'a> {
    /// Reads the keys of the policy file itself.
    pub(super) fn read(node: Option<&Node>, reading: Reading<'a>, report: &mut Report) -> Self {
        let mut table = Self {
            team: None,
            parts: BUILT_IN.map(built_in).to_vec(),
            broken: Vec::new(),
            coming: Vec::new(),
            tokens: jwt::Sources::of(reading),
        };
        table.declare_all(node, report);
        table
    }

    /// Reads the keys of a file that another one includes, which knows the other's keys as well and may not declare
    /// them anew.
    pub(super) fn within(&self, team: &str, node: Option<&Node>, report: &mut Report) -> Self {
        let mut table = Self {
            team: Some(team.to_owned()),
            parts: self.parts.clone(),
            broken: self.broken.clone(),
            coming: Vec::new(),
            tokens: self.tokens.clone(),
        };
        table.declare_all(node, report);
        table
    }

    /// Returns the declared keys that another table does not have.
    pub(super) fn beyond(&self, other: &[Part]) -> Vec<Part> {
        let added = |part: &&Part| other.iter().all(|known| known.name != part.name);
        self.declared().iter().filter(added).cloned().collect()
    }

    /// Returns the keys that are declared, with those of the including file.
    pub(super) fn declared(&self) -> &[Part] {
        self.parts.get(BUILT_IN.len()..).unwrap_or_default()
    }

    /// Returns the name of a key as the file writes it.
    fn written<'p>(&self, part: &'p Part) -> &'p str {
        let own = self.team.as_ref().and_then(|team| part.name.strip_prefix(team)?.strip_prefix('/'));
        own.unwrap_or(&part.name)
    }

    /// Returns the name by which a key that the file declares is known over all files.
    fn full(&self, name: &str) -> String {
        self.team.as_ref().map_or_else(|| name.to_owned(), |team| format!("{team}/{name}"))
    }

    fn find(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| self.written(part) == name)
    }

    /// Declares keys in an order in which each finds those that it is read from, wherever they stand in the file.
    fn declare_all(&mut self, node: Option<&Node>, report: &mut Report) {
        let entries = node.map(|node| entries(node, "keys", report)).unwrap_or_default();
        let entries: Vec<&Entry> = entries.iter().filter(|entry| self.is_free(entry, report)).collect();
        let member = |entry: &Entry, key: &str| entry.value.member(key).is_some();
        let is_choice = |entry: &&Entry| member(entry, "first_of");
        let choices: Vec<&str> =
            entries.iter().copied().filter(is_choice).map(|entry| entry.key.as_str()).collect();
        let names_choice = |entry: &Entry| {
            let base = DERIVED.iter().find_map(|(_, key)| entry.value.member(key)).and_then(Node::scalar);
            base.is_some_and(|base| choices.contains(&base))
        };
        let turn = |entry: &Entry| match () {
            () if is_choice(&entry) => 2,
            () if names_choice(entry) => 3,
            () if DERIVED.iter().any(|(_, key)| member(entry, key)) => 1,
            () => 0,
        };
        self.coming = entries.iter().map(|entry| entry.key.clone()).collect();
        let late: Vec<&str> =
            entries.iter().filter(|entry| turn(entry) > 1).map(|entry| entry.key.as_str()).collect();
        for now in 0..=3 {
            for entry in entries.iter().filter(|entry| turn(entry) == now) {
                let part = if now == 2 {
                    self.choice(entry, &late, report)
                } else {
                    self.inline(Some(&entry.key), &entry.value, report)
                };
                match part {
                    Some(part) => self.parts.push(Part { at: At(entry.place), ..part }),
                    None => self.broken.push(entry.key.clone()),
                }
            }
        }
        self.coming.clear();
    }

    /// Returns whether nothing bears the entry's name yet.
    fn is_free(&self, entry: &Entry, report: &mut Report) -> bool {
        let name = entry.key.as_str();
        if BUILT_IN.contains(&name) {
            report.add(entry.place, format!("the key {name} is built in"), "give this one another name");
            return false;
        }
        let taken = self.find(name).is_some() || self.broken.iter().any(|declared| declared == name);
        if taken {
            let message = format!("the key {name} is declared in the policy that includes this file");
            report.add(entry.place, message, "use that one, or give this one another name");
        }
        !taken
    }

    /// Reads a `first_of`; `late` are those that no other can name.
    fn choice(&self, entry: &Entry, late: &[&str], report: &mut Report) -> Option<Part> {
        let mut fields = Fields::open(&entry.value, format!("the key {}", entry.key), report)?;
        let node = fields.get("first_of")?;
        let called = source::called(fields.get("called"), report);
        fields.finish(&[], report);
        let items = list(node, "first_of", report)?;
        if items.len() < 2 {
            report.add(node.place, "first_of needs at least two keys to choose from", "name them in order");
        }
        let mut parts = Vec::new();
        for item in items {
            if item.scalar().is_some_and(|name| late.contains(&name)) {
                let message = "a first_of cannot name another, nor what is read from one";
                report.add(item.place, message, "name its keys one by one");
                return None;
            }
            let part = self.part(item, report)?;
            parts.push(part);
        }
        Some(Part::new(self.full(&entry.key), called, Origin::FirstOf(parts)))
    }

    /// Reads the key of a limit: a name, a mapping, or a list of them.
    pub(super) fn key(&self, node: &Node, report: &mut Report) -> Option<Key> {
        let items = one_or_more(node);
        let parts: SmallVec<[Part; 2]> = items.iter().filter_map(|item| self.part(item, report)).collect();
        if items.is_empty() {
            report.add(node.place, "the key is an empty list", "name what is counted on, or `global`");
        }
        if parts.is_empty() || parts.len() < items.len() {
            return None;
        }
        for (index, part) in parts.iter().enumerate() {
            let at = items.get(index).map_or(node.place, |item| item.place);
            if parts.iter().take(index).any(|before| before.name == part.name) {
                report.add(at, format!("the key names {} twice", part.name), "remove one");
            }
            if parts.len() > 1 && part.from == Origin::Global {
                report.add(at, "`global` beside another key adds nothing", "remove it");
            }
        }
        Some(Key { parts })
    }

    fn part(&self, node: &Node, report: &mut Report) -> Option<Part> {
        if matches!(node.value, Value::Map(_)) {
            return self.inline(None, node, report);
        }
        self.named(node, report).cloned()
    }

    /// Returns the declared or built-in key that a node names; anything else is reported.
    pub(super) fn named(&self, node: &Node, report: &mut Report) -> Option<&Part> {
        if node.kind() == "nothing" {
            report.add(
                node.place,
                "the key is empty",
                "name what is counted on, such as client_ip or global",
            );
            return None;
        }
        let name = node.text("a key", report)?;
        let found = self.find(name);
        if found.is_none() && !self.broken.iter().any(|broken| broken == name) {
            let unread = self.broken.iter().chain(&self.coming).map(String::as_str);
            let names = self.parts.iter().map(|part| self.written(part)).chain(unread);
            let remedy = || match nearest(name, names) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => named::undeclared(name),
            };
            report.add_with(node.place, format!("the key \"{name}\" is not declared"), remedy);
        }
        found
    }

    /// Reads a key's mapping; one without a name is called after what it reads.
    fn inline(&self, name: Option<&str>, node: &Node, report: &mut Report) -> Option<Part> {
        let what = name.map_or_else(|| "the key".to_owned(), |name| format!("the key {name}"));
        let mut fields = Fields::open(node, what, report)?;
        let called = source::called(fields.get("called"), report);
        let steps = fields.entry("normalize");
        let from = fields.entry("from");
        if name.is_some() {
            // Known, so that a slip in its name is seen.
            fields.entry("first_of");
        }
        let found: Vec<(&'static str, &Entry)> = SOURCES
            .into_iter()
            .filter_map(|source| fields.entry(source).map(|entry| (source, entry)))
            .collect();
        if let [_, (second, entry), ..] = found.as_slice() {
            report.add(
                entry.place,
                format!("a key has one source, and {second} is a second one"),
                "use first_of, or a list",
            );
        }
        if found.is_empty() {
            let remedy = if name.is_none() && fields.take("first_of").is_some() {
                "a `first_of` is declared under `keys`; write its name here".to_owned()
            } else if fields.has("jwks_file") {
                "write `jwt: { claim: sub, jwks_file: keys.json }`".to_owned()
            } else {
                format!("write one of {}", SOURCES.join(", "))
            };
            let sources = [&SOURCES[..], &["first_of"]].concat();
            fields.lack_source(&sources, "the key does not say where it is read", remedy);
        }
        fields.finish(&[], report);
        let (source, entry) = *found.first()?;
        let is_believed = from.is_some_and(|from| proxies::believes(from, &found, report));
        let normalize = steps.map(|steps| steps::read(&steps.value, report)).unwrap_or_default();
        let node = &entry.value;
        let derived = DERIVED.iter().find(|(_, key)| *key == source).map(|(kind, _)| *kind);
        if let Some(steps) = steps {
            steps::check(source, steps.place, &normalize, report);
        }
        let from = if let Some(kind) = derived {
            let of = Box::new(self.number(source, node, report)?);
            Origin::Derived(Derived { kind, of, hash: normalize.contains(&Normalizer::Hash) })
        } else {
            let kind = match source {
                "jwt" => SourceKind::Claim(self.tokens.claim(node, report)?),
                _ => source::kind(source, node, report)?,
            };
            let kind = match kind {
                SourceKind::Header(name) if is_believed => SourceKind::TrustedHeader(name),
                SourceKind::Descriptor(entry) => {
                    SourceKind::Descriptor(EnvoyEntry { vouched: is_believed, ..entry })
                }
                kind => kind,
            };
            Origin::One(Source { kind, normalize })
        };
        let read = node.scalar().or_else(|| node.member("claim").and_then(Node::scalar));
        let reads = || format!("{source} {}", read.unwrap_or_default()).trim_end().to_owned();
        Some(Part::new(name.map_or_else(reads, |name| self.full(name)), called, from))
    }

    /// Reads a claim that is no key but tells something: a mapping such as a key's `jwt` has.
    pub(super) fn claim(&self, node: &Node, report: &mut Report) -> Option<Part> {
        let claim = self.tokens.claim(node, report)?;
        let name = format!("jwt {}", claim.name);
        let source = Source { kind: SourceKind::Claim(claim), normalize: Vec::new() };
        Some(Part::new(name, Vec::new(), Origin::One(source)))
    }
}

fn built_in(name: &'static str) -> Part {
    let kind = match name {
        "client_ip" => Some(SourceKind::ClientIp { ipv4: PREFIXES.0, ipv6: PREFIXES.1 }),
        "method" => Some(SourceKind::Method),
        "route" => Some(SourceKind::Route),
        _ => None,
    };
    let from = kind.map_or(Origin::Global, |kind| Origin::One(Source { kind, normalize: Vec::new() }));
    Part::new(name.to_owned(), Vec::new(), from)
}
