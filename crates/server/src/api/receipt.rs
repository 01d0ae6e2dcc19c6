//! What `/v1/refund` and `/v1/outcome` share: a receipt is used for one of them, once.

use std::future::Future;
use std::time::Instant;

use http::StatusCode;
use tidegate::{Receipt, StoreError};

use super::Api;
use super::book::ReceiptId;
use crate::problem::Problem;

impl Api {
    /// Takes a receipt out of the book, for good.
    ///
    /// # Errors
    /// 422 when the text is no receipt, 404 when no such receipt is open.
    pub(super) fn take_receipt(&self, text: &str) -> Result<Receipt, Problem> {
        let id = ReceiptId::read(text).ok_or_else(|| {
            Problem::of_member(
                "receipt",
                "is not a receipt; send the 32 hexadecimal digits that /v1/check returned",
            )
        })?;
        self.book.take(id, Instant::now()).ok_or_else(|| {
            let detail = "no such receipt is open: it was used, is too old, or was handed out by another process; \
                          the charge stays";
            Problem::new(StatusCode::NOT_FOUND, detail)
        })
    }
}

/// Uses a receipt in a task of its own: a caller that leaves meanwhile does not stop it half way.
///
/// # Errors
/// 503 when the store does not answer.
pub(super) async fn used<T: Send + 'static>(
    giving: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, Problem> {
    let unknown = || {
        let detail = "the store did not answer; the receipt is used up, since what it is worth may have been given back";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    };
    let given = tokio::spawn(giving).await.map_err(|_| unknown())?;
    given.map_err(|error| {
        tracing::warn!(%error, "a receipt got no answer from the store");
        unknown()
    })
}
