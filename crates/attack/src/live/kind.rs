//! What an answer says of the gateway's decision.
//!
//! A service behind a gateway may answer 429 or 503 by itself, and has then been reached. So a status alone says nothing. A
//! refusal is a 429 with what the policy gives refusals: `Cache-Control: no-store`, the content type, and for problems the
//! `type` of RFC 9457. What the gateway answers for other reasons is a problem of no type, without the fields that a request
//! which passed has on its answer. A service that copies all of that is taken for the gateway.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tidegate_policy::ProblemTemplate;

/// The types of problems that the gateway answers with unless the policy says another.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
const NO_TYPE: &str = "about:blank";
const PROBLEM: &str = "application/problem+json";

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The limits let it pass, and the service behind answered.
    Passed,
    /// The limits let it pass, and the service behind did not answer.
    Unserved,
    /// A limit refused it.
    Refused,
    /// It was answered before or without the limits' counts: the store was down, or the gateway took no more.
    Undecided,
}

#[derive(Default, Deserialize)]
struct Problem {
    #[serde(rename = "type", default)]
    kind: String,
}

impl Kind {
    /// Tells what an answer says; `template` is what the policy gives refusals.
    pub(super) fn of(
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        template: &ProblemTemplate,
    ) -> Self {
        let has =
            |name, text: &str| headers.get(name).is_some_and(|value| value.as_bytes() == text.as_bytes());
        if !status.is_client_error() && !status.is_server_error() || !has(CACHE_CONTROL, "no-store") {
            return Self::Passed;
        }
        let problem = has(CONTENT_TYPE, PROBLEM)
            .then(|| serde_json::from_slice::<Problem>(body).unwrap_or_default().kind);
        let is = |kind: &str| problem.as_deref() == Some(kind);
        let is_refusal = match template {
            ProblemTemplate::Problem { type_uri, .. } => is(type_uri.as_deref().unwrap_or(QUOTA_EXCEEDED)),
            ProblemTemplate::Own { content_type, .. } => has(CONTENT_TYPE, content_type),
        };
        match status {
            StatusCode::TOO_MANY_REQUESTS if is_refusal => Self::Refused,
            StatusCode::SERVICE_UNAVAILABLE if is(REDUCED_CAPACITY) => Self::Undecided,
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT if is(NO_TYPE) => Self::Unserved,
            _ if is(NO_TYPE) && !has_fields(headers) => Self::Undecided,
            _ => Self::Passed,
        }
    }

    /// Returns whether the limits let it pass.
    pub(super) fn is_admitted(self) -> bool {
        matches!(self, Self::Passed | Self::Unserved)
    }
}

/// Returns whether an answer says where its client stands, in any of the families of fields that a policy can name.
fn has_fields(headers: &HeaderMap) -> bool {
    ["ratelimit", "ratelimit-remaining", "x-ratelimit-remaining"]
        .iter()
        .any(|name| headers.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, fields: &[(&'static str, &'static str)], body: &str) -> Kind {
        kind_by(&ProblemTemplate::default(), status, fields, body)
    }

    fn kind_by(
        template: &ProblemTemplate,
        status: u16,
        fields: &[(&'static str, &'static str)],
        body: &str,
    ) -> Kind {
        let fields = fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers: HeaderMap = fields.collect();
        Kind::of(StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes(), template)
    }

    const OURS: [(&str, &str); 2] = [("content-type", PROBLEM), ("cache-control", "no-store")];

    /// A service that has had enough by itself was reached all the same: taken for a refusal, its 429 would be a difference.
    #[test]
    fn a_429_or_503_of_the_service_behind_has_passed() {
        assert_eq!(kind(429, &[], "slow down"), Kind::Passed);
        assert_eq!(kind(429, &OURS, r#"{"type":"https://example.com/busy"}"#), Kind::Passed);
        assert_eq!(kind(429, &[("cache-control", "no-store")], ""), Kind::Passed);
        assert_eq!(kind(503, &[("retry-after", "5")], ""), Kind::Passed);
        assert_eq!(kind(200, &OURS, ""), Kind::Passed);
        let told = [OURS[0], OURS[1], ("ratelimit", "\"a\";r=1;t=0")];
        assert_eq!(kind(400, &told, r#"{"type":"about:blank"}"#), Kind::Passed);
    }

    #[test]
    fn what_the_gateway_says_is_told_apart_by_its_types() {
        let quota = format!(r#"{{"type":"{QUOTA_EXCEEDED}","status":429}}"#);
        assert_eq!(kind(429, &OURS, &quota), Kind::Refused);
        let reduced = format!(r#"{{"type":"{REDUCED_CAPACITY}"}}"#);
        assert_eq!(kind(503, &OURS, &reduced), Kind::Undecided);
        assert_eq!(kind(502, &OURS, r#"{"type":"about:blank"}"#), Kind::Unserved);
        assert_eq!(kind(413, &OURS, r#"{"type":"about:blank"}"#), Kind::Undecided);
    }

    #[test]
    fn a_policy_with_refusals_of_its_own_is_heeded() {
        let typed = ProblemTemplate::Problem {
            type_uri: Some("https://example.com/limit".to_owned()),
            title: None,
            detail: None,
            members: Vec::new(),
        };
        assert_eq!(kind_by(&typed, 429, &OURS, r#"{"type":"https://example.com/limit"}"#), Kind::Refused);
        let text = tidegate_policy::parse(
            "policy.yaml",
            "tidegate: 1\napi: { listen: 127.0.0.1:0 }\nproblem: { content_type: text/plain, body: wait }\nrules:\n  - name: a\n    match: { path: /** }\n    limits:\n      - { name: b, says: One a minute., key: global, fixed_window: { limit: 1, window: 1m, anchor: clock } }\n",
        );
        let text = text.unwrap().problem;
        let plain = [("content-type", "text/plain"), ("cache-control", "no-store")];
        assert_eq!(kind_by(&text, 429, &plain, "no"), Kind::Refused);
        assert_eq!(kind_by(&text, 429, &OURS, "no"), Kind::Passed);
    }
}
