//! A store that does not answer: each limit's own choice.

use std::sync::Arc;

use tidegate::{
    CheckOptions, Limit, Limiter, MemoryOptions, MemoryStore, OnStoreFailure, Quota, Rate, Ruling, Span,
};
use tidegate_store::StoreError;
use tidegate_store::faulty::Faulty;

use crate::world::start;

fn limit(name: &str, choice: OnStoreFailure) -> Limit {
    let quota = Quota::token_bucket(1, Rate::new(1, Span::from_secs(60)).unwrap()).unwrap();
    Limit::new(name, quota).with_store_failure(choice)
}

fn over_a_faulty_store(limits: impl IntoIterator<Item = Limit>) -> (Arc<Faulty<MemoryStore>>, Limiter) {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = Limiter::new(Arc::<Faulty<MemoryStore>>::clone(&store), limits).unwrap();
    (store, limiter)
}

#[tokio::test]
async fn a_limit_that_denies_outweighs_those_that_allow() {
    let (store, limiter) =
        over_a_faulty_store([limit("open", OnStoreFailure::Allow), limit("closed", OnStoreFailure::Deny)]);
    store.fail(StoreError::unavailable("pulled the plug"));
    let options = CheckOptions { at: Some(start()), ..CheckOptions::default() };
    let open = limiter.check_keys([("open", "k")], options).await.unwrap();
    assert_eq!(open.ruling(), &Ruling::Uncounted);
    assert!(open.is_allowed());
    let both = limiter.check_keys([("open", "k"), ("closed", "k")], options).await.unwrap();
    assert_eq!(both.ruling(), &Ruling::StoreDown);
    assert!(!both.is_allowed() && both.retry().is_none(), "nobody was one too many");
    store.heal();
    assert!(limiter.check_keys([("open", "k"), ("closed", "k")], options).await.unwrap().is_allowed());
}

#[tokio::test]
async fn a_shadow_limit_denies_nothing_when_its_store_is_gone() {
    let (store, limiter) = over_a_faulty_store([limit("seen", OnStoreFailure::Deny).with_shadow(true)]);
    store.fail(StoreError::timeout("too slow"));
    let verdict = limiter.check_key("seen", "k").await.unwrap();
    assert_eq!(verdict.ruling(), &Ruling::Uncounted);
}

#[tokio::test]
async fn a_failed_refund_says_so() {
    let (store, limiter) = over_a_faulty_store([limit("a", OnStoreFailure::Deny)]);
    let mut verdict = limiter.check_key("a", "k").await.unwrap();
    store.fail_next(1, StoreError::unavailable("gone"));
    let error = limiter.refund(verdict.take_receipt()).await.unwrap_err();
    assert!(error.is_unavailable() && !error.may_have_counted());
}
