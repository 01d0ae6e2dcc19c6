//! Rules: what is limited.

use serde_json::{Map, Value, json};

use super::refer;
use super::shape::{Member, boolean, integer, member, name, need, object, one_of_words, one_or_more, text};
use crate::rule::Class;

/// Returns the shape of a mode.
pub(super) fn mode() -> Value {
    one_of_words(&["enforce", "shadow"])
}

/// Returns the shape of what happens to a request without a key.
pub(super) fn missing() -> Value {
    one_of_words(&["refuse", "skip", "shared"])
}

/// Returns the shape of what a client is told.
pub(super) fn sees() -> Value {
    one_of_words(&["all", "retry_after", "nothing"])
}

/// Returns the shape of the list of rules.
pub(super) fn rules() -> Value {
    let mut members = vec![
        need("name", "Its name, unique in the file.", name()),
        need("match", "What it applies to: any of these.", matches()),
        member("was", "The names it had before, the latest first.", one_or_more(&text(""))),
    ];
    members.extend(body());
    let refuse = object(vec![
        need("status", "The status of the answer; 429 is what limits answer.", status()),
        need("because", "Why, in words for the client.", text("")),
    ]);
    members.push(member("refuse", "Lets nothing through.", refuse));
    members.push(member("envoy", "What a rule for descriptors says to Envoy besides.", envoy()));
    let mut rule = object(members);
    if let Value::Object(object) = &mut rule {
        object.insert("oneOf".to_owned(), json!([limiting(), refusing(), unlimited()]));
        // A rule that guards who somebody is has to say what a dead store means.
        object.insert("if".to_owned(), guarded());
        object.insert("then".to_owned(), json!({ "required": ["on_store_failure"] }));
    }
    json!({ "type": "array", "items": rule })
}

fn status() -> Value {
    let mut status = integer(400, 599);
    if let Value::Object(object) = &mut status {
        object.insert("not".to_owned(), json!({ "enum": [429, "429"] }));
    }
    status
}

/// Returns the shape of the fallback.
pub(super) fn fallback() -> Value {
    let mut schema = object(body());
    if let Value::Object(object) = &mut schema {
        object.insert("required".to_owned(), json!(["limits"]));
    }
    schema
}

fn limiting() -> Value {
    let or = json!([{ "required": ["refuse"] }, says_unlimited()]);
    json!({ "required": ["limits"], "not": { "anyOf": or } })
}

fn says_unlimited() -> Value {
    let envoy =
        json!({ "properties": { "unlimited": { "enum": [true, "true"] } }, "required": ["unlimited"] });
    json!({ "properties": { "envoy": envoy }, "required": ["envoy"] })
}

/// A rule for descriptors that are never limited has none of what says how.
fn unlimited() -> Value {
    let mut schema = only(&["name", "match", "except", "envoy", "mode", "class", "accept"]);
    if let (Value::Object(object), Value::Object(says)) = (&mut schema, says_unlimited()) {
        object.insert("allOf".to_owned(), json!([says]));
    }
    schema
}

/// Asks that there are no other members.
fn only(names: &[&str]) -> Value {
    let properties: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
    json!({ "properties": properties, "additionalProperties": false })
}

/// Returns the shape of what a rule for descriptors says besides.
fn envoy() -> Value {
    let label = json!({ "type": "string", "pattern": "^[^\"\\\\\\p{Cc}]*$" });
    object(vec![
        member("label", "The name that Envoy is told for its limits.", label),
        member(
            "replaces",
            "Rules that do not count when this one applies to a call.",
            one_or_more(&text("")),
        ),
        member("unlimited", "It has no limits: what it applies to is never limited.", boolean()),
        member("quota", "It refuses only when all such rules of a call do.", boolean()),
        member("metric", "Entries whose values stand in its metric.", one_or_more(&text(""))),
        member("metadata", "What Envoy is told as dynamic metadata.", json!({ "type": "object" })),
    ])
}

/// A rule that refuses has nothing to limit, and none of what says how.
fn refusing() -> Value {
    let mut schema = only(&["name", "match", "except", "refuse", "mode", "class", "envoy"]);
    if let Value::Object(object) = &mut schema {
        object.insert("required".to_owned(), json!(["refuse"]));
    }
    schema
}

fn guarded() -> Value {
    let classes: Vec<&str> =
        Class::ALL.iter().filter(|(class, _)| class.is_guarded()).map(|(_, name)| *name).collect();
    json!({ "properties": { "class": { "enum": classes } }, "required": ["class", "limits"] })
}

/// The members of a rule and of the fallback.
fn body() -> Vec<Member> {
    let classes = Class::ALL.map(|(_, name)| name);
    let limits = json!({ "type": "array", "items": refer("limit", "A limit."), "minItems": 1 });
    vec![
        member("class", "What kind of endpoint it guards; api unless said.", one_of_words(&classes)),
        member("except", "What it leaves out: any of these.", one_or_more(&exception())),
        member("limits", "Its limits; all of them have to admit a request.", limits),
        member("guesses", "The code that a request guesses at.", text("")),
        member("on_missing_key", "What happens without a limit's key.", missing()),
        member(
            "on_store_failure",
            "What happens without the store.",
            one_of_words(&["deny", "allow", "local"]),
        ),
        member("store_failure_because", "Why that, for the threat model.", text("")),
        member("client_sees", "What a client is told.", sees()),
        member("mode", "Whether refusals of this rule are carried out.", mode()),
        member("price", "What a request costs its operator, for the review.", price()),
        member("accept", "Findings of the review that are kept knowingly.", accept()),
    ]
}

fn price() -> Value {
    object(vec![
        need("each", "How much each costs.", integer(1, 1_000_000_000)),
        need("unit", "In what.", text("")),
    ])
}

fn accept() -> Value {
    let one = object(vec![
        need("id", "Which, as `tidegate check` names it.", name()),
        need("because", "Why.", text("")),
    ]);
    json!({ "type": "array", "items": one })
}

/// Returns the shape of `match`: conditions, or a list of them.
pub(super) fn matches() -> Value {
    json!({ "anyOf": [
        refer("match", ""),
        { "type": "array", "items": refer("match", ""), "minItems": 1 }
    ] })
}

/// Returns the shape of what a rule applies to: requests, or Envoy's descriptors.
pub(super) fn matcher() -> Value {
    json!({ "anyOf": [of_requests(), of_descriptors()] })
}

fn of_descriptors() -> Value {
    let entry = object(vec![
        need("key", "Its key.", text("")),
        member("value", "Its value; a star stands for any text. Any value unless said.", text("")),
        member("except", "Values that it must not have.", one_or_more(&text(""))),
        member("as", "The name that keys read it by, where it is not its key.", name()),
    ]);
    let entry = json!({ "anyOf": [text(""), entry] });
    let entries = json!({ "type": "array", "items": entry, "minItems": 1 });
    object(vec![
        need("domain", "The domain that Envoy's filter names.", text("")),
        member("descriptor", "The entries in order; every descriptor of the domain unless said.", entries),
    ])
}

/// Returns the shape of conditions on a request that all have to hold.
pub(super) fn of_requests() -> Value {
    let mut members = conditions();
    members.extend([
        member(
            "case",
            "Whether case and ;parameters of a path matter.",
            one_of_words(&["ignore", "sensitive"]),
        ),
        member("trailing_slash", "Whether a trailing slash matters.", one_of_words(&["ignore", "keep"])),
    ]);
    something(object(members), &["method", "path", "host"])
}

fn exception() -> Value {
    let mut members = conditions();
    let network = json!({ "type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" });
    members.push(member("client", "Addresses and networks of clients.", one_or_more(&network)));
    something(object(members), &["method", "path", "host", "client"])
}

fn conditions() -> Vec<Member> {
    let host = json!({
        "type": "string",
        "pattern": "^([*][.])?[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*[.]?$|^\\[?[0-9A-Fa-f:.]+\\]?$"
    });
    let path = json!({ "type": "string", "pattern": "^(/[^?#:<>*]*)?(/[*]{2})?$", "examples": ["/otp/verify", "/users/{id}", "/v1/**"] });
    vec![
        member(
            "method",
            "Methods, any of them.",
            one_or_more(&json!({ "type": "string", "pattern": "^[A-Z-]+$" })),
        ),
        member("path", "Paths, any of them.", one_or_more(&path)),
        member("host", "Hosts, any of them.", one_or_more(&host)),
    ]
}

/// Asks that at least one of some members is there.
fn something(mut schema: Value, of: &[&str]) -> Value {
    let any: Vec<Value> = of.iter().map(|name| json!({ "required": [name] })).collect();
    if let Value::Object(object) = &mut schema {
        object.insert("anyOf".to_owned(), Value::Array(any));
    }
    schema
}
