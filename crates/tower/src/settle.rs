//! Giving back what limits that count failures were charged with, once the answer is a success, or nobody was asked.

use http::Response;
use tidegate::{Limiter, Pending, Settlement, Verdict};
use tokio::runtime::Handle;

/// Marks an answer that tells of trouble on the way to the service behind, not of what that service said: whatever its
/// status, it is no success.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnAnswer;

/// Marks an answer to a request that the service behind never saw: it could not be connected to, say. A service that the
/// layer wraps puts it into its answer's extensions.
///
/// Limits that count failures then get their charge back, whatever the status, as a refund and never as a reset: nobody
/// looked at the guess, so that an outage locks nobody out. Only a service that knows may say so. Where a byte was sent,
/// the guess may have been looked at, and the charge has to stay.
///
/// ```
/// use http::StatusCode;
/// use tidegate_tower::{NeverForwarded, problem_response};
///
/// let mut response = problem_response::<bytes::Bytes>(StatusCode::BAD_GATEWAY, "The service cannot be reached.");
/// response.extensions_mut().insert(NeverForwarded);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeverForwarded;

/// Judges the charges that wait for this answer by it.
pub(crate) fn judged<R>(pending: Pending, response: &Response<R>) -> Settlement {
    if response.extensions().get::<NeverForwarded>().is_some() {
        return pending.never_forwarded();
    }
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
            tracing::warn!(%error, "a charge that was to be given back may not have been");
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
