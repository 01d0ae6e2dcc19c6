//! Counters that other programs count as well: only what a plain number with an end can hold.

use tidegate_algorithms::{Anchor, Quota};

use crate::count::Count;
use crate::file::{Node, Report};
use crate::key::{Key, SourceKind};
use crate::limit::Limit;
use crate::problem::Place;
use crate::rule::Rule;
use crate::shared_counter::SharedCounter;
use crate::store::StoreChoice;

const LONGEST: usize = 64;

/// Reads what the names of the counters begin with.
pub(super) fn read(node: &Node, report: &mut Report) -> Option<SharedCounter> {
    let name = node.text("shared_counter", report)?;
    let may = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if name.len() > LONGEST || !begins || !name.bytes().all(may) {
        let message = format!("shared_counter \"{name}\" is not what a counter's name can begin with");
        let remedy =
            "write what stands before its first colon, such as rate-limit: letters, digits, `-`, `_` and `.`";
        report.add(node.place, message, remedy);
        return None;
    }
    Some(SharedCounter { name: name.to_owned() })
}

/// Reports what a number that ends with its window cannot hold.
pub(super) fn check(limit: &Limit, place: Place, report: &mut Report) {
    if limit.shared_counter.is_none() {
        return;
    }
    if limit.plans.is_some() || !limit.overrides.is_empty() {
        let message = "a shared_counter has one limit, that of all programs that count it";
        report.add(place, message, "remove its plans and overrides, or the shared_counter");
    }
    if limit.count != Count::Every {
        let message = "a shared_counter counts every request, also those that are refused";
        report.add(place, message, "remove `count`, or the shared_counter");
    }
    match limit.terms.quota {
        Quota::FixedWindow(window) if window.anchor() == Anchor::FirstHit => {
            if window.window().as_micros() % 1_000 != 0 {
                let message =
                    "a shared_counter ends on a millisecond, and its window is no whole number of them";
                report.add(place, message, "write the window in whole milliseconds");
            }
        }
        _ => {
            let message = "a shared_counter is a number that ends with its window, from the first request on";
            report.add(
                place,
                message,
                "write `fixed_window: { limit: …, window: …, anchor: first_hit }`, or remove it",
            );
        }
    }
    check_key(&limit.key, place, report);
}

/// Reports counters that would be each other, or what the store keeps.
pub(super) fn check_names<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    store: Option<&StoreChoice>,
    report: &mut Report,
) {
    for rule in rules {
        let mut seen: Vec<(&str, &Key, &Limit)> = Vec::new();
        for limit in &rule.limits {
            let Some(counter) = &limit.shared_counter else { continue };
            check_prefix(limit, counter, store, report);
            let same = seen.iter().find(|(name, key, _)| *name == counter.name && **key == limit.key);
            if let Some((_, _, first)) = same {
                let message = format!(
                    "{} and {} are one shared_counter, in which every request would be counted twice",
                    first.name, limit.name
                );
                report.add(limit.at.0, message, "remove one of them, or give one a counter of another name");
            }
            seen.push((&counter.name, &limit.key, limit));
        }
    }
}

/// A key that is made up could be the name of a state of the store's, or of its overrides.
fn check_prefix(limit: &Limit, counter: &SharedCounter, store: Option<&StoreChoice>, report: &mut Report) {
    let Some(StoreChoice::Redis(redis)) = store else { return };
    let rest = redis.prefix.strip_prefix(&counter.name);
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
        let message = format!(
            "the counters of {} begin with \"{}:\", and so does what the store keeps (its prefix is \"{}\")",
            limit.name, counter.name, redis.prefix
        );
        report.add(limit.at.0, message, "give the store another `prefix`, such as tidegate");
    }
}

/// Parts are spelled out one after the other: only the last may hold what somebody sends, colons included.
fn check_key(key: &Key, place: Place, report: &mut Report) {
    let is_fixed = |part: &crate::key::Part| part.is_address() || part.reads(&SourceKind::Method);
    let Some((_, before)) = key.parts.split_last() else { return };
    if let Some(part) = before.iter().find(|part| !is_fixed(part)) {
        let message =
            format!("the name of a shared_counter spells its key out, and {} may hold colons", part.name);
        report.add(place, message, format!("name {} last in `key`", part.name));
    }
}
