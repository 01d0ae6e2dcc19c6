//! The faulty store does what it is told, so that tests built on it mean something.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tidegate_store::algorithms::{Quota, Span};
use tidegate_store::conformance::block_on;
use tidegate_store::faulty::Faulty;
use tidegate_store::{MemoryStore, Store, StoreError};

use crate::tools::{check, left, noon, store_of};

fn quota() -> Quota {
    Quota::sliding_log(5, Span::from_secs(60)).unwrap()
}

fn faulty() -> Faulty<MemoryStore> {
    Faulty::new(store_of(100))
}

#[test]
fn it_fails_without_counting_until_healed() {
    let (store, quota) = (faulty(), quota());
    let asked = [check(store.limit("one"), b"k", &quota)];
    store.fail(StoreError::unavailable("the test says so"));
    for _ in 0..3 {
        let error = block_on(store.decide(&asked, Some(noon()))).unwrap_err();
        assert!(error.is_unavailable() && !error.is_timeout() && !error.may_have_counted());
        assert_eq!(error.to_string(), "the store cannot be reached: the test says so");
    }
    assert_eq!(left(store.inner(), asked[0], noon()), 5);
    store.heal();
    assert!(block_on(store.decide(&asked, Some(noon()))).unwrap().admitted);
    assert_eq!(store.calls(), 4);
}

#[test]
fn it_loses_answers_after_counting() {
    let (store, quota) = (faulty(), quota());
    let asked = [check(store.limit("one"), b"k", &quota)];
    store.lose_next(2, StoreError::timeout("20 ms"));
    for _ in 0..2 {
        let error = block_on(store.decide(&asked, Some(noon()))).unwrap_err();
        assert!(error.is_timeout() && error.may_have_counted());
    }
    assert!(block_on(store.decide(&asked, Some(noon()))).is_ok());
    assert_eq!(left(store.inner(), asked[0], noon()), 2);
}

#[test]
fn it_fails_as_often_as_told() {
    let store = faulty();
    store.fail_next(2, StoreError::rejected("no"));
    let answers: Vec<bool> = (0..4).map(|_| block_on(store.ping()).is_ok()).collect();
    assert_eq!(answers, [false, false, true, true]);
}

#[test]
fn it_holds_its_callers_until_released() {
    struct Quiet;
    impl Wake for Quiet {
        fn wake(self: Arc<Self>) {}
    }
    let (store, quota) = (faulty(), quota());
    let asked = [check(store.limit("one"), b"k", &quota)];
    store.hold();
    let mut reply = Box::pin(store.decide(&asked, Some(noon())));
    let waker = Waker::from(Arc::new(Quiet));
    assert!(reply.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(store.decide(&asked, Some(noon())));
    store.release();
    assert!(matches!(reply.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(_))));
    assert!(reply.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "an answer is given once");
    drop(reply);
    assert_eq!(left(store.inner(), asked[0], noon()), 4, "the dropped call never began");
}
