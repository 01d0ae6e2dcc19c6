//! Variables of the environment: `${NAME}` and `${NAME:-default}` in the fields that differ from one deployment to
//! the next, and nowhere else, so that what is limited stands in the file.
//!
//! They are put in as text, after the file was read: a value never becomes a list, a member or a second document.
//! `$${` stands for `${` everywhere.

use crate::file::{Entry, Node, Report, Value};
use crate::problem::Place;
use crate::surroundings::Surroundings;

/// The members of the first level that say where and with what a process runs.
pub(super) const DEPLOYMENT: [&str; 11] = [
    "gateway",
    "api",
    "envoy",
    "admin",
    "health",
    "store",
    "trusted_proxies",
    "client_header",
    "instances",
    "alerts",
    "key_secret_file",
];

/// Fills in the variables of a policy file.
pub(super) fn fill(root: &mut Node, surroundings: &dyn Surroundings, report: &mut Report) {
    let Value::Map(entries) = &mut root.value else { return };
    for entry in entries {
        let deployment = DEPLOYMENT.contains(&entry.key.as_str());
        refuse_in_key(entry, report);
        walk(&mut entry.value, deployment.then_some(surroundings), report);
    }
}

/// Reports every variable in a file that may have none.
pub(super) fn refuse(root: &mut Node, report: &mut Report) {
    walk(root, None, report);
}

/// Fills in what is below a node; without surroundings, every variable is reported. The depth of a tree is bounded.
fn walk(node: &mut Node, surroundings: Option<&dyn Surroundings>, report: &mut Report) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| walk(item, surroundings, report)),
        Value::Map(entries) => {
            for entry in entries {
                refuse_in_key(entry, report);
                walk(&mut entry.value, surroundings, report);
            }
        }
        Value::Scalar { text, plain } => {
            let place = node.place;
            if let Some(name) = bare(text).filter(|_| surroundings.is_some()) {
                let message = format!("{text} is not read as a variable, which is written with braces");
                report.add(place, message, format!("write ${{{name}}}"));
                report.settle(place);
            }
            if is_alone(text) {
                report.note_bare_variable(place);
            }
            if let Some(filled) = filled(text, place, surroundings, report) {
                (*text, *plain) = (filled, false);
            }
        }
    }
}

fn refuse_in_key(entry: &Entry, report: &mut Report) {
    if entry.key.contains("${") {
        let message = format!("\"{}\" is a key, and variables are read in values only", entry.key);
        report.add(entry.place, message, "write the key out");
        report.settle(entry.place);
    }
}

/// Returns the name of a variable that stands without braces and is all of a text.
fn bare(text: &str) -> Option<&str> {
    text.strip_prefix('$').filter(|name| is_variable(name))
}

/// Returns whether a text is `${NAME}` and nothing else.
fn is_alone(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(is_variable)
}

fn is_variable(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(letter) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns a text with its variables filled in; nothing when it has none.
fn filled(
    text: &str,
    place: Place,
    surroundings: Option<&dyn Surroundings>,
    report: &mut Report,
) -> Option<String> {
    let mut rest = text;
    let mut out = String::new();
    let mut names = Vec::new();
    let mut found = false;
    while let Some((before, after)) = rest.split_once("${") {
        found = true;
        if let Some(literal) = before.strip_suffix('$') {
            out.push_str(literal);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some(surroundings) = surroundings else {
            let remedy = "write the value out, or $${ where a text means ${ itself";
            report.add(
                place,
                "variables are read in deployment fields only, such as gateway and store",
                remedy,
            );
            report.settle(place);
            return None;
        };
        let Some((inside, after)) = after.split_once('}') else {
            report.add(place, "a variable that opens with ${ is not closed", "write ${NAME}");
            report.settle(place);
            return None;
        };
        out.push_str(&value(inside, place, surroundings, report)?);
        names.push(format!("${{{}}}", inside.split(':').next().unwrap_or(inside)));
        rest = after;
    }
    out.push_str(rest);
    if !names.is_empty() {
        report.note_variables(place, names.join(" and "));
    }
    found.then_some(out)
}

/// Returns the value of `NAME` or `NAME:-default`. One that is set to nothing counts as not set, as in a shell's `:-`.
fn value(inside: &str, place: Place, surroundings: &dyn Surroundings, report: &mut Report) -> Option<String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_variable(name) || default.is_some_and(|default| default.contains('{')) {
        let message = format!("${{{inside}}} is not how a variable is written");
        report.add(place, message, "write ${NAME}, or ${NAME:-default}");
        report.settle(place);
        return None;
    }
    let set = surroundings.variable(name);
    let is_empty = set.is_some();
    let value = set.filter(|value| !value.is_empty()).or_else(|| default.map(str::to_owned));
    if value.is_none() {
        let message = format!("the variable {name} is {}", if is_empty { "empty" } else { "not set" });
        report.add(place, message, format!("set it, or write a default: ${{{name}:-…}}"));
        report.settle(place);
    }
    value
}
