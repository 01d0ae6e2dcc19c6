//! `POST /v1/refund`: gives back what a check was charged with, at most once.

use axum::Json;
use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Api, call, receipt};
use crate::problem::Problem;

/// A request to give back what a check was charged with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RefundRequest)]
pub(super) struct RefundCall {
    /// The receipt of the check, as `/v1/check` returned it.
    #[schema(
        pattern = "^[0-9a-f]{32}$",
        min_length = 32,
        max_length = 32,
        example = "000102030405060708090a0b0c0d0e0f"
    )]
    receipt: String,
}

/// What was given back.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Refunded {
    /// Always true: the receipt was valid and is now used. Where its charge can no longer be told apart (its window is
    /// over, its bucket has refilled), nothing was left to give back.
    refunded: bool,
}

/// Gives back what a check was charged with, as if the request had never been made.
///
/// Each receipt is good for one refund or one outcome, at the process that handed it out, while it is among the last 65,536 and
/// something can still be given back.
#[utoipa::path(
    post,
    path = "/v1/refund",
    operation_id = "refund",
    request_body = RefundCall,
    responses(
        (status = 200, description = "The receipt is used.", body = Refunded),
        (status = 404, description = "No such receipt is open: unknown, used, or too old.", body = Problem,
            content_type = "application/problem+json"),
        (status = 503, description = "The store did not answer. The receipt is used up, since the refund may have been made.",
            body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn refund(State(api): State<Api>, request: Request) -> Result<Json<Refunded>, Problem> {
    let call: RefundCall = call::read(request).await?;
    let receipt = api.take_receipt(&call.receipt)?;
    receipt::used(async move { api.limiter.refund(receipt).await }).await?;
    Ok(Json(Refunded { refunded: true }))
}
