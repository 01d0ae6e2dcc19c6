//! Which of Envoy's descriptors a rule applies to.

use crate::descriptor::{DescriptorPattern, EntryPattern, REMOTE_ADDRESS, ValuePattern};
use crate::file::{Fields, Node, Report, Value, list, one_or_more};
use crate::matcher::Matcher;
use crate::problem::Place;
use crate::rule::Rule;

/// The members of a match by which it is one for descriptors.
pub(super) const MEMBERS: [&str; 2] = ["domain", "descriptor"];
/// What only a match for requests has.
const OF_REQUESTS: [&str; 5] = ["method", "path", "host", "case", "trailing_slash"];

/// Reads a match for descriptors; nothing when any of it cannot be read, since less would match more.
pub(super) fn matcher(fields: &mut Fields<'_>, report: &mut Report) -> Option<Matcher> {
    let mut alone = true;
    for (member, entry) in fields.among(&OF_REQUESTS) {
        let message = format!("`{member}` is of requests, and this match is for Envoy's descriptors");
        let remedy = match entry.value.scalar() {
            Some(value) if matches!(member, "method" | "path" | "host") => {
                format!("write an entry, `{{ key: {member}, value: \"{value}\" }}`, or a rule of its own")
            }
            _ => "remove it, or write a rule of its own for requests".to_owned(),
        };
        report.add(entry.place, message, remedy);
        alone = false;
    }
    let domain = fields.get("domain");
    if domain.is_none() {
        let remedy = "write `domain: …` beside it, the one that Envoy's filter names";
        fields.lack(&["domain"], "match names a descriptor without its domain", remedy);
    }
    let domain = domain.and_then(|node| node.text("the domain", report));
    let entries = fields.get("descriptor").map(|node| entries(node, report));
    if !alone || entries.as_ref().is_some_and(Option::is_none) {
        return None;
    }
    let pattern = DescriptorPattern { domain: domain?.to_owned(), entries: entries.flatten() };
    Some(Matcher { descriptor: Some(pattern), ..Matcher::ANY })
}

/// Tells the keys of a rule's limits which entries they read, where its match gives these other names: whoever judges a key
/// asks who writes the entry, whatever it is called here.
pub(super) fn rename(rule: &mut Rule) {
    let patterns: Vec<&DescriptorPattern> =
        rule.matches.iter().filter_map(|matcher| matcher.descriptor.as_ref()).collect();
    let key = |name: &str| {
        let mut keys = patterns.iter().map(|pattern| {
            let mut entries = pattern.entries.iter().flatten();
            entries.find(|entry| entry.name() == name).map_or(name, |entry| entry.key.as_str())
        });
        let first = keys.next().filter(|key| *key != name)?;
        // Where it is one entry here and another one there, it stays by its name.
        keys.all(|key| key == first).then(|| first.to_owned())
    };
    for part in rule.limits.iter_mut().flat_map(|limit| &mut limit.key.parts) {
        part.rename(&key);
    }
}

fn entries(node: &Node, report: &mut Report) -> Option<Vec<EntryPattern>> {
    let items = list(node, "descriptor", report)?;
    if items.is_empty() {
        let message = "descriptor is an empty list, and every descriptor has an entry";
        report.add(
            node.place,
            message,
            "name its entries, or leave it out for every descriptor of the domain",
        );
        return None;
    }
    let read: Vec<EntryPattern> = items.iter().filter_map(|item| entry(item, report)).collect();
    if read.len() < items.len() {
        return None;
    }
    check_names(&read, items, report);
    Some(read)
}

/// Reads one entry: its key, or a mapping.
fn entry(node: &Node, report: &mut Report) -> Option<EntryPattern> {
    if node.scalar().is_some() {
        let key = node.text("the entry's key", report)?.to_owned();
        return Some(EntryPattern { key, value: ValuePattern::Any, except: Vec::new(), called: None });
    }
    let mut fields = Fields::open(node, "the entry", report)?;
    let key = fields.need("key", "path").and_then(|node| node.text("the entry's key", report));
    let value = fields.get("value").map(|node| values(node, "the value", report));
    let except = fields.get("except").map(|node| values(node, "except", report));
    let called = fields.get("as").map(|node| node.name("the entry's name", report));
    fields.finish(&[], report);
    let except = except.unwrap_or_else(|| Some(Vec::new()))?;
    let value = match value {
        None => ValuePattern::Any,
        Some(values) => one(values?, node, report)?,
    };
    let called = called.map_or(Some(None), |name| name.map(|name| Some(name.to_owned())))?;
    Some(EntryPattern { key: key?.to_owned(), value, except, called })
}

/// Reads values, each with its stars.
fn values(node: &Node, what: &str, report: &mut Report) -> Option<Vec<ValuePattern>> {
    let items = one_or_more(node);
    if items.is_empty() {
        report.add(node.place, format!("{what} is an empty list"), "name a value, or leave it out");
        return None;
    }
    let read: Vec<_> =
        items.iter().filter_map(|item| item.text(what, report).map(ValuePattern::of)).collect();
    (read.len() == items.len()).then_some(read)
}

fn one(values: Vec<ValuePattern>, node: &Node, report: &mut Report) -> Option<ValuePattern> {
    if let Ok([value]) = <[ValuePattern; 1]>::try_from(values) {
        return Some(value);
    }
    let place = node.member("value").map_or(node.place, |node| node.place);
    let remedy = "write one, with a star for any text in it, or a list of matches";
    report.add(place, "the value of an entry is one, and these are several", remedy);
    None
}

/// A name that stands for two entries would read the one or the other.
fn check_names(entries: &[EntryPattern], items: &[Node], report: &mut Report) {
    for (index, (entry, node)) in entries.iter().zip(items).enumerate() {
        let Some(name) = &entry.called else { continue };
        let place = node.member("as").map_or(node.place, |node| node.place);
        let mut others = entries.iter().enumerate().filter(|(other, _)| *other != index);
        let twice = entries.iter().take(index).any(|other| other.called.as_ref() == Some(name));
        if twice {
            report.add(place, format!("two entries are called {name}"), "give one of them another name");
        } else if others.any(|(_, other)| other.key == *name && other.called.is_none()) {
            let message = format!("an entry is called {name}, which is the key of another one");
            report.add(place, message, "give it another name");
        }
    }
}

/// Checks what holds between the matches of a rule and what it leaves out.
pub(super) fn check(rule: &Rule, (match_place, except_place): (Place, Place), report: &mut Report) {
    let of_descriptors = rule.matches.iter().filter(|matcher| matcher.descriptor.is_some()).count();
    if of_descriptors == 0 {
        return;
    }
    if of_descriptors < rule.matches.len() {
        let message = format!("the rule {} is for requests and for Envoy's descriptors at once", rule.name);
        report.add(match_place, message, "write two rules: a rule is for the one or for the other");
    }
    if rule.except.iter().any(|except| except.matcher != Matcher::ANY) {
        let message = "a descriptor has no method, path or host to leave out by";
        let remedy = "leave out values in its entry, `{ key: path, except: [/health] }`, or a `client` here";
        report.add(except_place, message, remedy);
    }
    let told = |matcher: &Matcher| matcher.descriptor.as_ref().is_none_or(tells_client);
    if rule.except.iter().any(|except| !except.clients.is_empty()) && !rule.matches.iter().all(told) {
        let message = "clients are left out by their address, which not every descriptor of the rule tells";
        let remedy = format!("match descriptors with the entry {REMOTE_ADDRESS}");
        report.add(except_place, message, remedy);
    }
}

/// Returns whether descriptors of the pattern may tell the client's address.
pub(super) fn tells_client(pattern: &DescriptorPattern) -> bool {
    let is_address = |entry: &EntryPattern| entry.key == REMOTE_ADDRESS;
    pattern.entries.as_ref().is_none_or(|entries| entries.iter().any(is_address))
}

/// Returns whether a match is meant for descriptors.
pub(super) fn is_one(fields: &Fields<'_>) -> bool {
    MEMBERS.iter().any(|member| fields.has(member))
}

/// Returns the JSON of a value, a text without quotes as YAML readers take it.
pub(super) fn json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Scalar { text, plain: true } => plain(text),
        Value::Scalar { text, .. } => text.as_str().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect(),
    }
}

fn plain(text: &str) -> serde_json::Value {
    match text {
        "true" => return true.into(),
        "false" => return false.into(),
        _ if crate::file::is_null(text) => return serde_json::Value::Null,
        _ => {}
    }
    let whole = text.parse::<i64>().ok().map(serde_json::Value::from);
    let number = || {
        let number = text.parse::<f64>().ok().filter(|_| {
            text.starts_with(|first: char| first == '-' || first == '.' || first.is_ascii_digit())
        });
        number.and_then(serde_json::Number::from_f64).map(serde_json::Value::Number)
    };
    whole.or_else(number).unwrap_or_else(|| text.into())
}
