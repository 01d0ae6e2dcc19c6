//! `include`: the files of teams, each with rules of its own under the team's name.
//!
//! A team's file may hold what is limited and what that needs, and nothing of the deployment. It sees the keys, costs
//! and codes of the file that includes it. With a `match`, a team can limit nothing but what lies below it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::rules::{self, Context, PlacedRule};
use super::variables::DEPLOYMENT;
use super::{entries, matches, overlap, variables, version};
use crate::examined::Code;
use crate::file::{self, Entry, Fields, Node, Report, Value};
use crate::key::Part;
use crate::matcher::{Matcher, Pattern};
use crate::problem::Place;
use crate::surroundings::Surroundings;

/// The most files that one policy includes.
const MAX_FILES: usize = 64;
/// What belongs to all teams at once, beside the deployment.
const COMMON: [&str; 6] = ["mode", "paths", "headers", "problem", "fallback", "include"];

/// What the files of teams see of the file that includes them.
pub(super) struct Outer<'a> {
    pub(super) surroundings: &'a dyn Surroundings,
    /// What its rules are read with.
    pub(super) context: &'a Context<'a>,
    /// Its own rules.
    pub(super) rules: &'a [PlacedRule],
}

/// What the files of teams add.
#[derive(Default)]
pub(super) struct Included {
    pub(super) rules: Vec<PlacedRule>,
    pub(super) codes: Vec<Code>,
    pub(super) keys: Vec<Part>,
    /// Whether every file could be looked into.
    pub(super) readable: bool,
}

/// Reads `include`, and every file it names.
pub(super) fn read(node: &Node, outer: &Outer<'_>, report: &mut Report) -> Included {
    if !matches!(node.value, Value::Map(_)) {
        let message = format!("include has to be a mapping, and this is {}", node.kind());
        report.add(node.place, message, "write a name for each team: `team: teams/team.yaml`");
        return Included::default();
    }
    let teams = entries(node, "include", report);
    if teams.is_empty() {
        report.add(node.place, "include names no file", "write `team: teams/team.yaml`, or remove it");
    }
    if let Some(extra) = teams.get(MAX_FILES) {
        let message = format!("more than {MAX_FILES} files are included");
        report.add(extra.place, message, "let teams share files");
    }
    let mut included = Included { readable: teams.len() <= MAX_FILES, ..Included::default() };
    let mut seen: BTreeMap<PathBuf, Place> = BTreeMap::new();
    for entry in teams.iter().take(MAX_FILES) {
        check_name(entry, outer.rules, report);
        let team = Team::read(entry, report).filter(|team| is_new(team, &mut seen, report));
        let was_read = team.and_then(|team| team.include(outer, &mut included, report));
        included.readable &= was_read.is_some();
    }
    included
}

/// Limits are called `team/rule/limit`, and those of a rule `rule/limit`.
fn check_name(entry: &Entry, rules: &[PlacedRule], report: &mut Report) {
    let team = &entry.key;
    if team == rules::FALLBACK {
        report.add(entry.place, "a team cannot be called fallback", "give it another name");
    } else if let Some(rule) = rules.iter().find(|placed| placed.rule.name == *team) {
        let at = report.cite(rule.place, entry.place);
        let message = format!("{team} is a rule as well, at {at}, so {team}/… would be either's");
        report.add(entry.place, message, "give the team or the rule another name");
    }
}

/// Returns whether a file is included for the first time, and is not the including one.
fn is_new(team: &Team<'_>, seen: &mut BTreeMap<PathBuf, Place>, report: &mut Report) -> bool {
    let path = plain(Path::new(&report.beside(team.path)));
    if path == plain(Path::new(report.name_of(Place::START))) {
        report.add(team.place, "the policy includes itself", "name the file of a team");
        return false;
    }
    if let Some(first) = seen.get(&path) {
        let message = format!("the file {} is included twice, first at {first}", team.path);
        report.add(team.place, message, "include it once; teams that share limits share a name");
        return false;
    }
    seen.insert(path, team.place);
    true
}

/// Returns a path without `.` and, where that changes nothing else, `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// One member of `include`.
struct Team<'n> {
    name: &'n str,
    path: &'n str,
    place: Place,
    /// What it may limit, any of these, and where that stands; everything when not said.
    scope: Option<(Vec<Matcher>, Place)>,
}

impl<'n> Team<'n> {
    fn read(entry: &'n Entry, report: &mut Report) -> Option<Self> {
        let name = entry.key.as_str();
        if entry.value.scalar().is_some() {
            let path = entry.value.text("the file", report)?;
            return Some(Self { name, path, place: entry.value.place, scope: None });
        }
        let mut fields = Fields::open(&entry.value, format!("the team {name}"), report)?;
        let file = fields.need("file", "teams/team.yaml");
        let path = file.and_then(|node| node.text("file", report));
        let scope = fields.get("match").map(|node| (matches::scope(node, report), node.place));
        fields.finish(&[], report);
        // A scope that could not be read must not look like none.
        let readable = scope.as_ref().is_none_or(|(matchers, _)| !matchers.is_empty());
        Some(Self { name, path: path?, place: file?.place, scope: scope.filter(|_| readable) })
    }

    /// Reads the team's file and adds what it says; `None` when it cannot be looked into.
    fn include(&self, outer: &Outer<'_>, included: &mut Included, report: &mut Report) -> Option<()> {
        let root = self.load(outer.surroundings, report)?;
        let mut fields = Fields::open(&root, format!("the file of the team {}", self.name), report)?;
        version(&mut fields, report);
        for entry in DEPLOYMENT.iter().chain(&COMMON).filter_map(|word| fields.take(word)) {
            let message = format!("`{}` has no place in an included file", entry.key);
            let remedy = format!("write it into {}", report.name_of(Place::START));
            report.add(entry.place, message, remedy);
        }
        let keys = outer.context.keys.within(self.name, fields.get("keys"), report);
        let own = self.codes(fields.get("codes"), outer.context.codes, report);
        let codes = [outer.context.codes, &own].concat();
        let costs = outer.context.costs.within(fields.get("costs"), &keys, report);
        let context = Context {
            keys: &keys,
            costs: &costs,
            codes: &codes,
            mode: outer.context.mode,
            team: Some(self.name),
        };
        let rules = rules::of_team(&mut fields, &context, report);
        fields.finish(&[], report);
        self.check_scope(&rules, report);
        included.rules.extend(rules);
        included.codes.extend(own);
        included.keys.extend(keys.beyond(outer.context.keys.declared()));
        Some(())
    }

    /// Reads the codes of the team's own, which bear its name.
    fn codes(&self, node: Option<&Node>, outer: &[Code], report: &mut Report) -> Vec<Code> {
        let Some(node) = node else { return Vec::new() };
        let own = super::examined::codes(node, report);
        for entry in entries(node, "codes", report) {
            if outer.iter().any(|code| code.name == entry.key) {
                let message =
                    format!("the code {} is declared in the policy that includes this file", entry.key);
                report.add(entry.place, message, "use that one, or give this one another name");
            }
        }
        own.into_iter().map(|code| Code { name: format!("{}/{}", self.name, code.name), ..code }).collect()
    }

    fn load(&self, surroundings: &dyn Surroundings, report: &mut Report) -> Option<Node> {
        let bytes = match surroundings.file(self.path) {
            Ok(bytes) => bytes,
            Err(why) => {
                let remedy = "its path is meant from the folder of the policy file";
                report.add(self.place, format!("the file {} {why}", self.path), remedy);
                return None;
            }
        };
        let name = report.beside(self.path);
        let number = report.open_file(&name);
        let mut root = file::load_bytes(bytes, number, report)?;
        variables::refuse(&mut root, report);
        Some(root)
    }

    /// A team must not limit what is another's.
    fn check_scope(&self, rules: &[PlacedRule], report: &mut Report) {
        let Some((scope, scope_place)) = &self.scope else { return };
        for placed in rules {
            if placed.rule.matches.iter().any(|matcher| matcher.descriptor.is_some()) {
                let message = format!(
                    "the rule {} is for Envoy's descriptors, and what the team {} may limit is said of requests",
                    placed.rule.name, self.name
                );
                let at = report.cite(*scope_place, placed.match_place);
                let remedy = format!(
                    "write the rule into {}, or take the team's `match` away, at {at}",
                    report.name_of(Place::START)
                );
                report.add(placed.match_place, message, remedy);
                continue;
            }
            let Some(outside) =
                placed.rule.matches.iter().find(|matcher| !overlap::lies_within(matcher, scope))
            else {
                continue;
            };
            let at = report.cite(*scope_place, placed.match_place);
            let lies_outside = |path: &&Pattern| {
                let alone = Matcher { paths: vec![(*path).clone()], ..outside.clone() };
                !overlap::lies_within(&alone, scope)
            };
            let what = outside.paths.iter().find(lies_outside).map_or("more", |path| path.text());
            let message = format!(
                "the rule {} matches {what}, which is not within what the team {} may limit",
                placed.rule.name, self.name
            );
            let remedy = format!("keep method, host and path within the team's `match`, at {at}");
            report.add(placed.match_place, message, remedy);
        }
    }
}
