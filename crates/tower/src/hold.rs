//! Holding a request until its slot in a leaky bucket.

use tidegate::{Limiter, Pending, Receipt, Span, Verdict};

/// Waits out a verdict's delay and returns the charges that wait for the request's outcome. When the caller gives up
/// meanwhile, everything the request was charged with is given back, since it never started. Of the queue only the tail
/// slot returns: every other one was promised to somebody.
pub(crate) async fn until_slot(limiter: &Limiter, verdict: &mut Verdict) -> Pending {
    let delay = verdict.delay();
    if delay == Span::ZERO {
        return verdict.take_pending();
    }
    let waiter = Waiter { limiter: limiter.clone(), receipt: Some(verdict.take_receipt()) };
    // In a box, since few requests are held and all would carry the timer about.
    Box::pin(tokio::time::sleep(delay.as_duration())).await;
    waiter.served()
}

/// A request on hold.
struct Waiter {
    limiter: Limiter,
    receipt: Option<Receipt>,
}

impl Waiter {
    fn served(mut self) -> Pending {
        self.receipt.take().unwrap_or_default().pending()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(receipt) = self.receipt.take() else { return };
        let limiter = self.limiter.clone();
        // A store may take its time, and a drop cannot wait.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = limiter.refund(receipt).await {
                    tracing::debug!(%error, "a request that gave up waiting keeps its charge");
                }
            });
        }
    }
}
