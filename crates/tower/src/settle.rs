//! Giving back what limits that count failures were charged with, once the answer is a success.

use http::Response;
use tidegate::{Limiter, Pending, Settlement, Verdict};
use tokio::runtime::Handle;

/// Marks an answer that tells of trouble on the way to the service behind, not of what that service said: whatever its
/// status, it is no success.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnAnswer;

/// Judges the charges that wait for this answer by it.
pub(crate) fn judged<R>(pending: Pending, response: &Response<R>) -> Settlement {
    if pending.is_empty() || response.extensions().get::<OwnAnswer>().is_some() {
        return Settlement::default();
    }
    pending.answered(response.status(), response.headers())
}

/// Gives back what an answer gives back, before anybody sees it: a client's next request finds it there. The verdict
/// tells the numbers after that.
pub(crate) async fn give_back(limiter: &Limiter, settlement: Settlement, verdict: &mut Verdict) {
    if settlement.is_empty() {
        return;
    }
    match settle(limiter, settlement).await {
        Ok(settled) => verdict.account_for(&settled),
        Err(error) => {
            tracing::warn!(%error, "the charges of a successful request may not have been given back");
        }
    }
}

/// Settles in a task of its own: a client that leaves meanwhile ends the wait for it and nothing else.
async fn settle(limiter: &Limiter, settlement: Settlement) -> Result<tidegate::Settled, BoxError> {
    let Ok(runtime) = Handle::try_current() else { return Ok(limiter.settle(settlement).await?) };
    let limiter = limiter.clone();
    Ok(runtime.spawn(async move { limiter.settle(settlement).await }).await??)
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;
