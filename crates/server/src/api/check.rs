//! `POST /v1/check`: one request, described by the caller, decided.

use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::Deserialize;
use tidegate::Verdict;
use utoipa::ToSchema;

use super::book::ReceiptId;
use super::fields::{Members, OneOrMore, Whole};
use super::verdict::Checked;
use super::{Api, call};
use crate::problem::Problem;

/// A request to decide, as far as the policy's rules and keys look at it.
///
/// What is left out is as in a request without it. Null stands for left out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CheckRequest)]
pub(super) struct CheckCall {
    /// The method; `GET` unless said.
    #[schema(min_length = 1, max_length = 64, pattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", example = "POST")]
    pub(super) method: Option<String>,
    /// The path as it was sent: still percent-encoded, without the query; `/` unless said.
    #[schema(min_length = 1, max_length = 8192, pattern = "^/[!\"$-;=@-_a-~]*$", example = "/otp/verify")]
    pub(super) path: Option<String>,
    /// The query as it was sent, without the question mark.
    #[schema(max_length = 8192, pattern = "^[!$-;=?-~]*$")]
    pub(super) query: Option<String>,
    /// The host the request is for, perhaps with a port; the `host` header unless said.
    #[schema(min_length = 1, max_length = 262, pattern = "^[!-~]+$", example = "api.example.com")]
    pub(super) host: Option<String>,
    /// The address of the connection's other end, as the caller saw it. It is the client's address too, unless it is
    /// one of the policy's trusted proxies and `headers` say whom that forwards for.
    #[schema(value_type = Option<String>)]
    pub(super) client: Option<String>,
    /// The header fields by name; a list for a field that was sent several times.
    #[schema(value_type = Option<Object>)]
    pub(super) headers: Option<Members<OneOrMore>>,
    /// The body, if it is text. Keys in JSON and form bodies are read from it as from a request's, by the
    /// `content-type` in `headers`; without one it can be JSON only.
    #[schema(example = "{\"account\": \"ada\"}")]
    pub(super) body: Option<String>,
    /// The body in base64 with padding (RFC 4648, section 4), instead of `body`.
    #[schema(pattern = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")]
    pub(super) body_base64: Option<String>,
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
    request_body = CheckCall,
    responses((status = 200, description = "The verdict, whatever it is.", body = Checked<'_>))
)]
pub(super) async fn check(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let call = call::read::<CheckCall>(request).await?;
    let in_force = api.limiter.snapshot();
    let question = call.question(&api.names.of(&in_force))?;
    let mut verdict = in_force.check_with(&question.request(), Some(&question.keys), question.options).await;
    let receipt = api.keep_receipt(&mut verdict);
    let styles = in_force.policy().map_or(&[][..], |policy| &policy.headers);
    let checked = Checked::new(&verdict, styles, receipt);
    Ok(([(CACHE_CONTROL, "no-store")], Json(checked)).into_response())
}

impl Api {
    /// Puts the receipt of a verdict into the book, and returns its id if anything was charged.
    fn keep_receipt(&self, verdict: &mut Verdict) -> Option<String> {
        let at = verdict.at()?;
        let receipt = verdict.take_receipt();
        if receipt.is_empty() {
            return None;
        }
        match ReceiptId::draw() {
            Ok(id) => {
                let worth = receipt.refundable_until().saturating_since(at).as_duration();
                self.book.keep(id, receipt, worth, Instant::now());
                Some(id.to_text())
            }
            Err(error) => {
                tracing::error!(%error, "the system gives no randomness; a charge goes without a receipt");
                None
            }
        }
    }
}
