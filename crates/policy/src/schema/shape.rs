//! Shapes of values: what the reader of scalars takes, said as schemas.
//!
//! The reader takes numbers and words with or without quotes, so a number's shape has both. A text without quotes that
//! another YAML reader takes for a number is no text here either, as the reader has it.

use serde_json::{Map, Value, json};

/// One member of a mapping.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) schema: Value,
    pub(super) required: bool,
}

/// Returns a member that may be left out.
pub(super) fn member(name: &'static str, doc: &str, schema: Value) -> Member {
    Member { name, schema: described(schema, doc), required: false }
}

/// Returns a member that has to be there.
pub(super) fn need(name: &'static str, doc: &str, schema: Value) -> Member {
    Member { required: true, ..member(name, doc, schema) }
}

/// Returns a shape with a description, unless it has one or there is none.
pub(super) fn described(mut schema: Value, doc: &str) -> Value {
    if let Value::Object(object) = &mut schema
        && !doc.is_empty()
    {
        object.insert("description".to_owned(), json!(doc));
    }
    schema
}

/// Returns the shape of a mapping with these members and no others.
pub(super) fn object(members: Vec<Member>) -> Value {
    let required: Vec<&str> = members.iter().filter(|one| one.required).map(|one| one.name).collect();
    let properties: Map<String, Value> =
        members.into_iter().map(|one| (one.name.to_owned(), one.schema)).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if let (Value::Object(object), false) = (&mut schema, required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    schema
}

/// Returns the shape of a mapping from names to one shape.
pub(super) fn named(of: &Value) -> Value {
    json!({
        "type": "object",
        "patternProperties": { (NAME): of },
        "additionalProperties": false
    })
}

const NAME: &str = "^[A-Za-z0-9_.-]{1,64}$";

/// Returns the shape of a name.
pub(super) fn name() -> Value {
    json!({ "type": "string", "pattern": NAME })
}

/// Returns the shape of a text.
pub(super) fn text(doc: &str) -> Value {
    described(json!({ "type": "string", "pattern": "\\S" }), doc)
}

/// Returns the shape of one of a few words.
pub(super) fn one_of_words(words: &[&str]) -> Value {
    json!({ "enum": words })
}

/// Returns the shape of yes or no.
pub(super) fn boolean() -> Value {
    json!({ "enum": [true, false, "true", "false"] })
}

/// Returns the shape of a whole number within bounds; in quotes its bounds are left to the reader.
pub(super) fn integer(least: u64, most: u64) -> Value {
    json!({ "anyOf": [
        { "type": "integer", "minimum": least, "maximum": most },
        { "type": "string", "pattern": "^(0|[1-9][0-9]*)$" }
    ] })
}

/// Returns the shape of a number of units.
pub(super) fn units() -> Value {
    integer(0, 1 << 30)
}

/// Returns the shape of a time.
pub(super) fn time() -> Value {
    json!({ "type": "string", "pattern": "^[1-9][0-9]*(ms|s|m|h|d)$", "examples": ["30s", "10m", "24h"] })
}

/// Returns the shape of a rate.
pub(super) fn rate() -> Value {
    json!({
        "type": "string",
        "pattern": "^[1-9][0-9]* +per +[1-9][0-9]*(ms|s|m|h|d)$",
        "examples": ["1 per 10s", "100 per 1m"]
    })
}

/// Returns the shape of a number of bytes.
pub(super) fn size() -> Value {
    json!({ "anyOf": [
        { "type": "integer", "minimum": 1 },
        { "type": "string", "pattern": "^[1-9][0-9]*(KiB|MiB|GiB)?$" }
    ] })
}

/// Returns the shape of one value, or of a list of them.
pub(super) fn one_or_more(of: &Value) -> Value {
    json!({ "anyOf": [of, { "type": "array", "items": of }] })
}

/// Returns the shape of a setting, which may be read from the environment.
pub(super) fn setting(of: &Value) -> Value {
    json!({ "anyOf": [of, { "type": "string", "pattern": "\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-.*)?\\}" }] })
}
