//! `POST /v1/outcome`: tells how a checked request went, so that limits that count failures give a success back.

use axum::Json;
use axum::extract::{Request, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tidegate::{OnSuccess, Pending, Settled, Settlement};
use utoipa::ToSchema;

use super::fields::{Members, OneOrMore, Whole};
use super::{Api, call, question, receipt};
use crate::problem::Problem;

/// How a checked request went: its answer, of which the policy knows whether it is a success, or the caller's word.
///
/// Null stands for left out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OutcomeRequest)]
pub(super) struct OutcomeCall<'a> {
    /// The receipt of the check, as `/v1/check` returned it.
    #[schema(
        pattern = "^[0-9a-f]{32}$",
        min_length = 32,
        max_length = 32,
        example = "000102030405060708090a0b0c0d0e0f"
    )]
    receipt: String,
    /// The status of the answer.
    #[schema(value_type = Option<u64>, minimum = 100, maximum = 599, example = 200)]
    status: Option<Whole>,
    /// The header fields of the answer by name, as far as a success is told by them; a list for a field that was sent
    /// several times.
    #[schema(value_type = Option<Object>)]
    #[serde(borrow)]
    headers: Option<Members<OneOrMore<'a>>>,
    /// Whether the request succeeded, instead of its answer.
    success: Option<bool>,
}

/// What became of the charges that waited for the outcome.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Settled)]
pub(super) struct SettledView {
    /// Always true: the receipt was valid and is now used.
    settled: bool,
    /// The limits that count failures and took this for a success. Where a charge can no longer be told apart (its
    /// window is over, its bucket has refilled), nothing was left to give back.
    gave_back: Vec<GaveBack>,
}

/// A limit that took the outcome for a success.
#[derive(Debug, Serialize, ToSchema)]
struct GaveBack {
    /// Its name, `rule/limit`.
    limit: String,
    on_success: OnSuccessName,
}

/// What a success does to a count of failures.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OnSuccess)]
pub(super) enum OnSuccessName {
    /// It gives back what its own request was charged with.
    Refund,
    /// It forgets all failures of its key.
    Reset,
}

/// Tells how a checked request went.
///
/// A success gives back what limits that count failures were charged with, or makes them forget all failures of the key,
/// as the policy has it. A failure leaves those charges, and the charges of all other limits stay in any case. Each
/// receipt is good for one outcome or one refund.
#[utoipa::path(
    post,
    path = "/v1/outcome",
    operation_id = "outcome",
    request_body = OutcomeCall<'_>,
    responses(
        (status = 200, description = "The receipt is used.", body = SettledView),
        (status = 404, description = "No such receipt is open: unknown, used, or too old.", body = Problem,
            content_type = "application/problem+json"),
        (status = 503, description = "The store did not answer. The receipt is used up, since the settlement may have \
            been made.", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn outcome(State(api): State<Api>, request: Request) -> Result<Json<SettledView>, Problem> {
    let body = call::bytes(request).await?;
    let call: OutcomeCall<'_> = call::parse(&body)?;
    let told = told(call.status, call.headers, call.success)?;
    let pending = api.take_receipt(&call.receipt)?.pending();
    let settlement = told.judge(pending);
    let settled = receipt::used(async move { api.limiter.settle(settlement).await }).await?;
    Ok(Json(SettledView::of(&settled)))
}

/// How the request went, in one of the two ways to say it.
enum Told {
    Answer { status: StatusCode, headers: http::HeaderMap },
    Success(bool),
}

/// Checks what types cannot say: one of the two ways, and only one.
fn told(
    status: Option<Whole>,
    headers: Option<Members<OneOrMore<'_>>>,
    success: Option<bool>,
) -> Result<Told, Problem> {
    match (status, headers, success) {
        (Some(Whole(status)), headers, None) => {
            let status = u16::try_from(status).ok().filter(|status| (100..=599).contains(status));
            let status = status.and_then(|status| StatusCode::from_u16(status).ok());
            let status = status.ok_or_else(|| {
                Problem::of_member("status", "is not the status of an answer; send 100 to 599")
            })?;
            Ok(Told::Answer { status, headers: question::headers(&headers.unwrap_or_default())? })
        }
        (None, None, Some(success)) => Ok(Told::Success(success)),
        (Some(_), _, Some(_)) => {
            Err(Problem::of_member("success", "is there beside `status`; send one of them"))
        }
        (None, Some(_), _) => Err(Problem::of_member("headers", "are there without a `status`; send both")),
        (None, None, None) => Err(Problem::of_member(
            "status",
            "is missing; send the status of the answer, or `success` with true or false",
        )),
    }
}

impl Told {
    fn judge(self, pending: Pending) -> Settlement {
        match self {
            Self::Answer { status, headers } => pending.answered(status, &headers),
            Self::Success(true) => pending.succeeded(),
            Self::Success(false) => Settlement::default(),
        }
    }
}

impl OnSuccessName {
    pub(super) fn of(on_success: OnSuccess) -> Self {
        match on_success {
            OnSuccess::Refund => Self::Refund,
            OnSuccess::Reset => Self::Reset,
        }
    }
}

impl SettledView {
    fn of(settled: &Settled) -> Self {
        let gave_back = settled.limits().map(|(limit, on_success)| GaveBack {
            limit: limit.name().to_owned(),
            on_success: OnSuccessName::of(on_success),
        });
        Self { settled: true, gave_back: gave_back.collect() }
    }
}
