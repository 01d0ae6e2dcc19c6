//! Rules and the fallback: their parts, their defaults by class, and what holds between them.

mod choices;
mod unique;

use std::collections::BTreeMap;

use super::limits::{self, Placed};
use super::{
    MODES, costs, descriptors, envoy, examined, keys, matches, names, overlap, reachable, refuse, routes,
    served,
};
use crate::examined::Code;
use crate::file::{Fields, Node, Report, Value, list};
use crate::policy::Mode;
use crate::problem::{At, Place};
use crate::rule::{Class, ClientSees, OnMissingKey, OnStoreFailure, Rule};

pub(super) const FALLBACK: &str = "fallback";

/// What rules are read with.
pub(super) struct Context<'a> {
    pub(super) keys: &'a keys::Table<'a>,
    pub(super) costs: &'a costs::Table,
    pub(super) codes: &'a [Code],
    /// The file's mode.
    pub(super) mode: Mode,
    /// The team whose file is read, if it is not the policy file itself.
    pub(super) team: Option<&'a str>,
}

impl Context<'_> {
    /// Returns a name as it is known over all files.
    fn full(&self, name: &str) -> String {
        self.team.map_or_else(|| name.to_owned(), |team| format!("{team}/{name}"))
    }
}

/// A rule and where its parts stand.
pub(super) struct PlacedRule {
    pub(super) rule: Rule,
    pub(super) place: Place,
    pub(super) match_place: Place,
    /// Where the parts of each limit stand.
    pub(super) limits: Vec<LimitPlaces>,
    /// What the rule was called before.
    pub(super) was: Vec<names::Was>,
    /// The names of rules that it replaces, as they are written.
    pub(super) replaces: Vec<(String, Place)>,
}

impl PlacedRule {
    fn of(rule: Rule, place: Place) -> Self {
        let (limits, was, replaces) = (Vec::new(), Vec::new(), Vec::new());
        Self { rule, place, match_place: place, limits, was, replaces }
    }
}

/// Where the parts of a limit stand.
#[derive(Clone, Copy)]
pub(super) struct LimitPlaces {
    pub(super) limit: Place,
    pub(super) key: Place,
    /// What says that it had another name; the limit itself when nothing does.
    pub(super) was: Place,
}

/// Reads the rules and the fallback of the policy file.
pub(super) fn read(
    top: &mut Fields<'_>,
    context: &Context<'_>,
    report: &mut Report,
) -> (Vec<PlacedRule>, Option<PlacedRule>) {
    let (rules, fallback) = (top.get("rules"), top.get(FALLBACK));
    // What is asked over `resp` brings its own numbers.
    let others = ["include", "resp"].iter().any(|member| top.has(member)) || served::files(top).is_some();
    if rules.is_none() && fallback.is_none() && !others {
        let remedy = "write `rules`, or at least a `fallback`";
        top.lack(&["rules", FALLBACK], "the policy limits nothing", remedy);
    }
    let items = rules.and_then(|node| list(node, "rules", report)).unwrap_or_default();
    if let (true, Some(node), None) = (is_empty_list(rules), rules, fallback) {
        report.add(node.place, "the policy limits nothing", "write at least one rule");
    }
    (each(items, context, report), fallback.and_then(|node| read_fallback(node, context, report)))
}

/// Reads the rules that files of another program come to.
pub(super) fn of_files(node: &Node, context: &Context<'_>, report: &mut Report) -> Vec<PlacedRule> {
    each(list(node, "rules", report).unwrap_or_default(), context, report)
}

/// Reads the rules of a team's file.
pub(super) fn of_team(top: &mut Fields<'_>, context: &Context<'_>, report: &mut Report) -> Vec<PlacedRule> {
    let Some(node) = top.need("rules", "[ … ]") else { return Vec::new() };
    if is_empty_list(Some(node)) {
        report.add(node.place, "the file limits nothing", "write at least one rule");
    }
    each(list(node, "rules", report).unwrap_or_default(), context, report)
}

fn is_empty_list(node: Option<&Node>) -> bool {
    node.is_some_and(|node| matches!(&node.value, Value::List(items) if items.is_empty()))
}

fn each(items: &[Node], context: &Context<'_>, report: &mut Report) -> Vec<PlacedRule> {
    let mut names = BTreeMap::new();
    items.iter().filter_map(|item| rule(item, context, &mut names, report)).collect()
}

/// Checks what holds between the rules of all files, and takes their places off.
pub(super) fn finish(
    mut rules: Vec<PlacedRule>,
    fallback: Option<PlacedRule>,
    report: &mut Report,
) -> (Vec<Rule>, Option<Rule>) {
    overlap::check_queues(&rules, report);
    if let Some(fallback) = &fallback {
        overlap::check_queues(std::slice::from_ref(fallback), report);
    }
    names::check(&rules, fallback.as_ref(), report);
    envoy::resolve(&mut rules, report);
    (rules.into_iter().map(|placed| placed.rule).collect(), fallback.map(|placed| placed.rule))
}

fn rule<'n>(
    node: &'n Node,
    context: &Context<'_>,
    names: &mut BTreeMap<&'n str, Place>,
    report: &mut Report,
) -> Option<PlacedRule> {
    let mut fields = Fields::open(node, "the rule", report)?;
    let name_node = fields.need("name", "verify");
    let name = name_node.and_then(|node| node.name("the rule's name", report));
    if let (Some(name), Some(node)) = (name, name_node) {
        unique::check_rule_name(name, node.place, names, report);
    }
    let name = name.map(|name| context.full(name));
    let class = choices::class(&mut fields, report);
    let match_node = fields.need("match", "{ method: POST, path: /otp/verify }");
    if let Some(node) = match_node {
        routes::declare(node, report);
    }
    let matches = match_node.map(|node| matches::read(node, class.is_guarded(), report)).unwrap_or_default();
    if match_node.is_some_and(|node| crate::file::one_or_more(node).is_empty()) {
        report.add(
            fields.place_of("match"),
            "match is an empty list, which matches nothing",
            matches::NAME_ONE,
        );
    }
    let head = Head { name: name.as_deref().unwrap_or("?"), class };
    let terms = fields.get("envoy").and_then(|node| envoy::read(node, report));
    let placed = body(&mut fields, head, terms.as_ref(), context, report);
    let except_place = fields.place_of("except");
    fields.finish(&[], report);
    // A rule whose matches could not be read must not look like one that matches everything.
    if matches.is_empty() || name.is_none() {
        return None;
    }
    let mut placed = placed?;
    placed.rule.matches = matches;
    placed.place = name_node.map_or(node.place, |node| node.place);
    placed.rule.at = At(placed.place);
    placed.match_place = match_node.map_or(node.place, |node| node.place);
    descriptors::rename(&mut placed.rule);
    descriptors::check(&placed.rule, (placed.match_place, except_place), report);
    reachable::check(&placed, report);
    if let Some(terms) = terms {
        terms.check(&placed, report);
        placed.replaces = terms.replaced();
    }
    Some(placed)
}

fn read_fallback(node: &Node, context: &Context<'_>, report: &mut Report) -> Option<PlacedRule> {
    let mut fields = Fields::open(node, FALLBACK, report)?;
    let class = choices::class(&mut fields, report);
    let placed = body(&mut fields, Head { name: FALLBACK, class }, None, context, report);
    // Whoever lacks every key comes here as well, and would be refused for that.
    if let Some(entry) = fields.entry("refuse") {
        let remedy = "write limits, or a rule with `match` and `refuse`";
        report.add(entry.place, "the fallback limits what is left, and cannot refuse it", remedy);
    }
    for key in ["match", "name", "envoy"] {
        if let Some(entry) = fields.entry(key) {
            report.add(
                entry.place,
                format!("the fallback has no {key}: it takes what no rule looked at"),
                "remove it",
            );
        }
    }
    fields.finish(&[], report);
    let placed = placed?;
    reachable::check(&placed, report);
    Some(placed)
}

/// What is known of a rule before its body is read.
#[derive(Clone, Copy)]
struct Head<'a> {
    name: &'a str,
    class: Class,
}

/// Reads everything but name, class and match.
fn body(
    fields: &mut Fields<'_>,
    head: Head<'_>,
    terms: Option<&envoy::Placed>,
    context: &Context<'_>,
    report: &mut Report,
) -> Option<PlacedRule> {
    let except = fields.get("except").map(|node| matches::except(node, report)).unwrap_or_default();
    let own = fields.get("mode").and_then(|node| node.choice("mode", &MODES, report));
    let mode = if context.mode == Mode::Shadow { Mode::Shadow } else { own.unwrap_or(Mode::Enforce) };
    let mut rule = Rule {
        name: head.name.to_owned(),
        class: head.class,
        matches: Vec::new(),
        except,
        refuse: None,
        limits: Vec::new(),
        guesses: None,
        on_missing_key: OnMissingKey::Skip,
        on_store_failure: OnStoreFailure::Allow,
        store_failure_because: None,
        client_sees: ClientSees::All,
        mode,
        price: None,
        accept: Vec::new(),
        envoy: terms.map(|placed| placed.terms.clone()).unwrap_or_default(),
        at: At(fields.place()),
    };
    let start = fields.place();
    let mut placed = if rule.envoy.unlimited {
        envoy::check_unlimited(fields, head.name, report);
        rule.accept = fields.get("accept").map(|node| examined::accept(node, report)).unwrap_or_default();
        PlacedRule::of(rule, start)
    } else if let Some(node) = fields.get("refuse") {
        rule.refuse = Some(refuse::read(node, fields, head.name, report)?);
        PlacedRule::of(rule, start)
    } else {
        rule.guesses = fields.get("guesses").and_then(|node| guesses(node, context, report));
        rule.on_missing_key = choices::missing_key(fields, head.class, report);
        rule.on_store_failure = choices::store_failure(fields, head, report);
        let because = fields.get("store_failure_because");
        rule.store_failure_because =
            because.and_then(|node| node.text("store_failure_because", report)).map(str::to_owned);
        rule.client_sees = choices::client_sees(fields, head.class, report);
        rule.price = fields.get("price").and_then(|node| examined::price(node, report));
        rule.accept = fields.get("accept").map(|node| examined::accept(node, report)).unwrap_or_default();
        let was = fields.get("was").map(|node| names::was(node, context.team, report));
        PlacedRule { was: was.unwrap_or_default(), ..PlacedRule::of(rule, start) }
    };
    if placed.rule.refuse.is_none() && !placed.rule.envoy.unlimited {
        read_limits(fields, &mut placed, context, report);
    }
    Some(placed)
}

/// Reads the limits of a rule.
fn read_limits(fields: &mut Fields<'_>, placed: &mut PlacedRule, context: &Context<'_>, report: &mut Report) {
    let PlacedRule { rule, limits: of_limits, was, .. } = placed;
    // Those that stand in `match` are told of there.
    if !fields.has("limits") && fields.get("match").is_some_and(|node| node.member("limits").is_some()) {
        return;
    }
    let Some(node) = fields.need_unless(
        "limits",
        "refuse",
        "write `limits: [ … ]`, or `refuse: …` to let nothing through",
    ) else {
        return;
    };
    let items = list(node, "limits", report).unwrap_or_default();
    if is_empty_list(Some(node)) {
        report.add(node.place, format!("the rule {} has no limit", rule.name), "write at least one");
    }
    unique::check_limit_names(items, &rule.name, report);
    for item in items {
        let read: Option<Placed> = limits::read(item, (&rule.name, rule.mode), context, report);
        if let Some(Placed { mut limit, place, key_place, was_place }) = read {
            names::inherit(&mut limit, &rule.name, was);
            rule.limits.push(limit);
            let was = was_place.or_else(|| was.first().map(names::Was::place)).unwrap_or(place);
            of_limits.push(LimitPlaces { limit: place, key: key_place, was });
        }
    }
}

/// Reads the name of a code: one of the team's own, or one of the policy file's.
fn guesses(node: &Node, context: &Context<'_>, report: &mut Report) -> Option<String> {
    let name = node.text("guesses", report)?;
    let full = context.full(name);
    let mut codes = context.codes.iter().map(|code| code.name.as_str());
    if let Some(found) = codes.clone().find(|code| *code == full).or_else(|| codes.find(|code| *code == name))
    {
        return Some(found.to_owned());
    }
    let plain = context.codes.iter().map(|code| code.name.rsplit('/').next().unwrap_or_default());
    let remedy = || match crate::file::nearest(name, plain) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "declare it under `codes`".to_owned(),
    };
    report.add_with(node.place, format!("the code \"{name}\" is not declared"), remedy);
    None
}
