//! The JSON Schema of the policy file, for editors: completion, descriptions, and slips marked while one types.
//!
//! The reader of `validate` is the law; this is its shape, as far as a schema can say one. Tests hold the two together:
//! every member that the reader knows is here and no other, every accepted file fits, and every refused file is
//! refused here too unless its mistake is one that no schema sees.

mod deployment;
mod keys;
mod limits;
mod rules;
mod shape;

use serde_json::{Value, json};

use shape::{Member, described, member, named, need, object, one_of_words};

/// Where the schema says what it is: a name, since it has no public address yet.
const ID: &str = "urn:tidegate:policy:1";

/// Returns the JSON Schema (draft 2020-12) of policy files.
pub fn schema() -> Value {
    let mut members = deployment::members();
    members.extend([
        need("tidegate", "The version of the language.", json!({ "enum": [1, "1"] })),
        member("mode", "Whether refusals are carried out, in the whole file.", rules::mode()),
        member("paths", "How paths are read.", paths()),
        member("codes", "Codes that somebody may guess.", named(&codes())),
        member("topology", "What stands around the process, for the review.", topology()),
        member("budget", "What is borne, for the review.", budget()),
        member("keys", "What limits count on.", named(&json!({ "$ref": "#/$defs/key" }))),
        member("costs", "What requests cost.", named(&limits::named_cost())),
        member("include", "Files of teams, by the team's name.", include()),
        member("rules", "What is limited. Every rule that matches applies.", rules::rules()),
        member("fallback", "The rule for requests that no enforced limit looked at.", rules::fallback()),
        member("headers", "The header fields of answers.", headers()),
        member("problem", "The body of a refusal.", problem()),
    ]);
    let mut root = object(members);
    if let Value::Object(root) = &mut root {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("$id".to_owned(), json!(ID));
        root.insert("title".to_owned(), json!("Tidegate policy"));
        root.insert(
            "$defs".to_owned(),
            json!({ "key": keys::key(), "match": rules::matcher(), "limit": limits::limit() }),
        );
        root.insert(
            "anyOf".to_owned(),
            json!([
                { "required": ["rules"] }, { "required": ["fallback"] }, { "required": ["include"] },
                { "required": ["envoy"], "properties": { "envoy": { "required": ["files"] } } }
            ]),
        );
    }
    root
}

fn paths() -> Value {
    let slash = one_of_words(&["refuse", "keep"]);
    object(vec![member("encoded_slash", "What becomes of an encoded slash or backslash.", slash)])
}

fn codes() -> Value {
    object(vec![
        need("digits", "How many decimal digits it has.", shape::integer(1, 18)),
        member("step", "How long one code is shown, for time-based codes.", shape::time()),
        member(
            "skew_steps",
            "How many steps before and after the present one are accepted as well.",
            shape::integer(0, 100),
        ),
        member(
            "alphabet",
            "How many different characters there are: 10 unless said.",
            shape::integer(2, 128),
        ),
        member("life", "How long a code that was sent is accepted.", shape::time()),
        member("valid", "How many codes are accepted at once.", shape::integer(1, 1_000)),
        member("attempts", "How many wrong tries end a code.", shape::integer(1, 1_000_000)),
        member("carry_over", "Whether tries go on being counted when a new code is sent.", shape::boolean()),
    ])
}

fn topology() -> Value {
    object(vec![
        member("regions", "How many regions count each for itself.", shape::integer(1, 1_000)),
        member("proxies", "How many proxies stand in front.", shape::integer(0, 32)),
    ])
}

fn budget() -> Value {
    let share = shape::text("A share above 0% and up to 100%.");
    object(vec![need("guess_per_year", "The chance a year of a blind guess that is borne.", share)])
}

fn include() -> Value {
    let file = shape::text("A path, from the folder of this file.");
    let scoped = object(vec![
        need("file", "A path, from the folder of this file.", file.clone()),
        member(
            "match",
            "What every rule of the file has to lie within.",
            shape::one_or_more(&rules::of_requests()),
        ),
    ]);
    let mut teams = named(&json!({ "anyOf": [file, scoped] }));
    if let Value::Object(object) = &mut teams {
        object.insert("minProperties".to_owned(), json!(1));
    }
    teams
}

fn headers() -> Value {
    let units = one_of_words(&["delta", "epoch-seconds", "epoch-milliseconds", "reset-on"]);
    let custom = object(vec![need("x-ratelimit", "What its reset counts in.", units)]);
    shape::one_or_more(&json!({ "anyOf": [one_of_words(&["ietf", "draft-03", "none"]), custom] }))
}

fn problem() -> Value {
    let usual = object(vec![
        member("type", "The URI of the problem's type.", shape::text("A URI.")),
        member("title", "Its title; may hold {rule}, {limit}, {says}, {retry_after}.", shape::text("")),
        member("detail", "Its detail; may hold the same.", shape::text("")),
        member("members", "Further members.", json!({ "type": "object" })),
    ]);
    let own = object(vec![
        need("content_type", "The content type of a body of your own.", shape::text("")),
        need("body", "The body; may hold {rule}, {limit}, {says}, {retry_after}.", shape::text("")),
    ]);
    json!({ "anyOf": [usual, own] })
}

/// Lists the members by which an algorithm is chosen, with their shapes.
fn algorithms() -> Vec<Member> {
    let limit = || need("limit", "The units a window admits.", shape::units());
    let window = || need("window", "The length of the window.", shape::time());
    let sliding = || object(vec![limit(), window()]);
    let anchored = object(vec![
        limit(),
        need(
            "window",
            "The length of a window; day, week or month of a calendar.",
            json!({ "anyOf": [shape::time(), one_of_words(&["day", "week", "month"])] }),
        ),
        member("anchor", "Where windows begin.", one_of_words(&["clock", "first_hit", "calendar"])),
    ]);
    let bucket = object(vec![
        need("capacity", "The units it holds.", shape::units()),
        need("refill", "How fast it refills.", shape::rate()),
    ]);
    let queue = object(vec![
        need("rate", "How fast requests start.", shape::rate()),
        need("queue", "The units that may wait.", shape::units()),
    ]);
    let lockout = object(vec![
        need("attempts", "The units that start the lock.", shape::units()),
        need("within", "The time in which they have to fall.", shape::time()),
        need("lock", "How long the lock lasts.", shape::time()),
    ]);
    vec![
        member("fixed_window", "A count that starts afresh with each window.", anchored),
        member("sliding_log", "The exact count over the last window.", sliding()),
        member("sliding_counter", "The weighted estimate of the count over the last window.", sliding()),
        member("token_bucket", "Credit that refills up to a capacity.", bucket),
        member("leaky_bucket", "A queue that is served at an even rate.", queue),
        member("lockout", "So many, then nothing for a time.", lockout),
    ]
}

/// Returns a shape with a description of its own beside a reference's.
fn refer(name: &str, doc: &str) -> Value {
    described(json!({ "$ref": format!("#/$defs/{name}") }), doc)
}

#[cfg(test)]
mod tests;
