//! How long a request's header has been arriving.
//!
//! hyper's own timer starts with the end of the last answer, so it cannot be shorter than a connection may be idle; a
//! client that dribbles its header would have all of that. Here the time starts with the header's first byte. As with
//! [`super::activity`], one timer per connection looks at the time of the last change instead of being reset by each.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::activity::Activity;

/// No header is arriving.
const NONE: u64 = u64::MAX;

/// The time of the first byte of the header that is arriving on a connection.
#[derive(Debug)]
pub(crate) struct HeaderTime {
    opened: Instant,
    /// Milliseconds after `opened`, or [`NONE`].
    since: AtomicU64,
}

impl HeaderTime {
    pub(crate) fn new() -> Self {
        Self { opened: Instant::now(), since: AtomicU64::new(NONE) }
    }

    /// Notes that a header has begun and has not ended.
    pub(crate) fn begin(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(NONE - 1);
        self.since.store(now, Ordering::Release);
    }

    /// Notes that no header is arriving any more.
    pub(crate) fn end(&self) {
        self.since.store(NONE, Ordering::Release);
    }

    fn since(&self) -> Option<Instant> {
        let since = self.since.load(Ordering::Acquire);
        (since != NONE).then(|| self.opened + Duration::from_millis(since))
    }

    /// Returns once a header has been arriving for `timeout`. The beginning of one that was sent ahead waits, with its
    /// rest unread, for the request before it; its time starts when that is answered.
    pub(crate) async fn overdue(&self, activity: &Activity, timeout: Duration) {
        loop {
            let now = Instant::now();
            // What begins after this look is not due before the next.
            let due = match (self.since(), activity.idle_since()) {
                (Some(since), Some(idle)) => since.max(idle) + timeout,
                _ => now + timeout,
            };
            if due <= now {
                return;
            }
            tokio::time::sleep_until(due).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Returns how many seconds pass before a header is overdue, while something else happens to it.
    async fn overdue_after(happens: impl AsyncFnOnce(&HeaderTime, &Arc<Activity>)) -> u64 {
        let (header, activity, start) = (HeaderTime::new(), Activity::new(), Instant::now());
        let overdue = async {
            header.overdue(&activity, Duration::from_secs(30)).await;
            start.elapsed().as_secs()
        };
        tokio::join!(overdue, happens(&header, &activity)).0
    }

    async fn after(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_starts_with_the_first_byte_and_not_with_the_connection() {
        let waited = overdue_after(async |header, _| {
            after(70).await;
            header.begin();
        });
        assert_eq!(waited.await, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn each_header_has_its_own_time() {
        let waited = overdue_after(async |header, _| {
            for _ in 0..10 {
                header.begin();
                after(29).await;
                header.end();
            }
            header.begin();
        });
        assert_eq!(waited.await, 10 * 29 + 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_header_sent_ahead_has_its_time_from_the_answer_before_it() {
        let waited = overdue_after(async |header, activity| {
            let under_way = activity.begin();
            header.begin();
            after(200).await;
            drop(under_way);
        });
        assert_eq!(waited.await, 230);
    }
}
