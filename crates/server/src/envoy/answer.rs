//! What Envoy is answered.
//!
//! The overall code is what Envoy acts upon: `OVER_LIMIT` refuses, `OK` lets pass, and nothing here is ever `UNKNOWN`, which it
//! would let pass as well. Headers and body of a refusal are those the gateway would give; Envoy adds its own status to them.

use bytes::{BufMut as _, Bytes, BytesMut};
use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use http::{HeaderMap, HeaderName, Response, StatusCode};
use prost::Message as _;
use serde_json::Value;
use tidegate::policy_file::Policy;
use tidegate::{DescriptorStatus, DescriptorsVerdict};
use tidegate_tower::{answer_fields, refusal};

use super::metadata;
use super::status::statuses;

/// An answer to Envoy. The fields that it adds for the client stand apart, since the usual way writes them from where they lie.
#[derive(Debug, Default)]
pub(super) struct Answer {
    rest: RateLimitResponse,
    fields: HeaderMap,
}

/// What stands before a field of an answer, before its name, and before its value: the numbers 3 of `RateLimitResponse`, 1 and
/// 2 of `HeaderValue`, each for a length and that many bytes.
const FIELD: u8 = 3 << 3 | 2;
const KEY: u8 = 1 << 3 | 2;
const VALUE: u8 = 2 << 3 | 2;

impl Answer {
    /// Returns it as the message that it is.
    pub(super) fn into_message(self) -> RateLimitResponse {
        let fields = texts(&self.fields).map(|(name, value)| HeaderValue {
            key: name.as_str().to_owned(),
            value: value.to_owned(),
            ..HeaderValue::default()
        });
        RateLimitResponse { response_headers_to_add: fields.collect(), ..self.rest }
    }

    /// Returns how long it is on the wire.
    pub(super) fn encoded_len(&self) -> usize {
        let fields = texts(&self.fields).map(|(name, value)| part_len(field_len(name, value)));
        fields.fold(self.rest.encoded_len(), usize::saturating_add)
    }

    /// Writes it as [`Self::into_message`] would be, save that the fields come last.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        // Memory has room.
        let _ = self.rest.encode(out);
        for (name, value) in texts(&self.fields) {
            begin(out, FIELD, field_len(name, value));
            begin(out, KEY, name.as_str().len());
            out.put_slice(name.as_str().as_bytes());
            begin(out, VALUE, value.len());
            out.put_slice(value.as_bytes());
        }
    }
}

/// Begins a part of so many bytes.
fn begin(out: &mut BytesMut, key: u8, length: usize) {
    out.put_u8(key);
    let _ = prost::encode_length_delimiter(length, out);
}

/// Returns how long a part of so many bytes is, with what stands before it.
fn part_len(length: usize) -> usize {
    length.saturating_add(prost::length_delimiter_len(length)).saturating_add(1)
}

fn field_len(name: &HeaderName, value: &str) -> usize {
    part_len(name.as_str().len()).saturating_add(part_len(value.len()))
}

/// Returns the fields that are text, which are all.
fn texts(fields: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &str)> {
    fields.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)))
}

/// Returns the answer for what was decided.
pub(super) fn reply(policy: &Policy, decided: &DescriptorsVerdict) -> Answer {
    let verdict = &decided.verdict;
    let refused: Option<Response<Bytes>> = refusal(verdict, &policy.headers, &policy.problem);
    let mut rest = RateLimitResponse {
        statuses: statuses(policy, decided, refused.is_some()),
        dynamic_metadata: metadata::of_passed(policy, decided),
        ..RateLimitResponse::default()
    };
    let fields = if let Some(mut refused) = refused {
        rest.set_overall_code(Code::OverLimit);
        let fields = std::mem::take(refused.headers_mut());
        rest.raw_body = body(refused).into();
        fields
    } else {
        rest.set_overall_code(Code::Ok);
        answer_fields(verdict, &policy.headers)
    };
    Answer { rest, fields }
}

/// Returns an answer that lets pass what no policy knows of.
pub(super) fn unlimited(descriptors: usize) -> Answer {
    use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::DescriptorStatus as Status;
    let status = Status { code: Code::Ok.into(), ..Status::default() };
    let rest = RateLimitResponse {
        overall_code: Code::Ok.into(),
        statuses: vec![status; descriptors],
        ..RateLimitResponse::default()
    };
    Answer { rest, ..Answer::default() }
}

/// Returns whether any descriptor is over its limit by itself.
pub(super) fn any_over(decided: &DescriptorsVerdict) -> bool {
    decided.answers.iter().any(|answer| matches!(answer.status, DescriptorStatus::Decided { over: true, .. }))
}

/// Returns the body of a refusal. Which status it goes out under only Envoy knows (`rate_limited_status`): a problem document
/// that would name another is left without.
fn body(refused: Response<Bytes>) -> Bytes {
    let status = refused.status();
    let body = refused.into_body();
    if status == StatusCode::TOO_MANY_REQUESTS {
        return body;
    }
    let Ok(Value::Object(mut problem)) = serde_json::from_slice(&body) else { return body };
    problem.shift_remove("status");
    Value::Object(problem).to_string().into()
}

#[cfg(test)]
mod tests {
    use http::header::{CONTENT_TYPE, RETRY_AFTER};

    use super::*;

    /// Guards against a field that is written into another's place, and a length that is not what follows.
    #[test]
    fn what_is_written_from_where_it_lies_is_the_same_message() {
        let fields = [
            (RETRY_AFTER, "7".to_owned()),
            (CONTENT_TYPE, String::new()),
            (HeaderName::from_static("ratelimit-policy"), "x".repeat(300)),
            (HeaderName::from_static("ratelimit-policy"), "y".repeat(127)),
        ];
        let fields = fields.map(|(name, value)| (name, value.parse().unwrap()));
        let message = || RateLimitResponse {
            overall_code: Code::OverLimit.into(),
            raw_body: b"{}".to_vec(),
            ..RateLimitResponse::default()
        };
        let fields = HeaderMap::from_iter(fields);
        for answer in [
            Answer { rest: message(), fields: HeaderMap::new() },
            Answer { rest: message(), fields: fields.clone() },
            Answer { rest: RateLimitResponse::default(), fields },
        ] {
            let mut bytes = BytesMut::new();
            answer.encode(&mut bytes);
            assert_eq!(bytes.len(), answer.encoded_len());
            assert_eq!(RateLimitResponse::decode(bytes), Ok(answer.into_message()));
        }
    }
}
