//! A request to explain, described in a query: `?method=POST&path=/otp/verify&header=x-plan:free&key.account=ada`.

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::super::check::CheckCall;
use super::super::fields::{Members, OneOrMore};
use super::super::names::KeyNames;
use crate::problem::Problem;

/// The most characters of a parameter: all of them together have to fit into a request's target.
const MAX_TEXT: usize = 256;
/// The most `header` parameters.
const MAX_HEADERS: usize = 8;

/// Reads the parameters of a query.
///
/// # Errors
/// When one is not known, is there twice, or cannot be read.
pub(super) fn read(query: &str) -> Result<CheckCall<'static>, Problem> {
    let mut call = CheckCall::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name =
            decode(name).ok_or_else(|| Problem::of_member(name, "is not UTF-8; encode it as UTF-8"))?;
        let value =
            decode(value).ok_or_else(|| Problem::of_member(&*name, "is not UTF-8; encode it as UTF-8"))?;
        if value.chars().nth(MAX_TEXT).is_some() {
            let why = format!("is too long for a query; send at most {MAX_TEXT} characters, or a POST");
            return Err(Problem::of_member(name, why));
        }
        put(&mut call, &name, value)?;
    }
    Ok(call)
}

fn put(call: &mut CheckCall<'_>, name: &str, value: String) -> Result<(), Problem> {
    let slot = match name {
        "method" => &mut call.method,
        "path" => &mut call.path,
        "query" => &mut call.query,
        "host" => &mut call.host,
        "client" => &mut call.client,
        "header" => return header(call.headers.get_or_insert_default(), &value),
        _ => {
            let Some(key) = name.strip_prefix("key.") else {
                let why = "is not known; there are method, path, query, host, client, header and key.NAME";
                return Err(Problem::of_member(name, why));
            };
            let keys = &mut call.keys.get_or_insert_default().0;
            return match keys.insert(key.to_owned(), value) {
                Some(_) => Err(Problem::of_member(name, "is there twice; send it once")),
                None => Ok(()),
            };
        }
    };
    match slot.replace(value.into()) {
        Some(_) => Err(Problem::of_member(name, "is there twice; send it once")),
        None => Ok(()),
    }
}

/// Takes a header field, `name:value`.
fn header(headers: &mut Members<OneOrMore<'_>>, line: &str) -> Result<(), Problem> {
    let split = line.split_once(':').filter(|(name, _)| !name.is_empty());
    let Some((name, value)) = split else {
        return Err(Problem::of_member("header", "is no header field; send `name:value`"));
    };
    let lines = headers.0.entry(name.to_owned()).or_insert_with(|| OneOrMore::More(Vec::new()));
    if let OneOrMore::More(values) = lines {
        values.push(value.to_owned().into());
    }
    let sent: usize = headers.0.values().map(|values| values.as_slice().len()).sum();
    if sent > MAX_HEADERS {
        let why =
            format!("is there more than {MAX_HEADERS} times; send those that the policy looks at, or a POST");
        return Err(Problem::of_member("header", why));
    }
    Ok(())
}

/// Decodes a name or a value, in which a plus stands for a space; `None` when it is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// Describes the parameters in the document of the API, for a policy's keys.
pub(in super::super) fn describe(document: &mut Value, keys: &KeyNames) {
    let Some(operation) = document.pointer_mut("/paths/~1v1~1why/get").and_then(Value::as_object_mut) else {
        return;
    };
    let text = |pattern: &str, least: usize, most: usize| json!({ "type": "string", "minLength": least, "maxLength": most, "pattern": pattern });
    let method = text("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 1, 64);
    let path = text("^/[!\"$-;=@-_a-~]*$", 1, MAX_TEXT);
    let host = text("^[!-~]+$", 1, MAX_TEXT);
    let client = json!({
        "anyOf": [{ "type": "string", "format": "ipv4" }, { "type": "string", "format": "ipv6" }]
    });
    let field = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$";
    let fields = json!({ "type": "array", "items": text(field, 2, MAX_TEXT), "maxItems": MAX_HEADERS });
    let mut parameters = vec![
        parameter("method", "The method; `GET` unless said.", &method),
        parameter("path", "The path as it was sent, still percent-encoded; `/` unless said.", &path),
        parameter("query", "The query as it was sent.", &text("^[!$-;=?-~]*$", 0, MAX_TEXT)),
        parameter("host", "The host the request is for; the `host` header unless said.", &host),
        parameter("client", "The address of the connection's other end.", &client),
        parameter("header", "A header field, `name:value`; may be repeated.", &fields),
    ];
    for name in keys.iter() {
        let schema = json!({ "type": "string", "maxLength": MAX_TEXT });
        parameters.push(parameter(&format!("key.{name}"), "A ready-made value of this key.", &schema));
    }
    operation.insert("parameters".to_owned(), Value::Array(parameters));
}

fn parameter(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema })
}
