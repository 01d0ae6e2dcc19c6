//! Limits that count failures: charged at the door, given back once, and only on a success.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode};
use tidegate::policy_file::{self, Success};
use tidegate::{
    Anchor, Calendar, CheckOptions, Counts, Limit, Limiter, MemoryOptions, MemoryStore, OnSuccess, Pending,
    Quota, Rate, Settlement, Span, Store,
};
use tidegate_store::StoreError;
use tidegate_store::faulty::Faulty;

use crate::world::after_ms;

const DAY: Span = Span::from_secs(86_400);

/// Nine a day, by every algorithm that can count failures.
fn nine_a_day() -> Vec<(&'static str, Quota)> {
    vec![
        ("log", Quota::sliding_log(9, DAY).unwrap()),
        ("counter", Quota::sliding_counter(9, DAY).unwrap()),
        ("clock", Quota::fixed_window(9, DAY, Anchor::Clock).unwrap()),
        ("first-hit", Quota::fixed_window(9, DAY, Anchor::FirstHit).unwrap()),
        ("calendar", Quota::calendar_window(9, Calendar::Month).unwrap()),
        ("bucket", Quota::token_bucket(9, Rate::new(9, DAY).unwrap()).unwrap()),
        ("lockout", Quota::lockout(9, DAY, Span::from_secs(1_800)).unwrap()),
    ]
}

fn failures(name: &'static str, quota: Quota, on_success: OnSuccess) -> Limit {
    Limit::new(name, quota).with_counts(Counts::failures(on_success))
}

fn nine_log(on_success: OnSuccess) -> Limiter {
    Limiter::in_memory([failures("log", Quota::sliding_log(9, DAY).unwrap(), on_success)]).unwrap()
}

fn at(millis: u64) -> CheckOptions {
    CheckOptions { at: Some(after_ms(millis)), ..CheckOptions::default() }
}

/// Makes an attempt that must be let through, and returns what waits for its outcome.
async fn attempt(limiter: &Limiter, limit: &str, millis: u64) -> Pending {
    let mut verdict = limiter.check_keys([(limit, "k")], at(millis)).await.unwrap();
    assert!(verdict.is_allowed(), "{limit} at {millis} ms: {verdict}");
    verdict.take_pending()
}

async fn settle(limiter: &Limiter, settlement: Settlement, millis: u64) {
    limiter.settle_at(settlement, Some(after_ms(millis))).await.unwrap();
}

async fn left(limiter: &Limiter, limit: &str, millis: u64) -> u32 {
    let peek = CheckOptions { peek: true, ..at(millis) };
    limiter.check_keys([(limit, "k")], peek).await.unwrap().decisions()[0].decision.remaining
}

/// Guards against a success that leaves a trace: after a thousand an honest user would be locked out.
#[tokio::test]
async fn a_thousand_right_codes_one_after_the_other_consume_nothing() {
    for (name, quota) in nine_a_day() {
        let limiter = Limiter::in_memory([failures(name, quota, OnSuccess::Refund)]).unwrap();
        for round in 0..1_000 {
            let pending = attempt(&limiter, name, 10 * round).await;
            settle(&limiter, pending.succeeded(), 10 * round + 7).await;
        }
        assert_eq!(left(&limiter, name, 10_000).await, 9, "{name}");
    }
}

/// Nine at a time, answered in another order than they came in; each order ends with an opener of a window given back
/// last or first.
#[tokio::test]
async fn a_thousand_right_codes_at_once_consume_nothing() {
    for (name, quota) in nine_a_day() {
        for stride in [1, 2, 4, 5, 7, 8] {
            let limiter = Limiter::in_memory([failures(name, quota, OnSuccess::Refund)]).unwrap();
            let mut clock = 0;
            let mut waited = 0;
            for _ in 0..112 {
                let mut under_way = Vec::new();
                for _ in 0..9 {
                    clock += 1;
                    under_way.push((clock, Some(attempt(&limiter, name, clock).await)));
                }
                for turn in 0..9 {
                    clock += 1;
                    let (begun, pending) = &mut under_way[turn * stride % 9];
                    waited += clock - *begun;
                    settle(&limiter, pending.take().unwrap().succeeded(), clock).await;
                }
                // A bucket does not refill for a unit that is under way, and catches up afterwards.
                clock += if name == "bucket" { waited } else { 0 };
                waited = 0;
                assert_eq!(left(&limiter, name, clock).await, 9, "{name}, every {stride}th at {clock} ms");
            }
        }
    }
}

/// Guards against a lock that outlives the success that showed it to be wrong.
#[tokio::test]
async fn a_right_code_on_the_last_attempt_does_not_lock() {
    let quota = Quota::lockout(3, DAY, DAY).unwrap();
    let limiter = Limiter::in_memory([failures("l", quota, OnSuccess::Refund)]).unwrap();
    for millis in [0, 1] {
        let wrong = attempt(&limiter, "l", millis).await;
        drop(wrong);
    }
    let right = attempt(&limiter, "l", 2).await;
    assert_eq!(left(&limiter, "l", 3).await, 0, "locked while nobody knows");
    settle(&limiter, right.succeeded(), 4).await;
    assert_eq!(left(&limiter, "l", 5).await, 1, "the two wrong ones still count");
    let wrong = attempt(&limiter, "l", 6).await;
    drop(wrong);
    assert!(!limiter.check_keys([("l", "k")], at(7)).await.unwrap().is_allowed());
}

#[tokio::test]
async fn a_reset_forgets_earlier_failures_and_a_refund_does_not() {
    for (name, quota) in nine_a_day() {
        for (on_success, remaining) in [(OnSuccess::Refund, 4), (OnSuccess::Reset, 9)] {
            let limiter = Limiter::in_memory([failures(name, quota, on_success)]).unwrap();
            for millis in 0..5 {
                drop(attempt(&limiter, name, millis).await);
            }
            let right = attempt(&limiter, name, 5).await;
            settle(&limiter, right.succeeded(), 6).await;
            assert_eq!(left(&limiter, name, 6).await, remaining, "{name}, {on_success:?}");
        }
    }
}

#[tokio::test]
async fn a_success_leaves_the_charges_of_limits_that_count_every_request() {
    let every = Limit::new("every", Quota::sliding_log(9, DAY).unwrap());
    let watched = failures("watched", Quota::sliding_log(9, DAY).unwrap(), OnSuccess::Refund);
    let wrong = failures("wrong", Quota::sliding_log(9, DAY).unwrap(), OnSuccess::Refund);
    let limiter = Limiter::in_memory([every, watched.with_shadow(true), wrong]).unwrap();
    let keys = [("every", "k"), ("watched", "k"), ("wrong", "k")];
    let mut verdict = limiter.check_keys(keys, at(0)).await.unwrap();
    let pending = verdict.take_pending();
    assert!(verdict.take_pending().is_empty(), "what was taken out is not there twice");
    let settled = limiter.settle_at(pending.succeeded(), Some(after_ms(1))).await.unwrap();
    assert_eq!(settled.limits().map(|(limit, _)| limit.name()).collect::<Vec<_>>(), ["watched", "wrong"]);
    for (limit, remaining) in [("every", 8), ("watched", 9), ("wrong", 9)] {
        assert_eq!(left(&limiter, limit, 2).await, remaining, "{limit}");
    }
    // What the request was charged with besides can still be given back, once.
    limiter.refund_at(verdict.take_receipt(), Some(after_ms(3))).await.unwrap();
    for limit in ["every", "watched", "wrong"] {
        assert_eq!(left(&limiter, limit, 4).await, 9, "{limit}");
    }
}

/// Guards against a whole receipt that settles charges which no outcome is about.
#[tokio::test]
async fn a_receipt_keeps_only_what_waits_for_the_outcome() {
    let every = Limit::new("every", Quota::sliding_log(9, DAY).unwrap());
    let limiter = Limiter::in_memory([every]).unwrap();
    let mut verdict = limiter.check_keys([("every", "k")], at(0)).await.unwrap();
    let receipt = verdict.take_receipt();
    assert!(!receipt.is_empty());
    let pending = receipt.pending();
    assert!(pending.is_empty());
    assert!(pending.succeeded().is_empty());
    assert_eq!(left(&limiter, "every", 1).await, 8);
}

#[tokio::test]
async fn the_numbers_after_a_settlement_are_those_a_client_may_be_shown() {
    for (on_success, remaining) in [(OnSuccess::Refund, 8), (OnSuccess::Reset, 9)] {
        let limiter = nine_log(on_success);
        drop(attempt(&limiter, "log", 0).await);
        let mut verdict = limiter.check_keys([("log", "k")], at(1)).await.unwrap();
        assert_eq!(verdict.decisions()[0].decision.remaining, 7);
        let settlement = verdict.take_pending().succeeded();
        let settled = limiter.settle_at(settlement, Some(after_ms(2))).await.unwrap();
        verdict.account_for(&settled);
        let decision = &verdict.decisions()[0].decision;
        assert_eq!(decision.remaining, remaining, "{on_success:?}");
        assert_eq!(decision.reset_after == Span::ZERO, remaining == 9, "{decision:?}");
        assert_eq!(left(&limiter, "log", 3).await, remaining, "what is shown is what is there");
    }
}

#[tokio::test]
async fn a_settlement_is_one_call_of_the_store_and_none_without_a_success() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let quota = Quota::sliding_log(9, DAY).unwrap();
    let limits = ["a", "b"].map(|name| failures(name, quota, OnSuccess::Refund));
    let limiter = Limiter::new(Arc::<Faulty<MemoryStore>>::clone(&store) as Arc<dyn Store>, limits).unwrap();
    let check = async || limiter.check_keys([("a", "k"), ("b", "k")], at(0)).await.unwrap().take_pending();
    let (right, wrong, unlucky) = (check().await, check().await, check().await);
    let before = store.calls();
    settle(&limiter, right.succeeded(), 1).await;
    assert_eq!(store.calls() - before, 1);
    let headers = HeaderMap::new();
    settle(&limiter, wrong.answered(StatusCode::UNAUTHORIZED, &headers), 1).await;
    assert_eq!(store.calls() - before, 1, "nothing to give back, nothing to ask");
    store.fail(StoreError::unavailable("pulled the plug"));
    assert!(limiter.settle_at(unlucky.succeeded(), Some(after_ms(2))).await.is_err());
    store.heal();
    for limit in ["a", "b"] {
        assert_eq!(
            left(&limiter, limit, 3).await,
            7,
            "{limit}: the wrong one and the one nobody could give back"
        );
    }
}

#[tokio::test]
async fn a_limit_built_in_code_takes_2xx_for_a_success() {
    let headers = HeaderMap::new();
    for (status, remaining) in [(200, 9), (204, 9), (199, 8), (302, 8), (401, 8), (500, 8)] {
        let limiter = nine_log(OnSuccess::Refund);
        let pending = attempt(&limiter, "log", 0).await;
        settle(&limiter, pending.answered(StatusCode::from_u16(status).unwrap(), &headers), 1).await;
        assert_eq!(left(&limiter, "log", 2).await, remaining, "{status}");
    }
}

/// A login that answers 302 either way, and tells by where it sends the browser.
#[tokio::test]
async fn a_policy_says_what_a_success_is() {
    let success = Success {
        statuses: vec![302..=303],
        header: Some((http::header::LOCATION, Some("/account".to_owned()))),
    };
    let counts = Counts::Failures { on_success: OnSuccess::Refund, success: Some(Arc::new(success)) };
    let limit = Limit::new("log", Quota::sliding_log(9, DAY).unwrap()).with_counts(counts);
    let limiter = Limiter::in_memory([limit]).unwrap();
    for (status, location, remaining) in
        [(302, "/login?wrong", 8), (200, "/account", 7), (302, "/account", 7), (303, "/account", 7)]
    {
        let pending = attempt(&limiter, "log", 0).await;
        let mut headers = HeaderMap::new();
        headers.insert(http::header::LOCATION, HeaderValue::from_static(location));
        settle(&limiter, pending.answered(StatusCode::from_u16(status).unwrap(), &headers), 1).await;
        assert_eq!(left(&limiter, "log", 2).await, remaining, "{status} to {location}");
    }
}

#[tokio::test]
async fn an_explanation_says_that_only_failures_count() {
    let limiter = nine_log(OnSuccess::Refund);
    let verdict = limiter.check_keys([("log", "k")], at(0)).await.unwrap();
    assert_eq!(verdict.explain(), "allowed: log has 8 of 9 left, counts failures only");
}

/// Guards against a receipt that is thrown away while something can still be given back.
#[tokio::test]
async fn a_receipt_is_worth_something_as_long_as_its_charge_counts() {
    let locked = Quota::lockout(1, Span::from_secs(60), DAY).unwrap();
    let limiter = Limiter::in_memory([failures("l", locked, OnSuccess::Refund)]).unwrap();
    let mut verdict = limiter.check_keys([("l", "k")], at(0)).await.unwrap();
    let receipt = verdict.take_receipt();
    let late = 86_400_000 - 1;
    assert!(receipt.refundable_until() > after_ms(late));
    settle(&limiter, receipt.pending().succeeded(), late).await;
    assert_eq!(left(&limiter, "l", late).await, 1, "the lock is undone up to its last moment");
    let month = Limiter::in_memory([failures(
        "m",
        Quota::calendar_window(1, Calendar::Month).unwrap(),
        OnSuccess::Refund,
    )])
    .unwrap();
    let mut verdict = month.check_keys([("m", "k")], at(0)).await.unwrap();
    assert!(verdict.take_receipt().refundable_until() >= after_ms(31 * 86_400_000));
}

/// Guards against guesses made at once that all see the same count: of 64, nine pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_attempts_at_once_as_many_pass_as_the_limit_says() {
    let limiter = nine_log(OnSuccess::Refund);
    let mut attempts = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let limiter = limiter.clone();
        attempts.spawn(async move { limiter.check_key("log", "k").await.unwrap().is_allowed() });
    }
    let passed = attempts.join_all().await;
    assert_eq!(passed.iter().filter(|passed| **passed).count(), 9);
}

/// What a file says and what is enforced.
#[test]
fn a_file_chooses_what_a_success_does() {
    let policy = policy_file::parse_embedded(
        "policy.yaml",
        "tidegate: 1\nrules:\n  - name: r\n    class: api\n    match: { path: /** }\n    limits:\n      - name: l\n        \
         says: Never more than nine failures in any 24 hours, for everyone together.\n        key: global\n        \
         count: { failures: true, success: { status: 200 }, on_success: reset }\n        \
         sliding_log: { limit: 9, window: 24h }\n",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let limiter = Limiter::from_policy(policy).unwrap();
    let in_force = limiter.snapshot();
    let limit = in_force.limits().next().unwrap();
    let Counts::Failures { on_success, success: Some(success) } = limit.counts() else { panic!("{limit:?}") };
    assert_eq!(*on_success, OnSuccess::Reset);
    assert!(success.covers(StatusCode::OK, &HeaderMap::new()));
    assert!(!success.covers(StatusCode::CREATED, &HeaderMap::new()));
}
