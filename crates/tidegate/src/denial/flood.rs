//! What a flood on one key costs the store, at instants of the tests' choice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_algorithms::{Quota, Span};
use tidegate_store::faulty::Faulty;
use tidegate_store::{MemoryOptions, MemoryStore, Store as _, StoreError};
use tokio::task::JoinSet;

use super::CAP;
use crate::{Limit, Limiter, Ruling, Verdict};

const CALLERS: usize = 64;

struct Flood {
    store: Arc<Faulty<MemoryStore>>,
    limiter: Limiter,
    start: Instant,
}

impl Flood {
    /// A key that has used up a limit of one in ten minutes, and was refused at the start.
    async fn on_a_refused_key() -> Self {
        let store = MemoryStore::new(MemoryOptions::default()).unwrap();
        let store = Arc::new(Faulty::new(store).with_refusals_remembered());
        let limit = Limit::new("a", Quota::sliding_log(1, Span::from_secs(600)).unwrap());
        let limiter = Limiter::new(Arc::<Faulty<MemoryStore>>::clone(&store), [limit]).unwrap();
        let flood = Self { store, limiter, start: Instant::now() };
        flood.at(Duration::ZERO);
        assert!(flood.limiter.check_key("a", "k").await.unwrap().is_allowed());
        assert!(!flood.limiter.check_key("a", "k").await.unwrap().is_allowed());
        flood
    }

    fn at(&self, passed: Duration) {
        self.limiter.snapshot().inner.lasting.outage.clock.set(self.start + passed);
    }

    /// Lets all callers come while the store takes its time, does something, and lets the store answer.
    async fn all_at_once(&self, meanwhile: impl FnOnce()) -> Vec<Verdict> {
        self.store.hold();
        let mut tasks = JoinSet::new();
        for _ in 0..CALLERS {
            let limiter = self.limiter.clone();
            tasks.spawn(async move { limiter.check_key("a", "k").await.unwrap() });
        }
        // The runtime has one thread: each task runs until it waits.
        for _ in 0..2 * CALLERS {
            tokio::task::yield_now().await;
        }
        meanwhile();
        self.store.release();
        tasks.join_all().await
    }
}

/// The promise to the store: a flood on one key whose wait is a second or more costs two calls a second.
#[tokio::test]
async fn a_flood_on_one_key_costs_two_calls_a_second() {
    let flood = Flood::on_a_refused_key().await;
    let mut last = flood.store.calls();
    let mut calls = Vec::new();
    for tenth in 0..50 {
        flood.at(Duration::from_millis(tenth * 100));
        let verdicts = flood.all_at_once(|| ()).await;
        assert!(verdicts.iter().all(|verdict| matches!(verdict.ruling(), Ruling::Refuse { .. })));
        let now = flood.store.calls();
        calls.push(now - last);
        last = now;
    }
    for second in calls.windows(10) {
        assert!((1..=2).contains(&second.iter().sum::<u64>()), "{calls:?}");
    }
    // What comes in bursts finds a memory that is over, and asks once for each.
    for burst in 10..20 {
        flood.at(Duration::from_millis(burst * 700));
        let before = flood.store.calls();
        flood.all_at_once(|| ()).await;
        assert_eq!(flood.store.calls() - before, 1);
    }
}

/// A key that was reset elsewhere is refused here no longer than the cap, and what it may then use is shared exactly.
#[tokio::test]
async fn a_key_that_was_reset_elsewhere_is_asked_about_when_the_cap_is_over() {
    let flood = Flood::on_a_refused_key().await;
    let store = flood.store.inner();
    store.reset(store.limit("a"), b"k").now().unwrap().unwrap();
    flood.at(CAP.saturating_sub(Duration::from_micros(1)));
    assert!(flood.all_at_once(|| ()).await.iter().all(|verdict| !verdict.is_allowed()));
    flood.at(CAP);
    let verdicts = flood.all_at_once(|| ()).await;
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_allowed()).count(), 1);
}

/// Those who wait for one who gets no answer must not go on to wait for an answer themselves, one after the other.
#[tokio::test]
async fn a_store_that_fails_the_one_who_asks_has_failed_all_who_wait() {
    let flood = Flood::on_a_refused_key().await;
    flood.at(CAP);
    let before = flood.store.calls();
    let verdicts = flood.all_at_once(|| flood.store.fail(StoreError::timeout("too slow"))).await;
    assert!(verdicts.iter().all(|verdict| verdict.ruling() == &Ruling::StoreDown));
    assert_eq!(flood.store.calls() - before, 1);
    assert_eq!(flood.limiter.observe().without_store[0], ("deny", 64));
}

/// A client that leaves while it asks for all must not leave the others waiting.
#[tokio::test]
async fn when_the_one_who_asks_goes_away_the_others_ask() {
    let flood = Flood::on_a_refused_key().await;
    flood.at(CAP);
    flood.store.hold();
    let limiter = flood.limiter.clone();
    let first = tokio::spawn(async move { limiter.check_key("a", "k").await.unwrap() });
    tokio::task::yield_now().await;
    let verdicts = flood.all_at_once(|| first.abort()).await;
    assert!(verdicts.iter().all(|verdict| matches!(verdict.ruling(), Ruling::Refuse { .. })));
}

/// A request that two limits refuse from memory is one request, or the metric would tell of a flood twice its size.
#[tokio::test]
async fn a_request_that_several_limits_remember_counts_once() {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let store = Arc::new(Faulty::new(store).with_refusals_remembered());
    let quota = Quota::sliding_log(1, Span::from_secs(600)).unwrap();
    let limiter = Limiter::new(store, ["a", "b"].map(|name| Limit::new(name, quota))).unwrap();
    let both = [("a", "k"), ("b", "k")];
    let check = async || limiter.check_keys(both, crate::CheckOptions::default()).await.unwrap();
    limiter.snapshot().inner.lasting.outage.clock.set(Instant::now());
    assert!(check().await.is_allowed());
    assert!(!check().await.is_allowed());
    assert_eq!(limiter.observe().remembered, 0);
    assert_eq!(check().await.decisions().len(), 2);
    assert_eq!(limiter.observe().remembered, 1);
}

/// Two requests that each ask about one of two keys must not wait for each other.
#[tokio::test]
async fn who_waits_holds_nobody_up() {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let store = Arc::new(Faulty::new(store).with_refusals_remembered());
    let quota = Quota::sliding_log(1, Span::from_secs(600)).unwrap();
    let limits = ["a", "b"].map(|name| Limit::new(name, quota));
    let limiter = Limiter::new(Arc::<Faulty<MemoryStore>>::clone(&store), limits).unwrap();
    let start = Instant::now();
    let clock = |now| limiter.snapshot().inner.lasting.outage.clock.set(now);
    clock(start);
    for limit in ["a", "a", "b", "b"] {
        let _ = limiter.check_key(limit, "k").await.unwrap();
    }
    clock(start + CAP);
    let mut tasks = JoinSet::new();
    for round in 0..CALLERS {
        let limiter = limiter.clone();
        let keys = if round % 2 == 0 { [("a", "k"), ("b", "k")] } else { [("b", "k"), ("a", "k")] };
        tasks.spawn(async move { limiter.check_keys(keys, crate::CheckOptions::default()).await.unwrap() });
    }
    assert!(tasks.join_all().await.iter().all(|verdict| !verdict.is_allowed()));
}
