//! `envoy.files`: rules from configuration files of envoyproxy/ratelimit, served as they are.
//!
//! They become rules by the text that `tidegate import envoy` writes, so that both keep the same counts, and what is wrong
//! with them is told at its place in those files.

use std::collections::BTreeSet;

use super::keys::Table;
use super::rules::{self, Context, PlacedRule};
use crate::Reading;
use crate::file::{self, Fields, Node, Report, one_or_more};
use crate::foreign::Foreign;
use crate::import::{Served, served};
use crate::key::Part;
use crate::surroundings::Surroundings;

/// The most files that one policy serves.
const MAX_FILES: usize = 256;

/// What the files add to a policy.
pub(super) struct Added {
    pub(super) rules: Vec<PlacedRule>,
    pub(super) keys: Vec<Part>,
}

/// Returns where a policy names such files, if it does.
pub(super) fn files<'n>(top: &mut Fields<'n>) -> Option<&'n Node> {
    top.get("envoy").and_then(|envoy| envoy.member("files"))
}

/// Reads the files beside a policy's own rules and keys.
pub(super) fn read(
    node: &Node,
    reading: Reading<'_>,
    context: &Context<'_>,
    own: &[PlacedRule],
    report: &mut Report,
) -> Added {
    let roots = load(node, reading.surroundings, report);
    let Served { mut keys, mut rules } = served(&roots, node.place, report);
    // The text has its dollar signs doubled.
    super::variables::refuse(&mut keys, report);
    super::variables::refuse(&mut rules, report);
    let table = Table::read(Some(&keys), reading, report);
    let theirs = Context { keys: &table, team: None, ..*context };
    let rules = rules::of_files(&rules, &theirs, report);
    check_rules(own, &rules, report);
    let keys = new_keys(context.keys.declared(), table.declared(), node, report);
    Added { rules, keys }
}

fn load(node: &Node, surroundings: &dyn Surroundings, report: &mut Report) -> Vec<Node> {
    let items = one_or_more(node);
    if items.is_empty() {
        report.add(node.place, "files names no file", "write `files: [ratelimit/shop.yaml]`, or remove it");
    }
    if let Some(extra) = items.get(MAX_FILES) {
        let message = format!("more than {MAX_FILES} files are served");
        report.add(extra.place, message, "put domains together; a file has one, and domains are few");
    }
    let mut roots = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items.iter().take(MAX_FILES) {
        let Some(path) = item.text("the file", report) else { continue };
        if !seen.insert(path) {
            report.add(item.place, format!("the file {path} is named twice"), "name it once");
            continue;
        }
        match surroundings.file(path) {
            Ok(bytes) => {
                let number = report.open_file(&report.beside(path));
                report.note_foreign(number, Foreign::EnvoyRatelimit);
                roots.extend(file::load_bytes(bytes, number, report));
            }
            Err(why) => {
                let remedy = "its path is meant from the folder of the policy file";
                report.add(item.place, format!("the file {path} {why}"), remedy);
            }
        }
    }
    roots
}

/// A rule of the policy's own under the name of one that is made would share its counts.
fn check_rules(own: &[PlacedRule], made: &[PlacedRule], report: &mut Report) {
    for rule in own {
        let Some(other) = made.iter().find(|made| made.rule.name == rule.rule.name) else { continue };
        let at = report.cite(other.place, rule.place);
        let message = format!("the rule {} has the name of the one made of {at}", rule.rule.name);
        // `was:` would not help: the name is still there, and so its counts are another's.
        report.add(rule.place, message, "give this one another name; it counts afresh under that");
    }
}

/// Returns the keys that the policy does not have itself. One that it has under the same name has to be the same.
fn new_keys(own: &[Part], made: &[Part], node: &Node, report: &mut Report) -> Vec<Part> {
    let mut new = Vec::new();
    for part in made {
        match own.iter().find(|own| own.name == part.name) {
            None => new.push(part.clone()),
            Some(own) if own.from == part.from => {}
            Some(own) => {
                let name = &part.name;
                let message = format!("the key {name} is another one than the descriptors' entry {name}");
                let at = report.cite(node.place, own.at.0);
                let remedy =
                    format!("give this one another name: the files at {at} count on an entry of that name");
                report.add(own.at.0, message, remedy);
            }
        }
    }
    new
}
