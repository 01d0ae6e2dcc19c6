//! Which requests are under way on a connection, and since when there has been none.
//!
//! A request is under way from its header to the last byte of its answer, so the guard travels in the answer's body.
//! One timer per connection is enough: it looks at the time of the last change instead of being reset by each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::stall::Watched;

/// The count of requests under way on one connection.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    under_way: AtomicUsize,
    /// Milliseconds after `opened` at which the last request ended.
    idle_since: AtomicU64,
    begun: Notify,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            under_way: AtomicUsize::new(0),
            idle_since: AtomicU64::new(0),
            begun: Notify::new(),
        })
    }

    /// Counts a request as under way until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.begun.notify_waiters();
        UnderWay(Arc::clone(self))
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Acquire)
    }

    /// Returns once a request is under way.
    pub(crate) async fn busy(&self) {
        // Waiting begins before the look, so that nothing begins between the two unseen.
        let begun = self.begun.notified();
        if self.under_way() == 0 {
            begun.await;
        }
    }

    /// Returns once no request has been under way for `timeout`.
    pub(crate) async fn idle_for(&self, timeout: Duration) {
        let mut look = Instant::now() + timeout;
        loop {
            tokio::time::sleep_until(look).await;
            let now = Instant::now();
            look = self.idle_since().unwrap_or(now) + timeout;
            if look <= now {
                return;
            }
        }
    }

    /// Returns since when no request has been under way; `None` while one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let since = || self.opened + Duration::from_millis(self.idle_since.load(Ordering::Acquire));
        (self.under_way() == 0).then(since)
    }
}

/// Marks a request as under way while it lives.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Activity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.idle_since.store(now, Ordering::Release);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

pin_project! {
    /// An answer's body that keeps its request under way, and tells whose turn it is.
    #[derive(Debug)]
    pub(crate) struct Tracked<B> {
        #[pin]
        body: B,
        // What the body has given and the connection has not got.
        rest: Bytes,
        under_way: UnderWay,
        watched: Watched,
    }
}

impl<B> Tracked<B> {
    pub(crate) fn new(body: B, under_way: UnderWay, watched: Watched) -> Self {
        Self { body, rest: Bytes::new(), under_way, watched }
    }
}

impl<B: Body<Data = Bytes>> Body for Tracked<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        if !this.rest.is_empty() {
            this.watched.clients_turn();
            return Poll::Ready(Some(Ok(Frame::data(this.watched.piece(this.rest)))));
        }
        let frame = this.body.poll_frame(cx).map_ok(|frame| match frame.into_data() {
            Ok(data) => {
                *this.rest = data;
                Frame::data(this.watched.piece(this.rest))
            }
            Err(frame) => frame,
        });
        if frame.is_ready() {
            this.watched.clients_turn();
        } else {
            this.watched.not_the_clients_turn();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(body.lower().saturating_add(rest));
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_long_answer_is_not_idleness_and_the_wait_starts_when_it_ends() {
        let activity = Activity::new();
        let start = Instant::now();
        let under_way = activity.begin();
        let ends = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(25)).await;
            drop(under_way);
        });
        activity.idle_for(Duration::from_secs(10)).await;
        ends.await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 35);
    }
}
