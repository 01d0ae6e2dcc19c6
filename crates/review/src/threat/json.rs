//! A threat model as JSON, and what a copy of it states.

use serde_json::{Map, Value, json};
use tidegate_policy::{Mode, StoreChoice};

use super::read::Stated;
use super::{Row, RuleRows, ThreatModel};
use crate::Finding;
use crate::guess::GuessTimes;

/// Members that are prose, wherever they stand, and the version of the form.
const PROSE: [&str; 6] = ["says", "words", "note", "because", "policy", "tidegate_threat_model"];

/// Writes it.
pub(super) fn write(model: &ThreatModel<'_>) -> Value {
    let policy = model.policy;
    let store = match policy.store {
        StoreChoice::Memory(_) => "memory",
        StoreChoice::Redis(_) => "redis",
    };
    json!({
        "tidegate_threat_model": 1,
        "policy": model.file,
        "store": store,
        "instances": policy.instances,
        "regions": policy.topology.regions,
        "counted_apart": model.copies,
        "mode": if policy.mode == Mode::Shadow { "shadow" } else { "enforce" },
        "budget": policy.budget.map(|budget| json!({ "guess_per_year": budget.guess_per_year })),
        "open": open(model.findings.iter()),
        "rules": model.rules.iter().map(rule).collect::<Vec<_>>(),
    })
}

fn without_store(rule: &RuleRows<'_>) -> &'static str {
    rule.explained.limits.first().map_or("", |limit| limit.gone.word())
}

fn rule(rule: &RuleRows<'_>) -> Value {
    let mut object = rule.explained.head_json();
    if rule.explained.code.is_some() {
        object.insert("guess".to_owned(), guess(rule.guess.as_ref()));
    }
    let accepted = rule.accepted().iter().map(|one| json!({ "name": one.id, "because": one.because }));
    let because = rule.rule().store_failure_because.as_ref();
    object
        .insert("on_store_failure".to_owned(), json!({ "choice": without_store(rule), "because": because }));
    object.insert("accepted".to_owned(), accepted.collect());
    object.insert("open".to_owned(), open(rule.open()));
    object.insert(
        "limits".to_owned(),
        rule.rows.iter().map(|one| row(one, rule.explained.code.is_some())).collect(),
    );
    Value::Object(object)
}

/// Writes findings that are not accepted; one id may be told of several limits.
fn open<'a>(findings: impl Iterator<Item = &'a Finding>) -> Value {
    let mut ids: Vec<&Finding> = findings.collect();
    ids.sort_by_key(|finding| finding.id);
    let write =
        |finding: &Finding| json!({ "name": finding.id, "about": finding.about, "says": finding.message });
    ids.into_iter().map(write).collect()
}

fn row(row: &Row<'_>, guesses: bool) -> Value {
    let mut object = row.explained.to_json(&row.admits);
    let choosers: Vec<String> = row.chosen_by.iter().map(ToString::to_string).collect();
    object.insert("chosen_by".to_owned(), json!(choosers));
    object.insert("holds_victim".to_owned(), json!(row.holds_victim));
    if guesses {
        object.insert("guess".to_owned(), guess(row.guess.as_ref()));
    }
    let lock_out = json!({ "requests": row.requests_to_deny, "by": row.denied_by });
    object.insert("lock_out_for_a_day".to_owned(), lock_out);
    Value::Object(object)
}

fn guess(times: Option<&GuessTimes>) -> Value {
    times.map_or(Value::Null, |times| {
        json!({
            "mean_s": times.mean,
            "p50_s": times.p50,
            "p95_s": times.p95,
            "chance_day": times.chance_day,
            "chance_year": times.chance_year,
        })
    })
}

/// Returns all figures and choices that a copy states, prose left out.
pub(super) fn stated(copy: &Value) -> Vec<Stated> {
    let mut stated = Vec::new();
    if let Value::Object(members) = copy
        && members.contains_key("tidegate_threat_model")
    {
        collect(&mut stated, "", "", members);
    }
    stated
}

fn collect(stated: &mut Vec<Stated>, about: &str, path: &str, members: &Map<String, Value>) {
    for (name, value) in members.iter().filter(|(name, _)| !PROSE.contains(&name.as_str())) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        one(stated, about, &path, value);
    }
}

fn one(stated: &mut Vec<Stated>, about: &str, path: &str, value: &Value) {
    let list = match value {
        Value::Object(members) => return collect(stated, about, path, members),
        Value::Array(list) => list,
        other => {
            let (about, label) = (about.to_owned(), path.to_owned());
            return stated.push(Stated { about, label, value: scalar(other) });
        }
    };
    // Rules, limits and findings go by their names, whatever their order.
    let named = list.iter().filter_map(|item| Some((item.get("name")?.as_str()?, item.as_object()?)));
    let named: Vec<_> = named.collect();
    if !list.is_empty() && named.len() == list.len() {
        let is_finding = matches!(path, "accepted" | "open");
        for (name, members) in named {
            if is_finding {
                stated.push(Stated {
                    about: about.to_owned(),
                    label: format!("{path}.{name}"),
                    value: "there".to_owned(),
                });
            } else {
                collect(stated, name, "", members);
            }
        }
        return;
    }
    let values: Vec<String> = list.iter().map(scalar).collect();
    stated.push(Stated { about: about.to_owned(), label: path.to_owned(), value: values.join(", ") });
}

/// Writes a value so that it is the same whoever computed it: the last digits of a floating-point number are left to the
/// machine's library.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.6e}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}
