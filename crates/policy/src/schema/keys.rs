//! Keys: what limits count on.

use serde_json::{Value, json};

use super::shape::{Member, integer, member, name, need, object, one_of_words, one_or_more, text};

/// Returns the shape of a key as `keys` declares it: one source, or the first of several keys that is there.
pub(super) fn key() -> Value {
    let choice = object(vec![
        need(
            "first_of",
            "The first of these that is there.",
            json!({ "type": "array", "items": part(), "minItems": 2 }),
        ),
        called(),
    ]);
    json!({ "anyOf": [source(), choice] })
}

/// Returns the shape of the key of a limit: a name, a source, or a list of them.
pub(super) fn used() -> Value {
    one_or_more(&part())
}

fn part() -> Value {
    json!({ "anyOf": [name(), source()] })
}

fn called() -> Member {
    member("called", "What people call it in words.", one_or_more(&text("")))
}

/// Returns the shape of a mapping that says where a value is read.
fn source() -> Value {
    let sources = sources();
    let names: Vec<Value> = sources.iter().map(|one| json!({ "required": [one.name] })).collect();
    let mut members = sources;
    members.push(member("normalize", "Spellings that are brought together.", one_or_more(&step())));
    members.push(called());
    let from = one_of_words(&["trusted_proxies", "envoy"]);
    let believed =
        "Who is believed: a header field of anybody else is missing; an entry is found out by Envoy.";
    members.push(member("from", believed, from));
    let mut schema = object(members);
    if let Value::Object(object) = &mut schema {
        object.insert("oneOf".to_owned(), Value::Array(names));
        let of = |source: &str, from: &str| json!({ "required": [source], "properties": { "from": { "const": from } } });
        let either = json!([{ "properties": { "from": false } }, of("header", "trusted_proxies"), of("descriptor", "envoy")]);
        object.insert("anyOf".to_owned(), either);
    }
    schema
}

fn sources() -> Vec<Member> {
    let prefixes = object(vec![
        member("ipv4", "The bits of an IPv4 address that count.", integer(8, 32)),
        member("ipv6", "The bits of an IPv6 address that count.", integer(16, 128)),
    ]);
    let pointer = json!({ "type": "string", "pattern": "^/", "examples": ["/account"] });
    let header = json!({ "type": "string", "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" });
    vec![
        member("client_ip", "The client's address, cut to a prefix.", prefixes),
        member("header", "A header field.", header),
        member("query", "A parameter of the query.", text("")),
        member("path", "A parameter of the path.", text("")),
        member("json", "A value in a JSON body, by its pointer (RFC 6901).", pointer),
        member("form", "A field of a form body.", text("")),
        member("cookie", "A cookie.", text("")),
        member("phone_country", "The country of another key's phone number.", name()),
        member("phone_prefix", "Another key's phone number without its last four digits.", name()),
        member("descriptor", "An entry of Envoy's descriptors.", text("")),
        member("jwt", "A claim of a verified token.", jwt()),
        member("request", "The path that was asked for.", one_of_words(&["path"])),
    ]
}

/// Returns the shape of a claim.
pub(super) fn jwt() -> Value {
    object(vec![
        need("claim", "Its name, or a pointer to it.", text("")),
        need("jwks_file", "The file with the keys that tokens are verified by.", text("")),
        member("header", "The header field with the token; Authorization unless said.", text("")),
        member("issuer", "The issuer a token has to name.", text("")),
        member("audience", "The audience a token has to name.", text("")),
    ])
}

fn step() -> Value {
    let region = json!({ "type": "string", "pattern": "^[A-Z]{2}$" });
    let phone = object(vec![need("e164", "The region that national numbers are read as.", region)]);
    json!({ "anyOf": [{ "enum": ["trim", "lowercase", "e164", "hash"] }, phone] })
}
