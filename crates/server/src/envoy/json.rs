//! `POST /json`: the question and the answer as JSON, by the rules of proto3.
//!
//! Names are in camel case or as in the definition, numbers are numbers or text, enumerations go by name, and what has its
//! default value is left out of answers.

use std::fmt;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus};
use envoy_types::pb::envoy::r#type::v3::RateLimitUnit;
use envoy_types::pb::google::protobuf::UInt64Value;
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::message::{Asked, AskedDescriptor, AskedEntry, AskedLimit};
use super::{Face, metadata};
use crate::api::BODY_TIMEOUT;
use crate::problem::Problem;

/// The most bytes of a body: people and their tools ask here, of one request.
const MAX_BYTES: usize = 1 << 20;

/// Answers a question that came as JSON.
pub(super) async fn json(State(face): State<Face>, request: Request) -> Response {
    let asked = match read(request).await {
        Ok(asked) => asked,
        Err(problem) => return problem.into_response(),
    };
    match face.answer(asked).await.map(Answer::into_message) {
        Ok(reply) => {
            let code = match reply.overall_code() {
                Code::Ok => StatusCode::OK,
                Code::OverLimit => StatusCode::TOO_MANY_REQUESTS,
                Code::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (code, [(CACHE_CONTROL, "no-store")], Json(write(&reply))).into_response()
        }
        Err(status) => {
            let code = match status.code() {
                tonic::Code::InvalidArgument => StatusCode::BAD_REQUEST,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Problem::new(code, status.message()).into_response()
        }
    }
}

async fn read(request: Request) -> Result<Asked, Problem> {
    let bad = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    let body = tokio::time::timeout(BODY_TIMEOUT, to_bytes(request.into_body(), MAX_BYTES)).await;
    let body = body.map_err(|_| {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive within 10 seconds; send it faster")
    })?;
    let body = body.map_err(|_| bad(format!("the body broke off, or has more than {MAX_BYTES} bytes")))?;
    let question: Question = serde_json::from_slice(&body)
        .map_err(|error| bad(format!("the body is no rate-limit request as JSON: {error}")))?;
    Ok(question.into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Question {
    domain: Option<String>,
    descriptors: Option<Vec<Descriptor>>,
    #[serde(alias = "hits_addend")]
    hits_addend: Option<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Descriptor {
    entries: Option<Vec<Entry>>,
    limit: Option<Limit>,
    #[serde(alias = "hits_addend")]
    hits_addend: Option<Number>,
    #[serde(alias = "is_negative_hits")]
    is_negative_hits: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: Option<String>,
    value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Limit {
    #[serde(alias = "requests_per_unit")]
    requests_per_unit: Option<Number>,
    unit: Option<UnitName>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a unit, or its number")]
enum UnitName {
    Number(i32),
    Name(String),
}

/// A whole number, written as one or as text.
#[derive(Clone, Copy)]
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_plain);
        number.map(Number).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl From<Question> for Asked {
    fn from(question: Question) -> Self {
        Self {
            domain: question.domain.unwrap_or_default().into(),
            descriptors: question.descriptors.into_iter().flatten().map(AskedDescriptor::from).collect(),
            hits_addend: question.hits_addend.map_or(0, small),
        }
    }
}

/// What is too large for the field is too large for a limit as well, and is refused as such.
fn small(number: Number) -> u32 {
    u32::try_from(number.0).unwrap_or(u32::MAX)
}

impl From<Descriptor> for AskedDescriptor {
    fn from(descriptor: Descriptor) -> Self {
        let entry = |entry: Entry| AskedEntry {
            key: entry.key.unwrap_or_default().into(),
            value: entry.value.unwrap_or_default().into(),
        };
        Self {
            entries: descriptor.entries.into_iter().flatten().map(entry).collect(),
            limit: descriptor.limit.map(|limit| AskedLimit {
                requests_per_unit: limit.requests_per_unit.map_or(0, small),
                unit: limit.unit.map_or(0, number),
            }),
            hits_addend: descriptor.hits_addend.map(|Number(value)| UInt64Value { value }),
            is_negative_hits: descriptor.is_negative_hits.unwrap_or_default(),
        }
    }
}

/// Returns a unit's number; one that is no unit's for a name that is none, which is refused with the rest.
fn number(unit: UnitName) -> i32 {
    match unit {
        UnitName::Number(number) => number,
        UnitName::Name(name) => RateLimitUnit::from_str_name(&name).map_or(-1, Into::into),
    }
}

/// Writes an answer.
fn write(reply: &RateLimitResponse) -> Value {
    let mut out = Map::new();
    if reply.overall_code() != Code::Unknown {
        out.insert("overallCode".to_owned(), json!(reply.overall_code().as_str_name()));
    }
    if !reply.statuses.is_empty() {
        out.insert("statuses".to_owned(), reply.statuses.iter().map(status).collect());
    }
    for (name, headers) in [
        ("responseHeadersToAdd", &reply.response_headers_to_add),
        ("requestHeadersToAdd", &reply.request_headers_to_add),
    ] {
        if !headers.is_empty() {
            out.insert(name.to_owned(), headers.iter().map(header).collect());
        }
    }
    if !reply.raw_body.is_empty() {
        out.insert("rawBody".to_owned(), json!(STANDARD.encode(&reply.raw_body)));
    }
    if let Some(structure) = &reply.dynamic_metadata {
        out.insert("dynamicMetadata".to_owned(), metadata::to_json(structure));
    }
    Value::Object(out)
}

fn header(header: &HeaderValue) -> Value {
    json!({ "key": header.key, "value": header.value })
}

fn status(status: &DescriptorStatus) -> Value {
    let mut out = Map::new();
    if status.code() != Code::Unknown {
        out.insert("code".to_owned(), json!(status.code().as_str_name()));
    }
    if let Some(limit) = &status.current_limit {
        let mut own = Map::new();
        if limit.requests_per_unit != 0 {
            own.insert("requestsPerUnit".to_owned(), json!(limit.requests_per_unit));
        }
        if limit.unit() != Unit::Unknown {
            own.insert("unit".to_owned(), json!(limit.unit().as_str_name()));
        }
        if !limit.name.is_empty() {
            own.insert("name".to_owned(), json!(limit.name));
        }
        out.insert("currentLimit".to_owned(), Value::Object(own));
    }
    if status.limit_remaining != 0 {
        out.insert("limitRemaining".to_owned(), json!(status.limit_remaining));
    }
    if let Some(duration) = &status.duration_until_reset {
        // Whole seconds are all that is ever said.
        out.insert("durationUntilReset".to_owned(), json!(format!("{}s", duration.seconds)));
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Asked, String> {
        serde_json::from_str::<Question>(text).map(Asked::from).map_err(|error| error.to_string())
    }

    #[test]
    fn both_spellings_of_names_and_numbers_are_one_question() {
        let camel = r#"{"domain":"d","hitsAddend":"5","descriptors":[{"entries":[{"key":"k","value":"v"}],
            "limit":{"requestsPerUnit":"7","unit":"MINUTE"},"hitsAddend":"9","isNegativeHits":true}]}"#;
        let snake = r#"{"domain":"d","hits_addend":5,"descriptors":[{"entries":[{"key":"k","value":"v"}],
            "limit":{"requests_per_unit":7,"unit":2},"hits_addend":9,"is_negative_hits":true}]}"#;
        let asked = [camel, snake].map(|text| asked(text).unwrap());
        assert_eq!(asked[0], asked[1]);
        assert_eq!(asked[0].descriptors[0].limit, Some(AskedLimit { requests_per_unit: 7, unit: 2 }));
        assert_eq!(asked[0].descriptors[0].hits_addend, Some(UInt64Value { value: 9 }));
    }

    /// Guards against a question that is answered although part of it was not understood.
    #[test]
    fn what_is_no_question_is_refused() {
        for text in [
            "",
            "[]",
            r#"{"domain":"d","descriptor":[]}"#,
            r#"{"domain":7}"#,
            r#"{"domain":"d","hitsAddend":-1}"#,
            r#"{"domain":"d","hitsAddend":"+1"}"#,
            r#"{"domain":"d","hitsAddend":1,"hits_addend":2}"#,
        ] {
            assert!(asked(text).is_err(), "{text}");
        }
        let unit =
            asked(r#"{"domain":"d","descriptors":[{"entries":[{"key":"k"}],"limit":{"unit":"EON"}}]}"#);
        assert!(super::super::question::Question::of(unit.unwrap()).is_err());
    }
}
