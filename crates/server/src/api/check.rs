//! `POST /v1/check`: one request, described by the caller, decided.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::Full;
use serde::Deserialize;
use tidegate::Verdict;
use utoipa::ToSchema;

use super::fields::{Members, OneOrMore, Text, Whole};
use super::verdict::Checked;
use super::{Api, call};
use crate::problem::Problem;

/// A request to decide, as far as the policy's rules and keys look at it.
///
/// What is left out is as in a request without it. Null stands for left out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CheckRequest)]
pub(super) struct CheckCall<'a> {
    /// The method; `GET` unless said.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 64, pattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", example = "POST")]
    #[serde(borrow)]
    pub(super) method: Option<Text<'a>>,
    /// The path as it was sent: still percent-encoded, without the query; `/` unless said.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 8192, pattern = "^/[!\"$-;=@-_a-~]*$", example = "/otp/verify")]
    #[serde(borrow)]
    pub(super) path: Option<Text<'a>>,
    /// The query as it was sent, without the question mark.
    #[schema(value_type = Option<String>, max_length = 8192, pattern = "^[!$-;=?-~]*$")]
    #[serde(borrow)]
    pub(super) query: Option<Text<'a>>,
    /// The host the request is for, perhaps with a port; the `host` header unless said.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 262, pattern = "^[!-~]+$", example = "api.example.com")]
    #[serde(borrow)]
    pub(super) host: Option<Text<'a>>,
    /// The address of the connection's other end, as the caller saw it. It is the client's address too, unless it is
    /// one of the policy's trusted proxies and `headers` say whom that forwards for.
    #[schema(value_type = Option<String>)]
    #[serde(borrow)]
    pub(super) client: Option<Text<'a>>,
    /// The header fields by name; a list for a field that was sent several times.
    #[schema(value_type = Option<Object>)]
    #[serde(borrow)]
    pub(super) headers: Option<Members<OneOrMore<'a>>>,
    /// The body, if it is text. Keys in JSON and form bodies are read from it as from a request's, by the
    /// `content-type` in `headers`; without one it can be JSON only.
    #[schema(value_type = Option<String>, example = "{\"account\": \"ada\"}")]
    #[serde(borrow)]
    pub(super) body: Option<Text<'a>>,
    /// The body in base64 with padding (RFC 4648, section 4), instead of `body`.
    #[schema(value_type = Option<String>, pattern = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")]
    #[serde(borrow)]
    pub(super) body_base64: Option<Text<'a>>,
    /// Ready-made values of keys by their name in the policy. One stands in for what the request would be read for,
    /// and is normalised as the policy says; an empty one counts as missing.
    #[schema(value_type = Option<Object>)]
    pub(super) keys: Option<Members<String>>,
    /// The units to charge instead of each limit's own cost; 0 asks without taking.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 1_073_741_824)]
    pub(super) cost: Option<Whole>,
    /// Whether to look without taking: the verdict of a check now, and nothing is charged.
    pub(super) peek: Option<bool>,
    /// The longest delay in milliseconds that the caller can hold the request for a leaky bucket; 0 unless said, so
    /// that what would have to wait is refused.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 34_560_000_000_u64)]
    pub(super) max_delay_ms: Option<Whole>,
}

/// Decides a request.
///
/// All limits of the policy that apply are asked at once: all are charged, or none is. The verdict is the same that
/// the gateway would give. What was charged can be given back once, with the receipt: all of it by `/v1/refund`, or what
/// limits that count failures took by `/v1/outcome`.
#[utoipa::path(
    post,
    path = "/v1/check",
    operation_id = "check",
    request_body = CheckCall<'_>,
    responses((status = 200, description = "The verdict, whatever it is.", body = Checked<'_>))
)]
pub(super) async fn check(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    Ok(answer(&api, request).await?.map(Body::new))
}

/// Answers a call.
pub(super) async fn answer<B>(
    api: &Api,
    request: http::Request<B>,
) -> Result<http::Response<Full<Bytes>>, Problem>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let body = call::bytes(request).await?;
    let call = call::parse::<CheckCall<'_>>(&body)?;
    let in_force = api.limiter.snapshot();
    let question = call.question(&api.names.of(&in_force))?;
    let mut verdict = in_force.check_with(&question.request(), Some(&question.keys), question.options).await;
    let receipt = api.keep_receipt(&mut verdict);
    let styles = in_force.policy().map_or(&[][..], |policy| &policy.headers);
    Ok(Checked::new(&verdict, styles, receipt).response())
}

impl Api {
    /// Puts the receipt of a verdict into the book, and returns its id if anything was charged.
    fn keep_receipt(&self, verdict: &mut Verdict) -> Option<String> {
        let at = verdict.at()?;
        let receipt = verdict.take_receipt();
        if receipt.is_empty() {
            return None;
        }
        let worth = receipt.refundable_until().saturating_since(at).as_duration();
        match self.book.keep(receipt, worth, Instant::now()) {
            Ok(id) => Some(id.to_text()),
            Err(error) => {
                tracing::error!(%error, "the system gives no randomness; a charge goes without a receipt");
                None
            }
        }
    }
}
