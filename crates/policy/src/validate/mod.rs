//! A policy file as meant: from the tree to a [`Policy`], with every problem of every part.
//!
//! A part that is wrong is reported and left out, and reading goes on, so that one look shows everything. Rules
//! between parts (two faces on one address, two queues on one request) are asked of what could be read.

mod alerts;
mod algorithms;
mod answers;
mod costs;
mod counts;
mod descriptors;
mod envoy;
mod examined;
mod faces;
mod include;
mod keys;
mod limits;
mod matches;
mod names;
mod outside;
mod overlap;
mod overrides;
mod plans;
mod proxies;
mod reachable;
mod refuse;
mod routes;
mod rules;
mod served;
mod shared_counter;
mod store;
mod terms;
mod trusted;
mod values;
mod variables;
mod words;

pub(crate) use algorithms::read as algorithm;
pub(crate) use examined::{code as written_code, number, share};

pub(crate) use algorithms::ALGORITHMS;
pub(crate) use limits::too_much;
use tidegate_algorithms::Span;

pub(crate) use matches::read_pattern as path_pattern;
pub(crate) use overlap::lies_within;

use crate::Reading;
use crate::examined::Code;
use crate::file::{Fields, Node, Report};
use crate::key::Part;
use crate::policy::{EncodedSlash, Mode, Policy};
use crate::problem::Place;
use crate::rule::Rule;
use crate::rules::Rules;
use crate::scenario;
use crate::store::StoreChoice;
use crate::suite;

pub(crate) const MODES: [(Mode, &str); 2] = [(Mode::Enforce, "enforce"), (Mode::Shadow, "shadow")];

/// Reads a policy; what is returned is only of use when nothing was reported.
pub(crate) fn policy(mut root: Node, reading: Reading<'_>, report: &mut Report) -> Option<Policy> {
    if is_another_file(&root, report) {
        return None;
    }
    variables::fill(&mut root, reading.surroundings, report);
    let mut top = Fields::open(&root, "the policy", report)?;
    version(&mut top, report);
    let faces = faces::read(&mut top, reading.needs_face, report);
    let store_node = top.get("store");
    let store = store_node.and_then(|node| store::read(node, reading, report));
    let alerts = top.get("alerts").and_then(|node| alerts::read(node, report));
    let trusted = trusted::read(&mut top, report);
    if let Some(place) = faces.proxy_protocol.filter(|_| trusted.networks().is_empty()) {
        lacks_balancers(place, report);
    }
    let instances = top.get("instances").and_then(|node| node.integer_in("instances", 1..=10_000, report));
    let topology = top.get("topology").and_then(|node| examined::topology(node, report)).unwrap_or_default();
    let budget = top.get("budget").and_then(|node| examined::budget(node, report));
    let mode = top.get("mode").and_then(|node| node.choice("mode", &MODES, report)).unwrap_or(Mode::Enforce);
    let encoded_slash = top.get("paths").and_then(|node| paths(node, report));
    let has_secret = top.has("key_secret_file");
    let identities = outside::identities(&mut top, reading, report);
    if let (Some(StoreChoice::Redis(_)), Some(node), false) = (&store, store_node, has_secret) {
        lacks_secret(node, report);
    }
    let Limiting { codes, keys, rules, fallback } = limiting(&mut top, mode, reading, report);
    let headers = answers::headers(top.get("headers"), report);
    let problem = answers::problem(top.get("problem"), report);
    top.finish(&[], report);
    shared_counter::check_names(rules.iter().chain(&fallback), store.as_ref(), report);
    let limits = rules.iter().chain(&fallback).flat_map(|rule| &rule.limits);
    let words::Remarks { unread, misleading } = words::check(limits, report);
    Some(Policy {
        gateway: faces.gateway,
        api: faces.api,
        envoy: faces.envoy,
        resp: faces.resp,
        admin: faces.admin,
        health: faces.health,
        store: store.unwrap_or_default(),
        alerts,
        trusted,
        instances: instances.and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
        topology,
        budget,
        mode,
        codes,
        keys,
        rules: Rules::new(rules),
        fallback,
        headers,
        problem,
        identities,
        encoded_slash: encoded_slash.unwrap_or(EncodedSlash::Refuse),
        unread,
        misleading,
        store_elsewhere: None,
        file_names: report.file_names().to_vec(),
        foreign: report.foreign().clone(),
    })
}

/// A PROXY protocol that is taken from nobody shuts everybody out.
fn lacks_balancers(place: Place, report: &mut Report) {
    let message = "the gateway expects the PROXY protocol, and nobody is trusted to speak it";
    let remedy = "list the load balancers' networks in trusted_proxies, or leave proxy_protocol out";
    report.add(place, message, remedy);
}

/// Keys that leave the process have to be named under a secret that all instances share.
fn lacks_secret(node: &Node, report: &mut Report) {
    let message = "keys leave this process for Redis, and there is no secret to name them under";
    let remedy =
        "write `key_secret_file: …` with the same file on every instance: `openssl rand -hex 32` makes one";
    report.add(node.place, message, remedy);
}

/// What is limited, over all files.
struct Limiting {
    codes: Vec<Code>,
    keys: Vec<Part>,
    rules: Vec<Rule>,
    fallback: Option<Rule>,
}

/// Reads the rules, and what they name, of the policy file and of those it includes.
fn limiting(top: &mut Fields<'_>, mode: Mode, reading: Reading<'_>, report: &mut Report) -> Limiting {
    let mut codes = top.get("codes").map(|node| examined::codes(node, report)).unwrap_or_default();
    let keys = keys::Table::read(top.get("keys"), reading, report);
    let costs = costs::Table::read(top.get("costs"), &keys, report);
    let context = rules::Context { keys: &keys, costs: &costs, codes: &codes, mode, team: None };
    let (mut rules, fallback) = rules::read(top, &context, report);
    let mut declared = keys.declared().to_vec();
    let mut readable = true;
    if let Some(node) = served::files(top) {
        let added = served::read(node, reading, &context, &rules, report);
        rules.extend(added.rules);
        declared.extend(added.keys);
    }
    if let Some(node) = top.get("include") {
        let outer = include::Outer { surroundings: reading.surroundings, context: &context, rules: &rules };
        let included = include::read(node, &outer, report);
        rules.extend(included.rules);
        codes.extend(included.codes);
        declared.extend(included.keys);
        readable = included.readable;
    }
    if readable {
        routes::check(report);
    }
    let (rules, fallback) = rules::finish(rules, fallback, report);
    Limiting { codes, keys: declared, rules, fallback }
}

/// Reports a test file and a scenario, which are no policies with a dozen slips.
fn is_another_file(root: &Node, report: &mut Report) -> bool {
    if root.member("tidegate").is_some() {
        return false;
    }
    let another = [
        (suite::VERSION, "a test file", "tidegate test"),
        (scenario::VERSION, "a scenario", "tidegate attack POLICY --scenario"),
    ];
    let found = another.into_iter().find_map(|(member, what, run)| Some((root.member(member)?, what, run)));
    let Some((version, what, run)) = found else { return false };
    let remedy = format!("run `{run} {}`", report.name_of(root.place));
    report.add(version.place, format!("this is {what}, and a policy is wanted"), remedy);
    true
}

/// The file has to say which language it is written in, so that it keeps its meaning.
fn version(top: &mut Fields<'_>, report: &mut Report) {
    let Some(node) = top.need("tidegate", "1") else { return };
    if node.scalar() != Some("1") {
        let message = match node.scalar() {
            Some(version) => format!("version {version} is not known"),
            None => format!("the version has to be a number, and this is {}", node.kind()),
        };
        report.add(node.place, message, "write `tidegate: 1`, which is what this release reads");
    }
}

fn paths(node: &Node, report: &mut Report) -> Option<EncodedSlash> {
    const WORDS: [(EncodedSlash, &str); 2] = [(EncodedSlash::Refuse, "refuse"), (EncodedSlash::Keep, "keep")];
    let mut fields = Fields::open(node, "paths", report)?;
    let slash = fields.get("encoded_slash").and_then(|node| node.choice("encoded_slash", &WORDS, report));
    fields.finish(&[], report);
    slash
}

/// Returns the members of a mapping of names to something.
pub(crate) fn entries<'n>(node: &'n Node, what: &str, report: &mut Report) -> &'n [crate::file::Entry] {
    let crate::file::Value::Map(entries) = &node.value else {
        report.add(
            node.place,
            format!("{what} has to be a mapping, and this is {}", node.kind()),
            crate::file::items(what),
        );
        return &[];
    };
    for entry in entries {
        if !crate::file::is_name(&entry.key) {
            let message = format!("\"{}\" in {what} is not a name", entry.key);
            report.add(entry.place, message, crate::file::name_remedy(&entry.key));
        }
    }
    entries
}

/// Returns the JSON pointer that another notation of paths stands for: `$.user.name`, `user.name`.
pub(crate) fn pointer(text: &str) -> String {
    let steps = text.trim_start_matches(['$', '.', '/']);
    format!("/{}", steps.replace(['.', '['], "/").replace(']', ""))
}

/// Reads a time between a millisecond and a day, as timeouts and steps are.
pub(crate) fn span_in(node: &Node, what: &str, report: &mut Report) -> Option<Span> {
    span_within(node, what, (Span::from_millis(1), Span::from_secs(86_400)), report)
}

/// Reads a span between two others, each of them among those possible.
pub(crate) fn span_within(
    node: &Node,
    what: &str,
    (least, most): (Span, Span),
    report: &mut Report,
) -> Option<Span> {
    let span = node.span(what, report)?;
    if span < least || span > most {
        let nearest = span.clamp(least, most);
        report.add(
            node.place,
            format!("{what} {} is out of range", node.scalar().unwrap_or_default()),
            format!("the nearest possible is {nearest}"),
        );
        return None;
    }
    Some(span)
}
