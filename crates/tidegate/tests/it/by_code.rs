//! Limits built in code, without a policy.

use tidegate::{Anchor, BuildError, CheckOptions, Limit, Limiter, Quota, Rate, Retry, Ruling, Span};

use crate::world::{after_ms, start};

fn bucket(capacity: u64, secs: u64) -> Quota {
    Quota::token_bucket(capacity, Rate::new(1, Span::from_secs(secs)).unwrap()).unwrap()
}

fn at(millis: u64) -> CheckOptions {
    CheckOptions { at: Some(after_ms(millis)), ..CheckOptions::default() }
}

#[tokio::test]
async fn a_request_that_one_limit_refuses_has_used_up_nothing_of_the_others() {
    let wide = Quota::fixed_window(100, Span::from_secs(3_600), Anchor::Clock).unwrap();
    let limiter =
        Limiter::in_memory([Limit::new("wide", wide), Limit::new("narrow", bucket(2, 60))]).unwrap();
    let mut refused = 0;
    for _ in 0..10 {
        let verdict = limiter.check_keys([("wide", "k"), ("narrow", "k")], at(0)).await.unwrap();
        refused += u32::from(!verdict.is_allowed());
    }
    assert_eq!(refused, 8);
    let peek = CheckOptions { peek: true, ..at(0) };
    let left = limiter.check_keys([("wide", "k")], peek).await.unwrap();
    assert_eq!(left.decisions()[0].decision.remaining, 98);
}

#[tokio::test]
async fn the_longest_wait_decides_and_the_first_of_equals() {
    let limiter = Limiter::in_memory([
        Limit::new("short", bucket(1, 5)),
        Limit::new("long", bucket(1, 50)),
        Limit::new("also-long", bucket(1, 50)),
    ])
    .unwrap();
    let keys = || [("short", "k"), ("long", "k"), ("also-long", "k")];
    assert!(limiter.check_keys(keys(), at(0)).await.unwrap().is_allowed());
    let verdict = limiter.check_keys(keys(), at(0)).await.unwrap();
    assert_eq!(verdict.retry(), Some(Retry::After(Span::from_secs(50))));
    assert_eq!(verdict.deciding().unwrap().limit.name(), "long");
    assert_eq!(verdict.violated().count(), 3);
}

#[tokio::test]
async fn the_tightest_limit_decides_an_allowed_request() {
    let limiter =
        Limiter::in_memory([Limit::new("roomy", bucket(9, 5)), Limit::new("tight", bucket(3, 5))]).unwrap();
    let verdict = limiter.check_keys([("roomy", "k"), ("tight", "k")], at(0)).await.unwrap();
    assert_eq!(verdict.deciding().unwrap().limit.name(), "tight");
    assert_eq!(verdict.explain(), "allowed: tight has 2 of 3 left");
}

#[tokio::test]
async fn a_cost_above_the_capacity_is_refused_for_ever_and_takes_nothing() {
    let limiter = Limiter::in_memory([Limit::new("a", bucket(4, 1)).with_words("Four at once.")]).unwrap();
    let five = CheckOptions { cost: Some(5), ..at(0) };
    let verdict = limiter.check_keys([("a", "k")], five).await.unwrap();
    assert_eq!(verdict.ruling(), &Ruling::Refuse { retry: Retry::Never });
    assert_eq!(
        verdict.explain(),
        "refused by a: 4 of 4 left, never at this cost (\u{201c}Four at once.\u{201d})"
    );
    let four = CheckOptions { cost: Some(4), ..at(0) };
    assert!(limiter.check_keys([("a", "k")], four).await.unwrap().is_allowed());
}

#[tokio::test]
async fn a_shadow_limit_is_counted_and_never_blocks() {
    let limiter = Limiter::in_memory([
        Limit::new("seen", bucket(1, 60)).with_shadow(true),
        Limit::new("held", bucket(5, 60)),
    ])
    .unwrap();
    let keys = || [("seen", "k"), ("held", "k")];
    assert_eq!(limiter.check_keys(keys(), at(0)).await.unwrap().would_refuse().count(), 0);
    let verdict = limiter.check_keys(keys(), at(0)).await.unwrap();
    assert!(verdict.is_allowed());
    assert_eq!(verdict.would_refuse().map(|one| one.limit.name()).collect::<Vec<_>>(), ["seen"]);
    assert_eq!(verdict.deciding().unwrap().limit.name(), "held");
}

#[tokio::test]
async fn a_receipt_gives_back_once_what_was_charged() {
    let limiter = Limiter::in_memory([Limit::new("a", bucket(2, 60))]).unwrap();
    let mut verdict = limiter.check_keys([("a", "k")], at(0)).await.unwrap();
    // Or whoever kept a copy would give the same charge back again.
    assert!(verdict.clone().take_receipt().is_empty());
    let receipt = verdict.take_receipt();
    assert!(verdict.take_receipt().is_empty());
    limiter.refund_at(receipt, Some(start())).await.unwrap();
    let peek = CheckOptions { peek: true, ..at(0) };
    let left = limiter.check_keys([("a", "k")], peek).await.unwrap();
    assert_eq!(left.decisions()[0].decision.remaining, 2);
}

#[tokio::test]
async fn names_are_checked_when_they_are_given_and_when_they_are_used() {
    let twice = Limiter::in_memory([Limit::new("a", bucket(1, 1)), Limit::new("a", bucket(2, 1))]);
    assert!(matches!(twice, Err(BuildError::Duplicate(name)) if name == "a"));
    let limiter = Limiter::in_memory([Limit::new("a", bucket(1, 1))]).unwrap();
    let unknown = limiter.check_key("b", "k").await.unwrap_err();
    assert_eq!(unknown.to_string(), "no limit is named \"b\"; there are: a");
}

#[tokio::test]
async fn clones_share_what_they_count() {
    let limiter = Limiter::in_memory([Limit::new("a", bucket(1, 60))]).unwrap();
    let clone = limiter.clone();
    assert!(limiter.check_keys([("a", "k")], at(0)).await.unwrap().is_allowed());
    assert!(!clone.check_keys([("a", "k")], at(0)).await.unwrap().is_allowed());
}
