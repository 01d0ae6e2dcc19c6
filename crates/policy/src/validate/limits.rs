//! Limits: what is counted, on which key, at which cost, and the terms for whom.

use tidegate_algorithms::Quota;

use super::rules::Context;
use super::{MODES, counts, overrides, plans, shared_counter, terms};
use crate::cost::Cost;
use crate::count::Count;
use crate::file::{Fields, Node, Report, is_name, one_or_more};
use crate::limit::{Limit, Terms, Whose};
use crate::overlay::Overlays;
use crate::plan::Plans;
use crate::policy::Mode;
use crate::problem::{At, Place};
use crate::rule::{ClientSees, OnMissingKey};
use crate::values::Values;

/// What may happen to a request without a key.
pub(super) const MISSING: [(OnMissingKey, &str); 3] =
    [(OnMissingKey::Refuse, "refuse"), (OnMissingKey::Skip, "skip"), (OnMissingKey::Shared, "shared")];

/// What a client may be told.
pub(super) const SEES: [(ClientSees, &str); 3] =
    [(ClientSees::All, "all"), (ClientSees::RetryAfter, "retry_after"), (ClientSees::Nothing, "nothing")];

/// A limit and where it stands.
pub(super) struct Placed {
    pub(super) limit: Limit,
    pub(super) place: Place,
    pub(super) key_place: Place,
    /// Where `was` stands, if it is there.
    pub(super) was_place: Option<Place>,
}

/// Reads a limit of the rule `rule`, whose own mode is `mode`.
pub(super) fn read(
    node: &Node,
    (rule, mode): (&str, Mode),
    context: &Context<'_>,
    report: &mut Report,
) -> Option<Placed> {
    let mut fields = Fields::open(node, "the limit", report)?;
    let name = fields.need("name", "per-account").and_then(|node| node.name("the limit's name", report));
    let key_node = fields.need("key", "client_ip");
    let key = key_node.and_then(|node| context.keys.key(node, report));
    let terms = terms_of(&mut fields, context, report);
    let overrides = fields.get("overrides").map(|node| overrides::read(node, key.as_ref(), report));
    let cost = fields.get("cost").map(|node| context.costs.cost(node, context.keys, report));
    let count = fields.get("count").map(|node| counts::read(node, report));
    let own = fields.get("mode").and_then(|node| node.choice("mode", &MODES, report));
    let on_missing_key =
        fields.get("on_missing_key").and_then(|node| node.choice("on_missing_key", &MISSING, report));
    let client_sees = fields.get("client_sees").and_then(|node| node.choice("client_sees", &SEES, report));
    let unit = fields.get("unit").and_then(|node| node.text("unit", report));
    let alert_at = fields.get("alert_at").and_then(|node| percent(node, report));
    let was = fields.get("was").map(|node| was(node, rule, context.team, report));
    let counter = fields.get("shared_counter").and_then(|node| shared_counter::read(node, report));
    let (place, places) = (fields.place(), Places::of(&fields));
    let was_place = was.is_some().then(|| fields.place_of("was"));
    fields.finish(&[], report);
    let (terms, plans) = terms?;
    let (overrides, overridden) = overrides.unwrap_or_else(|| Some((Vec::new(), Values::default())))?;
    let limit = Limit {
        name: format!("{rule}/{}", name?),
        key: key?,
        terms,
        plans,
        overrides,
        overridden,
        on_missing_key,
        client_sees,
        cost: cost.unwrap_or(Some(Cost::Units(1)))?,
        count: count.unwrap_or(Some(Count::Every))?,
        mode: if mode == Mode::Shadow { Mode::Shadow } else { own.unwrap_or(Mode::Enforce) },
        unit: unit.map(str::to_owned),
        alert_at,
        was: was.unwrap_or_default(),
        shared_counter: counter,
        overlays: Overlays::default(),
        at: At(place),
    };
    check_cost(&limit, places.cost, report);
    check_queue(&limit, places, report);
    shared_counter::check(&limit, places.shared_counter, report);
    Some(Placed { limit, place, key_place: key_node?.place, was_place })
}

/// Where members stand that have to suit the algorithm.
#[derive(Clone, Copy)]
struct Places {
    cost: Place,
    count: Place,
    alert_at: Place,
    shared_counter: Place,
}

impl Places {
    fn of(fields: &Fields<'_>) -> Self {
        let [cost, count, alert_at, shared_counter] =
            ["cost", "count", "alert_at", "shared_counter"].map(|key| fields.place_of(key));
        Self { cost, count, alert_at, shared_counter }
    }
}

/// Reads the limit's own terms, or those of its plans, of which the default's stand for it.
fn terms_of(
    fields: &mut Fields<'_>,
    context: &Context<'_>,
    report: &mut Report,
) -> Option<(Terms, Option<Plans>)> {
    if fields.entry("plan").is_none() & fields.entry("plans").is_none() {
        return terms::read(fields, "the limit", report).map(|terms| (terms, None));
    }
    // Without plans, that is what there is to say.
    if fields.has("plans") {
        terms::refuse_own(fields, report);
    } else {
        terms::know_own(fields);
    }
    let note = terms::note(fields, report);
    let plans = plans::read(fields, context.keys, report)?;
    let mut terms = plans.list.get(plans.default)?.terms.clone();
    terms.note = terms.note.or(note);
    Some((terms, Some(plans)))
}

/// Returns whose terms some are, for messages.
pub(super) fn shown(whose: Whose<'_>) -> String {
    match whose {
        Whose::Everybody => "the limit".to_owned(),
        Whose::Plan(name) => format!("the plan {name}"),
        Whose::Key(value) => format!("the override for \"{value}\""),
    }
}

/// A cost that never fits would refuse every request, which a limit of 0 says better.
fn check_cost(limit: &Limit, place: Place, report: &mut Report) {
    for (whose, terms) in limit.variants() {
        let most = terms.quota.nominal();
        if most == 0 {
            continue;
        }
        for costs in too_much(&limit.cost, most) {
            let message = format!("{costs}, and {} never admits more than {most} at once", shown(whose));
            let remedy = match terms.quota {
                Quota::Lockout(_) => "lower the cost, or raise `attempts`",
                Quota::TokenBucket(_) => "lower the cost, or raise `capacity`",
                Quota::LeakyBucket(_) => "lower the cost, or raise `queue`",
                _ => "lower the cost, raise the limit, or write `limit: 0` to refuse everything",
            };
            report.add(place, message, remedy);
        }
    }
}

/// Returns which requests cost more than `most`, in words.
pub(crate) fn too_much(cost: &Cost, most: u32) -> Vec<String> {
    let usual = cost.usual();
    let Cost::Table(table) = cost else {
        let unless = if matches!(cost, Cost::Units(_)) { "" } else { " by default" };
        return if usual > most { vec![format!("a request costs {usual}{unless}")] } else { Vec::new() };
    };
    let mut said = Vec::new();
    if usual > most {
        said.push(format!("{} is {usual} by default", table.name()));
    }
    let over: Vec<(&str, u32)> = table.values().filter(|(_, units)| *units > most).collect();
    if let Some((value, units)) = over.iter().max_by_key(|(_, units)| *units) {
        let more = match over.len() {
            1 => String::new(),
            count => format!(" and too much for {} more", count.saturating_sub(1)),
        };
        said.push(format!("{} is {units} for \"{value}\"{more}", table.name()));
    }
    said
}

/// A queue makes requests wait, and has no count that failures or an alert could be told by.
fn check_queue(limit: &Limit, places: Places, report: &mut Report) {
    let Some((whose, _)) = limit.variants().find(|(_, terms)| matches!(terms.quota, Quota::LeakyBucket(_)))
    else {
        return;
    };
    let whose = shown(whose);
    if limit.count != Count::Every {
        let message = format!("{whose} is a leaky_bucket, which is a queue and counts no failures");
        report.add(places.count, message, "take a lockout, a sliding_log or a token_bucket");
    }
    if limit.alert_at.is_some() {
        let message = format!("{whose} is a leaky_bucket, which is a queue and not used up");
        report.add(places.alert_at, message, "take another algorithm, or remove alert_at");
    }
}

/// Reads a share of the limit.
fn percent(node: &Node, report: &mut Report) -> Option<u8> {
    let given = node.scalar().unwrap_or_default();
    let digits = given.strip_suffix('%').filter(|digits| !digits.starts_with('0'));
    let number = digits.and_then(|digits| digits.parse::<u8>().ok());
    if let Some(percent) = number.filter(|percent| (1..=100).contains(percent)) {
        return Some(percent);
    }
    let remedy = match (given.parse::<f64>(), given.trim_end_matches(['%', ' ']).parse::<u8>()) {
        (_, Ok(percent @ 1..=100)) => format!("did you mean {percent}%?"),
        (Ok(share), _) if share > 0.0 && share < 1.0 => format!("did you mean {:.0}%?", share * 100.0),
        _ => "write a whole share from 1% to 100%".to_owned(),
    };
    let message = match node.scalar() {
        Some(given) => format!("alert_at \"{given}\" is not a share"),
        None => format!("alert_at has to be a share, and this is {}", node.kind()),
    };
    report.add(node.place, message, remedy);
    None
}

/// Reads former names of a limit, the latest first. A plain name is one of its rule's; `rule/limit` one of another
/// rule's, in a team's file of the team's, unless it begins with a slash or names a team.
fn was(node: &Node, rule: &str, team: Option<&str>, report: &mut Report) -> Vec<String> {
    let mut names = Vec::new();
    for item in one_or_more(node) {
        let Some(text) = item.text("was", report) else { continue };
        let name = match (text.strip_prefix('/'), team, text.matches('/').count()) {
            (Some(outer), Some(_), _) => outer.to_owned(),
            (_, _, 0) => format!("{rule}/{text}"),
            (_, Some(team), 1) => format!("{team}/{text}"),
            _ => text.to_owned(),
        };
        let parts = name.split('/').count();
        if !(2..=3).contains(&parts) || !name.split('/').all(is_name) {
            let message = format!("was \"{text}\" is not the name of a limit");
            report.add(item.place, message, "write `was: old-name`, or `was: rule/old-name`");
            continue;
        }
        if names.contains(&name) {
            report.add(item.place, format!("was names {name} twice"), "remove one");
            continue;
        }
        names.push(name);
    }
    names
}
