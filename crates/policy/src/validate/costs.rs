//! Costs: a number, a table by a key, a header of a trusted peer, the length of a list; named or written in place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{entries, keys, proxies, values};
use crate::cost::{Cost, CostHeader, CostItems, CostTable, MAX_COST};
use crate::file::{Entry, Fields, Node, Report, Value, is_name, nearest};
use crate::key::{Part, Pointer};

/// What a cost can be read from.
const SOURCES: [&str; 3] = ["by", "header", "items"];

/// What stands beside them.
const MEMBERS: [(&str, &[&str]); 3] =
    [("default", &["by", "header"]), ("values", &["by"]), ("from", &["header"])];

/// The costs that the file names.
pub(super) struct Table {
    /// `None` for one that could not be read, which is no unknown name.
    costs: BTreeMap<String, Option<Cost>>,
}

impl Table {
    /// Reads the costs of the policy file itself.
    pub(super) fn read(node: Option<&Node>, keys: &keys::Table<'_>, report: &mut Report) -> Self {
        Self { costs: BTreeMap::new() }.within(node, keys, report)
    }

    /// Reads the costs of a file that another one includes, which knows the other's costs as well and may not declare
    /// them anew.
    pub(super) fn within(&self, node: Option<&Node>, keys: &keys::Table<'_>, report: &mut Report) -> Self {
        let entries = node.map(|node| entries(node, "costs", report)).unwrap_or_default();
        let mut costs = self.costs.clone();
        for entry in entries {
            let cost = Self::declared(entry, keys, report);
            if is_name(&entry.key) {
                costs.insert(entry.key.clone(), cost);
            }
            if self.costs.contains_key(&entry.key) {
                let message =
                    format!("the cost {} is declared in the policy that includes this file", entry.key);
                report.add(entry.place, message, "use that one, or give this one another name");
            }
        }
        Self { costs }
    }

    fn declared(entry: &Entry, keys: &keys::Table<'_>, report: &mut Report) -> Option<Cost> {
        // A name that is also a number could not be told from one.
        if entry.key.bytes().all(|byte| byte.is_ascii_digit()) {
            report.add(
                entry.place,
                format!("the cost {} is named like a number", entry.key),
                "give it a word",
            );
            return None;
        }
        let name = &entry.key;
        if matches!(entry.value.value, Value::Map(_)) {
            return mapping(Some(name), &entry.value, keys, report);
        }
        units(&entry.value, &format!("the cost {name}"), 1, report).map(Cost::Units)
    }

    /// Reads the cost of a limit: a number, a name, or a mapping.
    pub(super) fn cost(&self, node: &Node, keys: &keys::Table<'_>, report: &mut Report) -> Option<Cost> {
        if matches!(node.value, Value::Map(_)) {
            return mapping(None, node, keys, report);
        }
        let word =
            |text: &&str| text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        let Some(name) = node.scalar().filter(word) else {
            return units(node, "cost", 1, report).map(Cost::Units);
        };
        let found = self.costs.get(name);
        if found.is_none() {
            let remedy = || match nearest(name, self.costs.keys().map(String::as_str)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "declare it under `costs`, or write a number".to_owned(),
            };
            report.add_with(node.place, format!("the cost \"{name}\" is not declared"), remedy);
        }
        found.cloned().flatten()
    }
}

/// Reads a number of units.
fn units(node: &Node, what: &str, least: u64, report: &mut Report) -> Option<u32> {
    let no_number = |text: &&str| !text.starts_with(|first: char| first.is_ascii_digit());
    if let Some(given) = node.scalar().filter(no_number) {
        let message = format!("{what} \"{given}\" is not a whole number");
        report.add(node.place, message, "write digits only, such as 1");
        return None;
    }
    let units = node.integer_in(what, least..=u64::from(MAX_COST), report)?;
    u32::try_from(units).ok()
}

fn mapping(name: Option<&str>, node: &Node, keys: &keys::Table<'_>, report: &mut Report) -> Option<Cost> {
    let what = name.map_or_else(|| "the cost".to_owned(), |name| format!("the cost {name}"));
    let mut fields = Fields::open(node, &what, report)?;
    let found = fields.among(&SOURCES);
    if let [_, (second, entry), ..] = found.as_slice() {
        report.add(
            entry.place,
            format!("{what} is read in one way, and {second} is a second one"),
            "keep one; two costs are two limits",
        );
    }
    let cost = match found.first() {
        None => {
            let remedy = "write `by` and the name of a key, `header`, or `items`";
            fields.lack_source(&SOURCES, format!("{what} does not say where it is read"), remedy);
            None
        }
        Some(("by", entry)) => {
            let part = keys.named(&entry.value, report);
            if name.is_none() {
                let remedy = "declare it under `costs` and write its name here";
                report.add(entry.place, "a table of costs needs a name", remedy);
            }
            name.and_then(|name| table(&mut fields, name, (part, &entry.value), report))
        }
        Some(("header", _)) => header(&mut fields, &what, report).map(Cost::Header),
        Some((_, entry)) => items(&entry.value, report).map(Cost::Items),
    };
    proxies::refuse_misplaced(&mut fields, &found, &MEMBERS, report);
    fields.finish(&[], report);
    cost
}

/// Reads `default` and `values` of a table by a key.
fn table(
    fields: &mut Fields<'_>,
    name: &str,
    (part, by): (Option<&Part>, &Node),
    report: &mut Report,
) -> Option<Cost> {
    let default = fields.need("default", "1").and_then(|node| units(node, "default", 1, report));
    let node = fields.need("values", "{ \"FR\": 5 }")?;
    let Value::Map(entries) = &node.value else {
        let message = format!("values has to be a mapping, and this is {}", node.kind());
        report.add(node.place, message, "write values of the key and what each costs, `\"FR\": 5`");
        return None;
    };
    let mut reading = part.and_then(|part| values::Reading::of(part, by.place, report));
    let mut list = Vec::new();
    for entry in entries {
        let value = entry.key_text("the value", report);
        let units = units(&entry.value, &format!("the cost of {}", entry.key), 1, report);
        let (Some(value), Some(units)) = (value, units) else { continue };
        list.push((value.to_owned(), units));
        if let Some(reading) = &mut reading {
            reading.put(value, units, entry.place, report);
        }
    }
    let values = reading?.finish();
    Some(Cost::Table(Arc::new(CostTable {
        name: name.to_owned(),
        by: part?.clone(),
        default: default?,
        list,
        values,
    })))
}

fn header(fields: &mut Fields<'_>, what: &str, report: &mut Report) -> Option<CostHeader> {
    let default = fields.get("default").map_or(Some(1), |node| units(node, "default", 1, report));
    let part = proxies::header(fields, what, report);
    Some(CostHeader { part: part?, default: default? })
}

/// Reads the pointer to a list; an empty one is the body itself.
fn items(node: &Node, report: &mut Report) -> Option<CostItems> {
    let whole = matches!(&node.value, Value::Scalar { text, plain: false } if text.is_empty());
    if whole {
        return Some(CostItems { text: String::new(), pointer: Pointer::whole() });
    }
    let text = node.text("items", report)?;
    let pointer = Pointer::read(text);
    if pointer.is_none() {
        let remedy = format!(
            "begin each step with a slash, such as {}; \"\" is the body itself",
            super::pointer(text)
        );
        report.add(node.place, format!("\"{text}\" is not a JSON pointer"), remedy);
    }
    Some(CostItems { text: text.to_owned(), pointer: pointer? })
}
