//! Names that are there once.

use std::collections::BTreeMap;

use super::FALLBACK;
use crate::file::{Node, Report, is_name};
use crate::problem::Place;

/// Checks a rule's name: it is its own, and the fallback's is taken.
pub(super) fn check_rule_name<'n>(
    name: &'n str,
    place: Place,
    names: &mut BTreeMap<&'n str, Place>,
    report: &mut Report,
) {
    if name == FALLBACK {
        report.add(
            place,
            "a rule cannot be called fallback",
            "give it another name, or write it as `fallback:`",
        );
    }
    match names.get(name) {
        Some(first) => {
            report.add(
                place,
                format!("the rule \"{name}\" is here twice, first at {first}"),
                "give one of them another name",
            );
        }
        None => {
            names.insert(name, place);
        }
    }
}

/// Names are compared as they are written, so that two limits of one name show even where something else is wrong
/// with them.
pub(super) fn check_limit_names(limits: &[Node], rule: &str, report: &mut Report) {
    let mut names: BTreeMap<&str, Place> = BTreeMap::new();
    for node in limits.iter().filter_map(|limit| limit.member("name")) {
        let Some(name) = node.scalar().filter(|name| is_name(name)) else { continue };
        match names.get(name) {
            Some(first) => {
                let message = format!("the limit \"{rule}/{name}\" is here twice, first at {first}");
                report.add(node.place, message, "give one of them another name");
            }
            None => {
                names.insert(name, node.place);
            }
        }
    }
}
