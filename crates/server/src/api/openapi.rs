//! `GET /openapi.json`: this API, described for programs in the words of `OpenAPI` 3.1.
//!
//! The paths and schemas come from the handlers and types. What these cannot say is added here: the names of the
//! policy's keys, the answers to calls at fault that all routes share, and the token where one is demanded.

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::names::KeyNames;

/// What a call that carries a body may be answered besides.
const OF_CALLS: [(&str, &str); 5] = [
    ("400", "The body is not JSON, or broke off."),
    ("408", "The body took too long."),
    ("413", "The body is too long."),
    ("415", "The body is not said to be JSON, or is compressed."),
    ("422", "A member cannot be used; `member` names it and `detail` says what to do."),
];
const NO_TOKEN: (&str, &str) = ("401", "The bearer token is missing or wrong.");
const TOKEN: &str = "token";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tidegate decision API",
        description = "Decides requests by a rate-limit policy, and gives back what was charged.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    paths(
        super::check::check,
        super::outcome::outcome,
        super::refund::refund,
        super::why::get,
        super::why::post,
        super::policy::policy,
    ),
    components(schemas(crate::problem::Problem))
)]
struct Document;

/// Returns the description of the API, for a policy's keys, with or without a token.
pub(super) fn document(keys: &KeyNames, has_token: bool) -> Bytes {
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    if let Some(call) = document.pointer_mut("/components/schemas/CheckRequest") {
        describe_call(call, keys);
    }
    if let Some(call) = document.pointer_mut("/components/schemas/OutcomeRequest") {
        describe_outcome(call);
    }
    super::why::describe(&mut document, keys);
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        let operations = paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut);
        operations.for_each(|operation| describe_operation(operation, has_token));
    }
    if has_token && let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        let scheme =
            json!({ "type": "http", "scheme": "bearer", "description": "The content of the token file." });
        components.insert("securitySchemes".to_owned(), json!({ TOKEN: scheme }));
    }
    Bytes::from(document.to_string())
}

pub(super) fn answer(document: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], document).into_response()
}

/// Adds the answers all operations share, and the token.
fn describe_operation(operation: &mut Value, has_token: bool) {
    let takes_body = operation.get("requestBody").is_some();
    let mut problems = if takes_body { OF_CALLS.to_vec() } else { Vec::new() };
    if has_token {
        problems.push(NO_TOKEN);
    }
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        for (status, description) in problems {
            responses.insert(status.to_owned(), problem(status, description));
        }
    }
    if has_token && let Some(operation) = operation.as_object_mut() {
        operation.insert("security".to_owned(), json!([{ TOKEN: [] }]));
    }
}

fn problem(status: &str, description: &str) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    let content = json!({ "application/problem+json": { "schema": schema } });
    let mut headers = Map::new();
    if status == NO_TOKEN.0 {
        let challenge =
            json!({ "description": "The scheme to use.", "required": true, "schema": { "type": "string" } });
        headers.insert("WWW-Authenticate".to_owned(), challenge);
    }
    json!({ "description": description, "headers": headers, "content": content })
}

/// Describes header fields, of a request or an answer.
fn fields() -> Value {
    let value = json!({
        "type": "string", "maxLength": 8192, "pattern": "^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$"
    });
    let values = json!({ "type": "array", "items": value, "maxItems": 16 });
    json!({
        "type": ["object", "null"],
        "maxProperties": 128,
        "propertyNames": { "minLength": 1, "maxLength": 256, "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" },
        "additionalProperties": { "anyOf": [value, values] },
        "examples": [{ "content-type": "application/json", "x-forwarded-for": ["192.0.2.7"] }],
    })
}

/// Describes the two ways to tell an outcome, of which a call has one.
fn describe_outcome(call: &mut Value) {
    let by_answer = json!({
        "required": ["status"],
        "properties": { "status": { "type": "integer" }, "success": { "type": "null" } }
    });
    let by_word = json!({
        "required": ["success"],
        "properties": {
            "success": { "type": "boolean" }, "status": { "type": "null" }, "headers": { "type": "null" }
        }
    });
    if let Some(headers) = call.pointer_mut("/properties/headers").and_then(Value::as_object_mut)
        && let Value::Object(fields) = fields()
    {
        headers.extend(fields);
        headers.insert("examples".to_owned(), json!([{ "location": "/account" }]));
    }
    if let Some(call) = call.as_object_mut() {
        call.insert("oneOf".to_owned(), json!([by_answer, by_word]));
    }
}

/// Describes the members whose schemas the types cannot tell.
fn describe_call(call: &mut Value, keys: &KeyNames) {
    // Never both: which of them is the body?
    let both = json!({
        "required": ["body", "body_base64"],
        "properties": { "body": { "type": "string" }, "body_base64": { "type": "string" } }
    });
    if let Some(call) = call.as_object_mut() {
        call.insert("not".to_owned(), both);
    }
    let Some(members) = call.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let mut describe = |name: &str, schema: Value| {
        if let (Some(Value::Object(member)), Value::Object(schema)) = (members.get_mut(name), schema) {
            member.remove("type");
            member.extend(schema);
        }
    };
    describe(
        "client",
        json!({
            "anyOf": [
                { "type": "string", "format": "ipv4" },
                { "type": "string", "format": "ipv6" },
                { "type": "null" },
            ],
            "examples": ["192.0.2.7", "2001:db8::7"],
        }),
    );
    describe("headers", fields());
    let ready = json!({ "type": "string", "maxLength": 8192 });
    let named: Map<String, Value> = keys.iter().map(|name| (name.to_owned(), ready.clone())).collect();
    describe(
        "keys",
        json!({ "type": ["object", "null"], "properties": named, "additionalProperties": false }),
    );
}
