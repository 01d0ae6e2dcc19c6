//! Giving back what limits that count failures were charged with, once the answer is a success, or nobody was asked.

use http::{HeaderMap, Response, StatusCode};
use tidegate::{Limiter, Pending, Settlement, Verdict};
use tokio::runtime::Handle;

use crate::body::AnswerBody;
use crate::grpc;

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

/// Judges the charges that wait for an answer by it, and gives back what it gives back, before anybody sees it: a client's
/// next request finds it there. The verdict tells the numbers after that.
pub(crate) async fn by_answer<R>(
    limiter: &Limiter,
    pending: Pending,
    response: Response<R>,
    verdict: &mut Verdict,
) -> Response<AnswerBody<R>> {
    let settlement = match judged(pending, &response) {
        Judged::Now(settlement) => settlement,
        Judged::ByTrailers(pending) => {
            let (status, headers) = (response.status(), response.headers().clone());
            let outcome = Outcome { limiter: limiter.clone(), pending, status, headers };
            return response.map(|body| AnswerBody::watched(body, outcome));
        }
    };
    give_back(limiter, settlement, verdict).await;
    response.map(AnswerBody::passed)
}

/// What an answer's head tells of its outcome.
enum Judged {
    /// What is given back.
    Now(Settlement),
    /// How it went stands at the end of its body.
    ByTrailers(Pending),
}

fn judged<R>(pending: Pending, response: &Response<R>) -> Judged {
    let (extensions, headers) = (response.extensions(), response.headers());
    Judged::Now(if extensions.get::<NeverForwarded>().is_some() {
        pending.never_forwarded()
    } else if pending.is_empty() || extensions.get::<OwnAnswer>().is_some() {
        Settlement::default()
    } else if grpc::is_grpc_type(headers) {
        // Every gRPC answer is HTTP 200: the status of HTTP says nothing of the call.
        match headers.get(&grpc::STATUS) {
            None => return Judged::ByTrailers(pending),
            Some(code) if code == "0" => pending.answered(response.status(), headers),
            Some(_) => Settlement::default(),
        }
    } else {
        pending.answered(response.status(), headers)
    })
}

/// The charges of a gRPC call whose outcome stands in the trailers of its answer. One that never comes leaves them.
#[derive(Debug)]
pub(crate) struct Outcome {
    limiter: Limiter,
    pending: Pending,
    status: StatusCode,
    headers: HeaderMap,
}

impl Outcome {
    /// Gives back what a call's trailers give back; in a task of its own, since they are on their way to the client.
    pub(crate) fn told_by(self, trailers: &HeaderMap) {
        if trailers.get(&grpc::STATUS).is_none_or(|code| code != "0") {
            return;
        }
        let Self { limiter, pending, status, mut headers } = self;
        headers.extend(trailers.clone());
        let settlement = pending.answered(status, &headers);
        if settlement.is_empty() {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = limiter.settle(settlement).await {
                    tracing::warn!(%error, "a charge that was to be given back may not have been");
                }
            });
        }
    }
}

async fn give_back(limiter: &Limiter, settlement: Settlement, verdict: &mut Verdict) {
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
