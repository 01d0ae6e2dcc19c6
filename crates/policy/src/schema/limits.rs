//! Limits: what is counted, at which cost, and how much is allowed.

use serde_json::{Value, json};

use super::shape::{Member, integer, member, name, named, need, object, one_of_words, one_or_more, text};
use super::{algorithms, keys, rules};

/// The members that a plan or an override has beside its algorithm.
fn words() -> Vec<Member> {
    vec![
        need("says", "The limit in words.", sentence()),
        member("note", "Free text that is never read.", text("")),
    ]
}

/// Returns the shape of a limit.
pub(super) fn limit() -> Value {
    let mut members = vec![
        need("name", "Its name, unique in the rule.", name()),
        member("says", "The limit in words.", sentence()),
        member("note", "Free text that is never read.", text("")),
        need("key", "What is counted on.", keys::used()),
        member("cost", "How many units a request takes; 1 unless said.", cost()),
        member("unit", "What the units are, when they are not requests.", text("")),
        member("count", "Which requests count; all unless said.", count()),
        member("plan", "What chooses the plan.", plan()),
        member("plans", "The plans by their names.", named(&with_algorithm(words()))),
        member("overrides", "Other terms for single keys.", json!({ "type": "array", "items": over() })),
        member("alert_at", "The share of the limit from which its use raises an alert.", percent()),
        member(
            "shared_counter",
            "In Redis a counter that other programs count as well: what its keys begin with.",
            json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" }),
        ),
        member("was", "The names it had before, the latest first.", one_or_more(&text(""))),
        member("on_missing_key", "What happens without the key.", rules::missing()),
        member("client_sees", "What a client is told of it; what the rule says unless said.", rules::sees()),
        member("mode", "Whether refusals of this limit are carried out.", rules::mode()),
    ];
    members.extend(algorithms());
    let mut schema = object(members);
    let mut ways: Vec<Value> =
        algorithms().iter().map(|one| json!({ "required": [one.name, "says"] })).collect();
    ways.push(json!({ "required": ["plan", "plans"] }));
    if let Value::Object(object) = &mut schema {
        object.insert("oneOf".to_owned(), Value::Array(ways));
        // A queue counts who waits, not who fails.
        object.insert("not".to_owned(), json!({ "required": ["count", "leaky_bucket"] }));
    }
    schema
}

/// Returns the shape of a mapping that has exactly one algorithm.
fn with_algorithm(mut members: Vec<Member>) -> Value {
    let ways: Vec<Value> = algorithms().iter().map(|one| json!({ "required": [one.name] })).collect();
    members.extend(algorithms());
    let mut schema = object(members);
    if let Value::Object(object) = &mut schema {
        object.insert("oneOf".to_owned(), Value::Array(ways));
    }
    schema
}

fn percent() -> Value {
    json!({ "type": "string", "pattern": "^([1-9][0-9]?|100)%$" })
}

fn units() -> Value {
    integer(1, 1 << 30)
}

fn cost() -> Value {
    json!({ "anyOf": [units(), name(), read_cost()] })
}

/// Returns the shape of a cost that is read from a request.
fn read_cost() -> Value {
    let header = object(vec![
        need("header", "A header field of a trusted peer.", text("")),
        need("from", "Who is believed.", one_of_words(&["trusted_proxies"])),
        need("default", "The units when nobody who is believed says.", units()),
    ]);
    let pointer = json!({ "type": "string", "pattern": "^/" });
    let items = object(vec![need("items", "An array of the JSON body: each item counts.", pointer)]);
    json!({ "anyOf": [header, items] })
}

/// Returns the shape of a cost as `costs` declares it.
pub(super) fn named_cost() -> Value {
    let values = json!({ "type": "object", "additionalProperties": units(), "minProperties": 1 });
    let table = object(vec![
        need("by", "The key it is looked up by.", name()),
        need("default", "The units of what the table does not list.", units()),
        need("values", "The units by the key's value.", values),
    ]);
    json!({ "anyOf": [units(), table, read_cost()] })
}

fn count() -> Value {
    let status = json!({ "anyOf": [
        { "type": "integer", "minimum": 100, "maximum": 599 },
        { "type": "string", "pattern": "^([1-5]xx|[1-5][0-9][0-9](-[1-5][0-9][0-9])?)$" }
    ] });
    let header = object(vec![
        need("name", "The field's name.", text("")),
        member("value", "The value it has to have.", text("")),
    ]);
    let success = object(vec![
        member("status", "The statuses of a success.", one_or_more(&status)),
        member("header", "A field that a success has.", header),
    ]);
    object(vec![
        need(
            "failures",
            "Only requests whose answer is no success count.",
            json!({ "enum": [true, "true"] }),
        ),
        need("success", "What a success looks like.", success),
        member("on_success", "What a success does; refund unless said.", one_of_words(&["refund", "reset"])),
    ])
}

fn plan() -> Value {
    let default = || need("default", "The plan of those for whom nothing else is said.", name());
    let header = object(vec![
        need("header", "A header field of a trusted peer.", text("")),
        need("from", "Who is believed.", one_of_words(&["trusted_proxies"])),
        default(),
    ]);
    let claim = object(vec![need("jwt", "A claim of a verified token.", keys::jwt()), default()]);
    let values = json!({ "type": "object", "additionalProperties": name(), "minProperties": 1 });
    let table = object(vec![
        need("by", "The key it is looked up by.", name()),
        need("values", "The plan by the key's value.", values),
        default(),
    ]);
    json!({ "anyOf": [header, claim, table] })
}

fn over() -> Value {
    let mut members = words();
    let date = json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" });
    let value = json!({ "type": "string", "pattern": "^(sha256:[0-9a-f]{64}|(?!sha(256)?[:-]).*\\S.*)$" });
    members.extend([
        need("value", "The key's value, or sha256: and its digest.", value),
        member("until", "The last day on which it holds, UTC.", date),
        need("because", "Why.", text("")),
    ]);
    with_algorithm(members)
}

/// Returns the shape of a sentence.
fn sentence() -> Value {
    json!({ "type": "string", "pattern": "\\S", "maxLength": 1_000 })
}
