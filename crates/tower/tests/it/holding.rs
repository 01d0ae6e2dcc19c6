//! Requests on hold for their slot in a leaky bucket.

use std::time::Duration;

use http::HeaderMap;
use tidegate::{CheckOptions, Limiter};
use tokio::time::Instant;

use crate::world::{anybody, by, get, one_limit, send};

fn even() -> Limiter {
    by(&one_limit("leaky_bucket: { rate: 5 per 1s, queue: 10 }", "    client_sees: all\n"))
}

/// With the runtime's clock paused a sleep ends as soon as nothing else can be done, so the sleeps add up exactly; the
/// slots are the store's, whose clock runs on, so each may lie a little earlier than its place in the row.
#[tokio::test(start_paused = true)]
async fn simultaneous_requests_start_one_after_the_other_and_the_surplus_is_refused_at_once() {
    let limiter = even();
    let begun = Instant::now();
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let limiter = limiter.clone();
        requests.spawn(async move {
            let status = send(&limiter, get("/")).await.status();
            (status.as_u16(), begun.elapsed())
        });
    }
    let mut ended = requests.join_all().await;
    ended.sort_unstable();
    let (passed, refused) = ended.split_at(11);
    assert!(refused.iter().all(|(status, waited)| *status == 429 && waited.is_zero()), "{refused:?}");
    for (slot, (status, waited)) in (0_u32..).zip(passed) {
        let due = Duration::from_millis(200) * slot;
        assert_eq!(*status, 200);
        // The runtime's timer rounds up to a millisecond.
        assert!(*waited <= due + Duration::from_millis(1), "slot {slot} waited {waited:?}");
    }
    assert!(passed.last().unwrap().1 > Duration::from_secs(1), "{passed:?}");
}

#[tokio::test]
async fn who_gives_up_waiting_gives_the_tail_of_the_queue_back() {
    let limiter = even();
    assert_eq!(send(&limiter, get("/")).await.status(), 200);
    let waiter = tokio::spawn({
        let limiter = limiter.clone();
        async move { send(&limiter, get("/")).await.status() }
    });
    until(|| left(&limiter), |left| left <= 9).await;
    waiter.abort();
    assert!(waiter.await.unwrap_err().is_cancelled());
    // The first request holds the only slot that is taken.
    until(|| left(&limiter), |left| left >= 10).await;
}

/// Returns the places left, without taking one.
async fn left(limiter: &Limiter) -> u32 {
    let headers = HeaderMap::new();
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    limiter.check_with(&anybody(&headers), None, peek).await.decisions()[0].decision.remaining
}

/// Lets other tasks run until a value is as expected; the runner's own deadline ends it if that never comes.
async fn until<F: Future<Output = u32>>(value: impl Fn() -> F, expected: impl Fn(u32) -> bool) {
    while !expected(value().await) {
        tokio::task::yield_now().await;
    }
}
