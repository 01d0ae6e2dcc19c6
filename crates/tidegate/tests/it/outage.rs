//! A store that goes away and comes back: what is decided meanwhile, where it is counted, and what is remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate::{
    CheckOptions, Counts, Degraded, Limit, Limiter, MemoryOptions, MemoryStore, OnStoreFailure, OnSuccess,
    Quota, Ruling, Span,
};
use tidegate_store::StoreError;
use tidegate_store::faulty::Faulty;

type Shared = Arc<Faulty<MemoryStore>>;

fn log(name: &str, limit: u64, choice: OnStoreFailure) -> Limit {
    Limit::new(name, Quota::sliding_log(limit, Span::from_secs(3_600)).unwrap()).with_store_failure(choice)
}

fn over(limits: impl IntoIterator<Item = Limit>) -> (Shared, Limiter) {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let store = Arc::new(Faulty::new(store).with_refusals_remembered());
    let limiter = Limiter::new(Arc::<Faulty<MemoryStore>>::clone(&store), limits).unwrap();
    (store, limiter)
}

fn gone() -> StoreError {
    StoreError::unavailable("pulled the plug")
}

/// A charge made in this process that was given back to the shared store would be given to others.
#[tokio::test]
async fn what_goes_on_here_takes_its_share_and_gives_back_here() {
    let failures = log("l", 6, OnStoreFailure::Local).with_counts(Counts::failures(OnSuccess::Refund));
    let (store, limiter) = over([failures]);
    let limiter = limiter.with_instances(3);
    store.fail(gone());
    let mut first = limiter.check_key("l", "k").await.unwrap();
    assert_eq!((first.degraded(), first.is_allowed()), (Some(Degraded::Local), true));
    let mut second = limiter.check_key("l", "k").await.unwrap();
    assert!(second.is_allowed());
    let third = limiter.check_key("l", "k").await.unwrap();
    assert!(matches!(third.ruling(), Ruling::Refuse { .. }), "two of six are this one's share");
    let calls = store.calls();
    limiter.refund(first.take_receipt()).await.unwrap();
    limiter.settle(second.take_pending().succeeded()).await.unwrap();
    assert_eq!(store.calls(), calls, "the shared store has nothing of it");
    assert!(limiter.check_key("l", "k").await.unwrap().is_allowed());
    assert!(limiter.check_key("l", "k").await.unwrap().is_allowed());
    assert!(!limiter.check_key("l", "k").await.unwrap().is_allowed());
}

/// One limit that denies outweighs the others, and those that go on outweigh those that allow.
#[tokio::test]
async fn the_strictest_choice_of_a_request_decides_it() {
    let limits = [
        log("deny", 9, OnStoreFailure::Deny),
        log("local", 1, OnStoreFailure::Local),
        log("allow", 9, OnStoreFailure::Allow),
    ];
    let (store, limiter) = over(limits);
    store.fail(gone());
    let ask = async |names: &[&'static str]| {
        let keys = names.iter().map(|name| (*name, "k"));
        let verdict = limiter.check_keys(keys, CheckOptions::default()).await.unwrap();
        (verdict.degraded(), verdict.is_allowed())
    };
    assert_eq!(ask(&["deny", "local", "allow"]).await, (Some(Degraded::Denied), false));
    assert_eq!(ask(&["local", "allow"]).await, (Some(Degraded::Local), true));
    assert_eq!(ask(&["local", "allow"]).await, (Some(Degraded::Local), false));
    assert_eq!(ask(&["allow"]).await, (Some(Degraded::Uncounted), true));
}

/// A limit that denies must admit exactly as many as it says, however often its store comes and goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn through_a_flapping_store_exactly_the_limit_passes() {
    const LIMIT: u64 = 200;
    let (store, limiter) = over([log("l", LIMIT, OnStoreFailure::Deny)]);
    let done = Arc::new(AtomicBool::new(false));
    let flaps = {
        let (store, done) = (Arc::clone(&store), Arc::clone(&done));
        tokio::spawn(async move {
            while !done.load(Ordering::Relaxed) {
                store.fail_next(7, gone());
                tokio::task::yield_now().await;
                store.heal();
                tokio::task::yield_now().await;
            }
            store.heal();
        })
    };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let limiter = limiter.clone();
        tasks.spawn(async move {
            let mut passed = 0;
            // Until the store has said that it is used up.
            loop {
                let verdict = limiter.check_key("l", "k").await.unwrap();
                match verdict.ruling() {
                    Ruling::Allow { .. } => passed += 1,
                    Ruling::StoreDown => assert!(verdict.decisions().is_empty()),
                    Ruling::Refuse { .. } => return passed,
                    other => panic!("{other:?}"),
                }
                tokio::task::yield_now().await;
            }
        });
    }
    let passed: u64 = tasks.join_all().await.into_iter().sum();
    done.store(true, Ordering::Relaxed);
    flaps.await.unwrap();
    assert_eq!(passed, LIMIT);
}

/// A store that is gone must cost nothing, and one that is back must be found without a restart.
#[tokio::test]
async fn a_store_that_is_gone_is_left_alone_and_a_ping_finds_it_again() {
    let (store, limiter) = over([log("l", 9, OnStoreFailure::Deny)]);
    store.fail(gone());
    for _ in 0..5 {
        assert_eq!(limiter.check_key("l", "k").await.unwrap().ruling(), &Ruling::StoreDown);
    }
    assert!(limiter.store_health().is_down());
    assert_eq!(limiter.observe().outages, 1);
    assert!(limiter.ping().await.is_err());
    store.heal();
    limiter.ping().await.unwrap();
    assert!(limiter.check_key("l", "k").await.unwrap().is_allowed());
    // That it is over is told a while later, to whoever still asks.
    while limiter.store_health().is_down() {
        limiter.ping().await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(limiter.observe().outages, 1);
}

/// Two checks of one key are decided one behind the other: that the second is refused says nothing of one that comes alone.
#[tokio::test]
async fn what_is_refused_behind_another_of_its_batch_is_not_remembered() {
    let (_, limiter) = over([log("l", 3, OnStoreFailure::Deny)]);
    for _ in 0..2 {
        assert!(limiter.check_key("l", "k").await.unwrap().is_allowed());
    }
    let both = limiter.check_keys([("l", "k"), ("l", "k")], CheckOptions::default()).await.unwrap();
    assert!(!both.is_allowed());
    assert!(limiter.check_key("l", "k").await.unwrap().is_allowed(), "one was left");
    for _ in 0..2 {
        assert!(!limiter.check_key("l", "k").await.unwrap().is_allowed());
    }
    assert_eq!(limiter.observe().remembered, 1);
}

/// A key that was given something back, or that only a shadow refuses, must not stay refused from memory.
#[tokio::test]
async fn a_refund_forgets_and_shadows_and_peeks_are_never_remembered() {
    let (store, limiter) =
        over([log("l", 1, OnStoreFailure::Deny), log("seen", 1, OnStoreFailure::Deny).with_shadow(true)]);
    let mut first = limiter.check_key("l", "k").await.unwrap();
    let peek = CheckOptions { peek: true, ..CheckOptions::default() };
    for _ in 0..2 {
        assert!(!limiter.check_keys([("l", "k")], peek).await.unwrap().is_allowed());
        assert!(limiter.check_key("seen", "k").await.unwrap().is_allowed());
    }
    assert_eq!((limiter.observe().remembered, store.calls()), (0, 5));
    assert!(!limiter.check_key("l", "k").await.unwrap().is_allowed());
    limiter.refund(first.take_receipt()).await.unwrap();
    assert!(limiter.check_key("l", "k").await.unwrap().is_allowed());
    let unremembering = limiter.with_denial_memory(None);
    let calls = store.calls();
    for _ in 0..3 {
        assert!(!unremembering.check_key("l", "k").await.unwrap().is_allowed());
    }
    assert_eq!(store.calls() - calls, 3);
}
