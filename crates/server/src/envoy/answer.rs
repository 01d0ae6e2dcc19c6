//! What Envoy is answered.
//!
//! The overall code is what Envoy acts upon: `OVER_LIMIT` refuses, `OK` lets pass, and nothing here is ever `UNKNOWN`, which it
//! would let pass as well. Headers and body of a refusal are those the gateway would give; Envoy adds its own status to them.

use bytes::Bytes;
use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use http::{HeaderMap, Response, StatusCode};
use serde_json::Value;
use tidegate::policy_file::Policy;
use tidegate::{DescriptorStatus, DescriptorsVerdict};
use tidegate_tower::{answer_fields, refusal};

use super::metadata;
use super::status::statuses;

/// Returns the answer for what was decided.
pub(super) fn reply(policy: &Policy, decided: &DescriptorsVerdict) -> RateLimitResponse {
    let verdict = &decided.verdict;
    let refused: Option<Response<Bytes>> = refusal(verdict, &policy.headers, &policy.problem);
    let mut reply = RateLimitResponse {
        statuses: statuses(policy, decided, refused.is_some()),
        dynamic_metadata: metadata::of_passed(policy, decided),
        ..RateLimitResponse::default()
    };
    if let Some(refused) = refused {
        reply.set_overall_code(Code::OverLimit);
        reply.response_headers_to_add = headers(refused.headers());
        reply.raw_body = body(refused).into();
    } else {
        reply.set_overall_code(Code::Ok);
        reply.response_headers_to_add = headers(&answer_fields(verdict, &policy.headers));
    }
    reply
}

/// Returns an answer that lets pass what no policy knows of.
pub(super) fn unlimited(descriptors: usize) -> RateLimitResponse {
    use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::DescriptorStatus as Status;
    let status = Status { code: Code::Ok.into(), ..Status::default() };
    RateLimitResponse {
        overall_code: Code::Ok.into(),
        statuses: vec![status; descriptors],
        ..RateLimitResponse::default()
    }
}

/// Returns whether any descriptor is over its limit by itself.
pub(super) fn any_over(decided: &DescriptorsVerdict) -> bool {
    decided.answers.iter().any(|answer| matches!(answer.status, DescriptorStatus::Decided { over: true, .. }))
}

/// Returns fields as Envoy adds them to an answer, beside those that are there.
fn headers(fields: &HeaderMap) -> Vec<HeaderValue> {
    let texts = fields.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    let added = texts.map(|(name, value)| HeaderValue {
        key: name.as_str().to_owned(),
        value: value.to_owned(),
        ..HeaderValue::default()
    });
    added.collect()
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
