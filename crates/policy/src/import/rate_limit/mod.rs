//! A `rate-limit:` section as a Spring service has it: an algorithm for each endpoint, and one for the rest.
//!
//! The section is read as that service reads it (`read`: either spelling of a name), with every slip at its place, and
//! written as the parts of a policy (`write`). A file that is served as it is goes through the very same text, so that both
//! ways mean the same and keep the same counts.

mod members;
mod number;
mod overlap;
mod read;
mod slips;
mod spring;
mod write;

use std::fmt::Write as _;

use members::plain;
use read::Section;

use super::Imported;
use super::quote::flow_of_policy;
use crate::file::{Entry, Node, Report, Value, load};
use crate::foreign::Foreign;
use crate::problem::{Place, Problem, Problems};

/// The members of a policy that may stand beside the section, and are read as in any policy.
const BESIDE: [&str; 13] = [
    "gateway",
    "api",
    "envoy",
    "resp",
    "admin",
    "health",
    "store",
    "trusted_proxies",
    "client_header",
    "key_secret_file",
    "instances",
    "alerts",
    "topology",
];
/// Those of them by which somebody can ask.
const FACES: [&str; 5] = ["gateway", "api", "envoy", "resp", "health"];
/// Members of a policy that would be taken for somebody else's, and left out without a word.
const NOT_BESIDE: [&str; 3] = ["rules", "keys", "include"];

/// Returns whether a text has a `rate-limit:` section and is no policy file.
pub fn is_rate_limit(text: &str) -> bool {
    let root = load(text, 0, &mut Report::default());
    root.is_some_and(|root| section(&root).is_some())
}

/// Writes the `rate-limit:` section of a file as a policy file.
///
/// # Errors
/// With everything that is wrong in it, each with its place.
pub fn rate_limit(file_name: &str, text: &str) -> Result<Imported, Problems> {
    let mut report = Report::default();
    let number = report.open_file(file_name);
    let root = load(text, number, &mut report);
    let Some(root) = root.filter(|_| report.is_empty()) else { return Err(report.into_problems()) };
    let Some(entry) = section(&root) else {
        let remedy = "write `rate-limit: { fallback: { algorithm: FIXED_COUNTER, maxRequests: 1000, windowSize: 60 } }`";
        report.add(root.place, "there is no `rate-limit` section", remedy);
        return Err(report.into_problems());
    };
    let section = read::section(&entry.value, &mut report);
    refuse_beside(&root, section.as_ref(), &mut report);
    let Some(section) = section.filter(|_| report.is_empty()) else { return Err(report.into_problems()) };
    let beside = beside(&root);
    let mut remarks = section.remarks(entry.place);
    remarks.extend(store_elsewhere(&root));
    remarks.sort_by_key(|remark| remark.place);
    let mut deployment = String::new();
    for entry in &beside {
        // Writing to a string cannot fail.
        let _ = writeln!(deployment, "{}: {}", entry.key, flow_of_policy(&entry.value));
    }
    let has_face = beside.iter().any(|entry| FACES.contains(&entry.key.as_str()));
    Ok(Imported { text: write::policy(&section, &deployment, has_face), remarks })
}

/// What a file with such a section is when it is served as it is.
pub(crate) struct ServedSection {
    /// The policy.
    pub(crate) root: Node,
    /// Where its service keeps its counts, if it says nothing of where Tidegate does.
    pub(crate) store_elsewhere: Option<Problem>,
}

/// Returns what a file with such a section is; one without is given back.
pub(crate) fn served(root: Node, report: &mut Report) -> Result<ServedSection, Node> {
    let Some(entry) = section(&root) else { return Err(root) };
    let at = entry.place;
    report.note_foreign(at.file, Foreign::RateLimitSection);
    let section = read::section(&entry.value, report);
    refuse_beside(&root, section.as_ref(), report);
    let store_elsewhere = store_elsewhere(&root);
    let entries = beside(&root).into_iter().cloned().collect();
    let mut policy = Node { place: root.place, value: Value::Map(entries) };
    // What stands beside is read as well when the section cannot be, so that one look shows everything.
    let section = section.filter(|_| report.is_empty());
    let parts = section.as_ref().map_or_else(|| write::nothing().to_owned(), write::parts);
    add(&mut policy, &parts, at, section.as_ref());
    Ok(ServedSection { root: policy, store_elsewhere })
}

/// Adds the members of a written text, each rule at the place of what it was made of.
fn add(policy: &mut Node, text: &str, at: Place, section: Option<&Section>) {
    // What is written here is in order; what is not is told by whoever reads it as a policy.
    let Some(Node { value: Value::Map(parts), .. }) = load(text, at.file, &mut Report::default()) else {
        return;
    };
    let Value::Map(entries) = &mut policy.value else { return };
    for mut part in parts {
        let places: Vec<Place> = section.map(|section| section.places_of(&part.key)).unwrap_or_default();
        match &mut part.value.value {
            Value::List(items) if !places.is_empty() => {
                for (index, item) in items.iter_mut().enumerate() {
                    move_to(item, places.get(index).copied().unwrap_or(at));
                }
                part.value.place = at;
            }
            _ => move_to(&mut part.value, places.first().copied().unwrap_or(at)),
        }
        part.place = at;
        entries.push(part);
    }
}

/// Gives a node and all below it one place; the depth is that of a rule.
fn move_to(node: &mut Node, place: Place) {
    node.place = place;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| move_to(item, place)),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| {
            entry.place = place;
            move_to(&mut entry.value, place);
        }),
        Value::Scalar { .. } => {}
    }
}

/// Returns the section of a file that is no policy.
fn section(root: &Node) -> Option<&Entry> {
    let Value::Map(entries) = &root.value else { return None };
    let is_policy = entries.iter().any(|entry| entry.key == "tidegate");
    entries.iter().find(|entry| !is_policy && plain(&entry.key) == "ratelimit")
}

fn beside(root: &Node) -> Vec<&Entry> {
    let Value::Map(entries) = &root.value else { return Vec::new() };
    entries.iter().filter(|entry| BESIDE.contains(&entry.key.as_str())).collect()
}

/// Reports what stands beside the section and cannot be meant as it stands.
fn refuse_beside(root: &Node, section: Option<&Section>, report: &mut Report) {
    refuse_rules(root, report);
    refuse_twice(root, section, report);
    slips::refuse(root, report);
}

/// Whoever writes rules beside the section believes them to hold.
fn refuse_rules(root: &Node, report: &mut Report) {
    let Value::Map(entries) = &root.value else { return };
    for entry in entries.iter().filter(|entry| NOT_BESIDE.contains(&entry.key.as_str())) {
        let message = format!("`{}` beside a `rate-limit` section is not read", entry.key);
        report.add(
            entry.place,
            message,
            "make the file a policy with `tidegate import rate-limit`, and write it there",
        );
    }
}

/// Two lists of who is believed: nobody can tell which one holds.
fn refuse_twice(root: &Node, section: Option<&Section>, report: &mut Report) {
    let second = beside(root).into_iter().find(|entry| entry.key == "trusted_proxies");
    if let Some(second) = second.filter(|_| section.is_some_and(|section| !section.trusted.is_empty())) {
        let message = "trusted proxies are named twice, in the `rate-limit` section and beside it";
        report.add(second.place, message, "keep one of them");
    }
}

/// Returns what to tell of the Redis that the service counts in, where Tidegate is not told of one.
fn store_elsewhere(root: &Node) -> Option<Problem> {
    let has_store = beside(root).iter().any(|entry| entry.key == "store");
    if has_store { None } else { spring::unread(root) }
}
