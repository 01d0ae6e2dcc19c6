//! What rules tell Envoy besides, as dynamic metadata.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{ListValue, Struct, Value};
use serde_json::Value as Json;
use tidegate::policy_file::Policy;
use tidegate::{DescriptorStatus, DescriptorsVerdict};

/// The member that it stands under.
const NAME: &str = "metadata";

/// Returns the metadata of the rules of all descriptors that passed, put together: where two have a member, the first one's
/// stays, unless both are maps, which are put together likewise. `None` where there is nothing.
pub(super) fn of_passed(policy: &Policy, decided: &DescriptorsVerdict) -> Option<Struct> {
    let passed = decided
        .answers
        .iter()
        .filter(|it| !matches!(it.status, DescriptorStatus::Decided { over: true, .. }));
    let rules = passed.flat_map(|answer| &answer.rules).filter_map(|index| policy.rules.get(*index));
    let mut all = Struct::default();
    for rule in rules {
        add(&mut all.fields, structure(&rule.envoy.metadata));
    }
    if all.fields.is_empty() {
        return None;
    }
    let fields = HashMap::from([(NAME.to_owned(), Value { kind: Some(Kind::StructValue(all)) })]);
    Some(Struct { fields })
}

fn add(fields: &mut HashMap<String, Value>, more: Struct) {
    for (name, value) in more.fields {
        match fields.entry(name) {
            Entry::Vacant(free) => {
                free.insert(value);
            }
            Entry::Occupied(mut taken) => {
                if let (Some(Kind::StructValue(own)), Some(Kind::StructValue(other))) =
                    (&mut taken.get_mut().kind, value.kind)
                {
                    add(&mut own.fields, other);
                }
            }
        }
    }
}

fn structure(object: &serde_json::Map<String, Json>) -> Struct {
    Struct { fields: object.iter().map(|(name, value)| (name.clone(), of_json(value))).collect() }
}

fn of_json(value: &Json) -> Value {
    let kind = match value {
        Json::Null => Kind::NullValue(0),
        Json::Bool(yes) => Kind::BoolValue(*yes),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Kind::StringValue(text.clone()),
        Json::Array(items) => Kind::ListValue(ListValue { values: items.iter().map(of_json).collect() }),
        Json::Object(object) => Kind::StructValue(structure(object)),
    };
    Value { kind: Some(kind) }
}

/// Returns a structure as JSON, its members in the order of their names.
pub(super) fn to_json(structure: &Struct) -> Json {
    let mut members: Vec<_> = structure.fields.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    Json::Object(members.into_iter().map(|(name, value)| (name.clone(), value_to_json(value))).collect())
}

fn value_to_json(value: &Value) -> Json {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(yes)) => Json::Bool(*yes),
        Some(Kind::NumberValue(number)) => whole(*number).unwrap_or_else(|| Json::from(*number)),
        Some(Kind::StringValue(text)) => Json::String(text.clone()),
        Some(Kind::ListValue(list)) => list.values.iter().map(value_to_json).collect(),
        Some(Kind::StructValue(structure)) => to_json(structure),
    }
}

/// Returns a whole number without a fraction, as every other writer of this form has it.
fn whole(number: f64) -> Option<Json> {
    let is_whole = number.trunc().to_bits() == number.to_bits() && number.abs() <= 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
    is_whole.then(|| Json::from(number as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Json) -> Struct {
        structure(value.as_object().unwrap())
    }

    #[test]
    fn the_first_value_wins_and_maps_are_put_together() {
        let mut all = object(&json!({ "tier": "gold", "limits": { "a": 1 }, "list": [1, null, true] }));
        add(&mut all.fields, object(&json!({ "tier": "free", "limits": { "a": 2, "b": 2.5 }, "new": {} })));
        let expected = json!({
            "limits": { "a": 1, "b": 2.5 }, "list": [1, null, true], "new": {}, "tier": "gold"
        });
        assert_eq!(to_json(&all), expected);
    }
}
