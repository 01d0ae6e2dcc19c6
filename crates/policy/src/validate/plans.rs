//! Plans: terms that differ by what a trusted proxy, a token or a table says of the caller.

use super::{entries, keys, proxies, terms, values};
use crate::file::{Entry, Fields, Node, Report, Value, nearest};
use crate::plan::{Plan, PlanBy, Plans};

/// What a plan can be told by.
const SOURCES: [&str; 3] = ["header", "by", "jwt"];

/// What stands beside them.
const MEMBERS: [(&str, &[&str]); 2] = [("values", &["by"]), ("from", &["header"])];

/// Reads `plan` and `plans` of a limit that has at least one of them.
pub(super) fn read(fields: &mut Fields<'_>, keys: &keys::Table<'_>, report: &mut Report) -> Option<Plans> {
    let (chooser, plans) = (fields.get("plan"), fields.get("plans"));
    if chooser.is_none() {
        let remedy =
            "write `plan: { header: x-plan, from: trusted_proxies, default: … }`, or `{ by: … }` for a table";
        fields.lack(&["plan"], "the limit has plans, and nothing says who is on which", remedy);
    }
    if plans.is_none() {
        let remedy = "write `plans:` and under it each plan's name with `says` and an algorithm";
        fields.lack(&["plans"], "the limit has a plan to choose, and no plans", remedy);
    }
    let entries = plans.map(|node| entries(node, "plans", report)).unwrap_or_default();
    if let (Some(node), true) = (plans.filter(|node| matches!(node.value, Value::Map(_))), entries.is_empty())
    {
        report.add(node.place, "plans is empty", "write at least the default plan");
    }
    let list: Vec<Option<Plan>> = entries.iter().map(|entry| plan(entry, report)).collect();
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let (default, by) = choice(chooser?, &names, keys, report)?;
    let list: Option<Vec<Plan>> = list.into_iter().collect();
    Some(Plans { default, list: list.filter(|list| !list.is_empty())?, by })
}

fn plan(entry: &Entry, report: &mut Report) -> Option<Plan> {
    let what = format!("the plan {}", entry.key);
    let mut fields = Fields::open(&entry.value, &what, report)?;
    let terms = terms::read(&mut fields, &what, report);
    fields.finish(&[], report);
    Some(Plan { name: entry.key.clone(), terms: terms? })
}

/// Reads what tells the plan, and the default's index among the plans.
fn choice(
    node: &Node,
    plans: &[&str],
    keys: &keys::Table<'_>,
    report: &mut Report,
) -> Option<(usize, PlanBy)> {
    if let Some(given) = node.scalar() {
        let remedy = format!("write {{ header: x-plan, from: trusted_proxies, default: {given} }}");
        report.add(node.place, "plan has to say who is on which, and this is a single value", remedy);
        return None;
    }
    let mut fields = Fields::open(node, "plan", report)?;
    let default = fields.need("default", plans.first().unwrap_or(&"free"));
    let default = default.and_then(|node| index(node, plans, report));
    let found = fields.among(&SOURCES);
    if let [_, (second, entry), ..] = found.as_slice() {
        let message = format!("a plan is told in one way, and {second} is a second one");
        report.add(entry.place, message, "keep one");
    }
    let by = match found.first() {
        None => {
            let remedy = "write `header: x-plan` with `from: trusted_proxies`, or `by` and the name of a key";
            fields.lack_source(&SOURCES, "plan does not say who is on which", remedy);
            None
        }
        Some(("header", _)) => proxies::header(&mut fields, "the plan", report).map(PlanBy::Header),
        Some(("jwt", entry)) => keys.claim(&entry.value, report).map(PlanBy::Claim),
        Some((_, entry)) => table(&mut fields, &entry.value, plans, keys, report),
    };
    proxies::refuse_misplaced(&mut fields, &found, &MEMBERS, report);
    fields.finish(&[], report);
    Some((default?, by?))
}

/// Reads the plan of some values of a key.
fn table(
    fields: &mut Fields<'_>,
    by: &Node,
    plans: &[&str],
    keys: &keys::Table<'_>,
    report: &mut Report,
) -> Option<PlanBy> {
    let part = keys.named(by, report);
    let node = fields.need("values", "{ \"sha256:…\": premium }")?;
    let Value::Map(entries) = &node.value else {
        let message = format!("values has to be a mapping, and this is {}", node.kind());
        report.add(
            node.place,
            message,
            "write values of the key and the plan of each, `\"sha256:…\": premium`",
        );
        return None;
    };
    let mut reading = part.and_then(|part| values::Reading::of(part, by.place, report));
    for entry in entries {
        let value = entry.key_text("the value", report);
        let plan = index(&entry.value, plans, report);
        if let (Some(reading), Some(value), Some(plan)) = (&mut reading, value, plan) {
            reading.put(value, plan, entry.place, report);
        }
    }
    Some(PlanBy::Table(part?.clone(), reading?.finish()))
}

/// Reads the name of one of the plans.
fn index(node: &Node, plans: &[&str], report: &mut Report) -> Option<usize> {
    let name = node.text("a plan", report)?;
    let found = plans.iter().position(|plan| *plan == name);
    // Where there are no plans, that is what there is to say.
    if found.is_none() && !plans.is_empty() {
        let remedy = || match nearest(name, plans.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("write one of {}, or add it under `plans`", plans.join(", ")),
        };
        report.add_with(node.place, format!("the plan \"{name}\" is not among the limit's plans"), remedy);
    }
    found
}
