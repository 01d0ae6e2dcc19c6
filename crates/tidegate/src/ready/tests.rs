use std::pin::pin;

use tidegate_algorithms::{Quota, Rate};
use tidegate_store::faulty::Faulty;
use tidegate_store::{MemoryOptions, MemoryStore};
use tokio::task::{JoinSet, yield_now};

use super::*;
use crate::Limit;

fn bucket(capacity: u64, units: u64, millis: u64) -> Quota {
    Quota::token_bucket(capacity, Rate::new(units, Span::from_millis(millis)).unwrap()).unwrap()
}

fn alone(quota: Quota) -> Limiter {
    Limiter::in_memory([Limit::new("l", quota)]).unwrap()
}

async fn left(limiter: &Limiter) -> u32 {
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    limiter.check_keys([("l", "k")], peek).await.unwrap().decisions()[0].decision.remaining
}

/// Lets other tasks run until a value is as expected; the runner's own deadline ends it if that never comes.
async fn until<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    while !holds().await {
        yield_now().await;
    }
}

/// Guards against whoever is turned away after waiting, and against waits that ask over and over.
#[tokio::test]
async fn everybody_is_admitted_in_turn_and_the_store_is_asked_a_few_times_each() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = Limiter::new(Arc::clone(&store) as _, [Limit::new("l", bucket(1, 1, 20))]).unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..10 {
        let limiter = limiter.clone();
        waiting.spawn(async move { limiter.until_ready("l", "k").await.unwrap().is_allowed() });
    }
    assert!(waiting.join_all().await.into_iter().all(|allowed| allowed));
    // Once when they come, once when it is their turn, once after the wait; and where the timers differ once more.
    assert!(store.calls() <= 40, "{} calls", store.calls());
}

/// Guards against newcomers that overtake those who wait.
#[tokio::test]
async fn who_came_first_goes_first() {
    let limiter = alone(bucket(1, 1, 5));
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = JoinSet::new();
    for index in 0..8 {
        let (limiter, order) = (limiter.clone(), Arc::clone(&order));
        waiting.spawn(async move {
            let allowed = limiter.until_ready("l", "k").await.unwrap().is_allowed();
            lock(&order).push((index, allowed));
        });
        yield_now().await;
    }
    waiting.join_all().await;
    assert_eq!(*lock(&order), (0..8).map(|index| (index, true)).collect::<Vec<_>>());
}

/// Guards against a wait for what no wait can bring.
#[tokio::test]
async fn what_can_never_be_admitted_is_told_at_once() {
    let limiter = Limiter::in_memory([Limit::new("l", bucket(3, 1, 1_000)).with_cost(4)]).unwrap();
    let verdict = limiter.until_ready("l", "k").await.unwrap();
    assert_eq!(verdict.ruling(), &Ruling::Refuse { retry: Retry::Never });
    let unknown = limiter.until_ready("m", "k").await.unwrap_err();
    assert_eq!(unknown.to_string(), "no limit is named \"m\"; there are: l");
}

/// Guards against a caller who waits out an outage without knowing of it.
#[tokio::test]
async fn a_store_that_does_not_answer_ends_the_wait() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = Limiter::new(Arc::clone(&store) as _, [Limit::new("l", bucket(1, 1, 1_000))]).unwrap();
    store.fail(tidegate_store::StoreError::unavailable("it is away"));
    assert_eq!(limiter.until_ready("l", "k").await.unwrap().ruling(), &Ruling::StoreDown);
}

/// Guards against waiting a whole time that cannot be enough.
#[tokio::test]
async fn a_wait_that_is_too_long_is_refused_at_once_and_takes_nothing() {
    let hour = 3_600_000;
    for quota in
        [bucket(1, 1, hour), Quota::leaky_bucket(Rate::new(1, Span::from_millis(hour)).unwrap(), 5).unwrap()]
    {
        let limiter = alone(quota);
        let minute = Duration::from_mins(1);
        assert!(limiter.until_ready_within("l", "k", minute).await.unwrap().is_allowed());
        let before = left(&limiter).await;
        let verdict = limiter.until_ready_within("l", "k", minute).await.unwrap();
        assert!(matches!(verdict.ruling(), Ruling::Refuse { retry: Retry::After(_) }), "{verdict}");
        assert_eq!(left(&limiter).await, before);
    }
}

/// Guards against whoever stands in line for ever although his time is over.
#[tokio::test(start_paused = true)]
async fn who_stands_in_line_leaves_it_when_the_time_is_over() {
    let limiter = alone(bucket(1, 1, 3_600_000));
    assert!(limiter.until_ready("l", "k").await.unwrap().is_allowed());
    let first = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.until_ready("l", "k").await }
    });
    let lines = Arc::clone(&limiter.in_force.load().lasting);
    until(|| async { lines.lines.len() == 1 }).await;
    let verdict = limiter.until_ready_within("l", "k", Duration::from_secs(10)).await.unwrap();
    assert!(!verdict.is_allowed());
    first.abort();
}

/// Guards against a slot of a leaky bucket that stays taken by somebody who has gone.
#[tokio::test]
async fn who_gives_up_waiting_for_a_slot_gives_it_back() {
    let limiter = alone(Quota::leaky_bucket(Rate::new(1, Span::from_secs(3_600)).unwrap(), 5).unwrap());
    assert!(limiter.until_ready("l", "k").await.unwrap().is_allowed());
    let before = left(&limiter).await;
    let waiter = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.until_ready("l", "k").await }
    });
    until(|| async { left(&limiter).await < before }).await;
    waiter.abort();
    assert!(waiter.await.unwrap_err().is_cancelled());
    until(|| async { left(&limiter).await == before }).await;
}

/// Guards against a charge for a call that its caller did not wait for: a store that is asked over a network charges
/// all the same.
#[tokio::test]
async fn a_charge_whose_caller_has_gone_is_given_back() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = Limiter::new(Arc::clone(&store) as _, [Limit::new("l", bucket(5, 1, 3_600_000))]).unwrap();
    store.hold();
    {
        let mut waiting = pin!(limiter.until_ready("l", "k"));
        let before = store.calls();
        loop {
            tokio::select! {
                biased;
                _ = &mut waiting => panic!("the store does not answer"),
                () = yield_now() => if store.calls() > before { break },
            }
        }
    }
    store.release();
    let charged = async || limiter.observe().limits[0].terms[0].admitted == 1;
    until(charged).await;
    until(|| async { left(&limiter).await == 5 }).await;
}

/// Guards against a line for every key that anybody ever waited for.
#[tokio::test]
async fn lines_that_nobody_stands_in_are_cleared_away() {
    let limiter = alone(bucket(1, 1, 1));
    for key in 0..200_u32 {
        for _ in 0..2 {
            assert!(limiter.until_ready("l", key.to_be_bytes()).await.unwrap().is_allowed());
        }
    }
    let lines = limiter.in_force.load().lasting.lines.len();
    assert!(lines <= EMPTY_LINES, "{lines}");
}
