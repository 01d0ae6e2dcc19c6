//! Batches: all or nothing over the enforced checks, shadow checks beside them.

use tidegate_algorithms::{Answer, Ask, Quota, Retry};

use super::{Bench, Harness, asking, built, check, day, each_algorithm, noon, rate, secs, shadow};
use crate::{Check, Store};

/// An admitted batch is charged at every limit, with a receipt each.
pub fn a_batch_is_charged_wholly(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        let checks = [asking(2, check(one, b"k", quota)), asking(3, check(two, b"k", quota))];
        let decided = bench.decide(&checks, noon());
        assert!(decided.admitted, "{quota:?}");
        let told: Vec<u32> = decided.outcomes.iter().map(|outcome| outcome.decision.remaining).collect();
        assert_eq!(told, [3, 2], "{quota:?}");
        for (outcome, asked) in decided.outcomes.iter().zip(&checks) {
            let receipt = outcome.receipt.unwrap_or_else(|| panic!("no receipt: {quota:?}"));
            assert_eq!((receipt.units(), receipt.limit()), (asked.ask.cost(), asked.limit));
            assert_eq!(receipt.charged_at(), noon());
        }
        assert_eq!(bench.left(checks[0], noon()), 3, "{quota:?}");
        assert_eq!(bench.left(checks[1], noon()), 2, "{quota:?}");
    }
}

/// When one check refuses, those before and after it keep what they had (a denied request uses up no other limit).
pub fn a_refused_batch_charges_nothing(harness: &impl Harness) {
    for (wide, narrow) in each_algorithm(10).iter().zip(&each_algorithm(2)) {
        let bench = Bench::new(harness);
        let [one, two, three] = ["one", "two", "three"].map(|name| bench.limit(name));
        let checks = [check(one, b"k", wide), check(two, b"k", narrow), check(three, b"k", wide)];
        let admitted = (0..10).filter(|_| bench.decide(&checks, noon()).admitted).count();
        assert_eq!(admitted, 2, "{narrow:?}");
        assert_eq!(bench.left(checks[0], noon()), 8, "{wide:?}");
        assert_eq!(bench.left(checks[1], noon()), 0, "{narrow:?}");
        assert_eq!(bench.left(checks[2], noon()), 8, "{wide:?}");
    }
}

/// After a refusal the other checks still say what they would have, beside untouched numbers and no receipt.
pub fn every_check_is_evaluated_after_a_refusal(harness: &impl Harness) {
    for (wide, narrow) in each_algorithm(10).iter().zip(&each_algorithm(1)) {
        let bench = Bench::new(harness);
        let [one, two, three] = ["one", "two", "three"].map(|name| bench.limit(name));
        bench.decide(&[check(two, b"k", narrow)], noon());
        bench.decide(&[check(three, b"k", narrow)], noon());
        let checks = [check(one, b"k", wide), check(two, b"k", narrow), check(three, b"k", narrow)];
        let decided = bench.decide(&checks, noon());
        assert!(!decided.admitted);
        let answers: Vec<bool> = decided.outcomes.iter().map(|it| it.decision.is_admitted()).collect();
        assert_eq!(answers, [true, false, false], "{narrow:?}");
        assert!(decided.outcomes.iter().all(|outcome| outcome.receipt.is_none()));
        let told: Vec<u32> = decided.outcomes.iter().map(|outcome| outcome.decision.remaining).collect();
        assert_eq!(told, [10, 0, 0], "untouched: {wide:?}");
    }
}

/// The wait of a batch is that of the check that waits longest; at that instant it is admitted, before it is not.
pub fn the_wait_of_a_batch_is_the_longest(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quotas = [30, 90, 60].map(|period| built(Quota::token_bucket(1, rate(1, secs(period)))));
    let limits = ["one", "two", "three"].map(|name| bench.limit(name));
    let checks: Vec<Check<'_>> =
        limits.iter().zip(&quotas).map(|(limit, quota)| check(*limit, b"k", quota)).collect();
    assert!(bench.decide(&checks, noon()).admitted);
    let decided = bench.decide(&checks, noon());
    assert_eq!(decided.retry_after(checks.iter().map(|check| !check.shadow)), Some(secs(90)));
    let then = noon().saturating_add(secs(90));
    let before = tidegate_algorithms::Timestamp::saturating_from_micros(then.as_micros() - 1);
    assert!(!bench.decide(&checks, before).admitted);
    assert!(bench.decide(&checks, then).admitted);
}

/// Three requests against a shadow limit of one and an enforced limit of two: two pass.
pub fn a_shadow_check_never_blocks(harness: &impl Harness) {
    for (watched, enforced) in each_algorithm(1).iter().zip(&each_algorithm(2)) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        let checks = [shadow(check(one, b"k", watched)), check(two, b"k", enforced)];
        let passed: Vec<(bool, bool)> = (0..3)
            .map(|_| bench.decide(&checks, noon()))
            .map(|decided| (decided.admitted, decided.outcomes[0].decision.is_admitted()))
            .collect();
        assert_eq!(passed, [(true, true), (true, false), (false, false)], "{watched:?}");
        assert!(bench.decide(&[checks[0]], noon()).admitted, "alone it blocks nothing either");
    }
}

/// A shadow check counts what passes, so that turning it on later changes nothing but the refusals.
pub fn a_shadow_check_is_charged_as_if_enforced(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        let checks = [check(one, b"k", quota), shadow(check(two, b"k", quota))];
        let decided = bench.decide(&checks, noon());
        assert!(decided.admitted && decided.outcomes[1].receipt.is_some(), "{quota:?}");
        assert_eq!(bench.left(checks[1], noon()), 4, "{quota:?}");
    }
}

/// When only a shadow check refuses, the others are charged and it keeps what it had.
pub fn a_shadow_check_that_refuses_is_not_charged(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        bench.decide(&[asking(3, check(two, b"k", quota))], noon());
        let checks = [asking(3, check(one, b"k", quota)), asking(3, shadow(check(two, b"k", quota)))];
        let decided = bench.decide(&checks, noon());
        assert!(decided.admitted, "{quota:?}");
        assert_eq!(decided.outcomes[1].receipt, None);
        assert!(matches!(decided.outcomes[1].decision.answer, Answer::Refuse(Retry::After(_))), "{quota:?}");
        assert_eq!((bench.left(checks[0], noon()), bench.left(checks[1], noon())), (2, 2), "{quota:?}");
    }
}

/// When an enforced check refuses, the shadow check beside it is not charged either.
pub fn a_shadow_check_is_not_charged_when_an_enforced_one_refuses(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        bench.decide(&[asking(5, check(one, b"k", quota))], noon());
        let checks = [shadow(check(two, b"k", quota)), check(one, b"k", quota)];
        let decided = bench.decide(&checks, noon());
        assert!(!decided.admitted && decided.outcomes.iter().all(|outcome| outcome.receipt.is_none()));
        assert_eq!(bench.left(checks[0], noon()), 5, "{quota:?}");
    }
}

/// Two checks on one key of one limit take twice.
pub fn a_key_named_twice_sees_its_first_charge(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let asked = asking(2, check(bench.limit("one"), b"k", quota));
        let decided = bench.decide(&[asked, asked], noon());
        assert!(decided.admitted);
        let told: Vec<u32> = decided.outcomes.iter().map(|outcome| outcome.decision.remaining).collect();
        assert_eq!(told, [3, 1], "{quota:?}");
        assert_eq!(bench.left(asked, noon()), 1, "{quota:?}");
    }
}

/// When the second check on a key refuses for the first one's charge, neither is left behind; in shadow only the
/// first is.
pub fn a_key_named_twice_is_left_alone_when_the_second_refuses(harness: &impl Harness) {
    for quota in &each_algorithm(3) {
        let bench = Bench::new(harness);
        let asked = asking(2, check(bench.limit("one"), b"k", quota));
        for _ in 0..2 {
            let decided = bench.decide(&[asked, asked], noon());
            assert!(!decided.admitted, "{quota:?}");
            let told: Vec<u32> = decided.outcomes.iter().map(|outcome| outcome.decision.remaining).collect();
            assert_eq!(told, [3, 3], "{quota:?}");
        }
        assert!(bench.decide(&[asked, shadow(asked)], noon()).admitted, "{quota:?}");
        assert_eq!(bench.left(asked, noon()), 1, "{quota:?}");
        let other = asking(2, check(bench.limit("one"), b"other", quota));
        assert!(bench.decide(&[shadow(asking(4, other)), other], noon()).admitted, "{quota:?}");
        assert_eq!(bench.left(other, noon()), 1, "{quota:?}");
    }
}

/// A request that no limit applies to passes.
pub fn an_empty_batch_is_admitted(harness: &impl Harness) {
    let decided = Bench::new(harness).decide(&[], noon());
    assert!(decided.admitted && decided.outcomes.is_empty());
}

/// The n-th outcome answers the n-th check, wherever its key lives.
pub fn outcomes_come_in_the_order_of_checks(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let limit = bench.limit("one");
    let quotas: Vec<Quota> = (1..=4).map(|units| built(Quota::sliding_log(units, day()))).collect();
    let keys: [&[u8]; 4] = [b"delta", b"alpha", b"charlie", b"bravo"];
    let checks: Vec<Check<'_>> =
        keys.iter().zip(&quotas).map(|(key, quota)| check(limit, key, quota)).collect();
    for _ in 0..2 {
        let decided = bench.decide(&checks, noon());
        let told: Vec<u32> = decided.outcomes.iter().map(|outcome| outcome.decision.limit).collect();
        assert_eq!(told, [1, 2, 3, 4]);
    }
}

/// A batch may be longer than what an answer holds without an allocation.
pub fn more_checks_than_fit_without_an_allocation(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quota = built(Quota::sliding_log(2, day()));
    let keys: Vec<Vec<u8>> = (0..40_u8).map(|number| vec![number]).collect();
    let limits: Vec<_> = (0..40).map(|number| bench.limit(&format!("limit {}", number % 7))).collect();
    let checks: Vec<Check<'_>> =
        limits.iter().zip(&keys).map(|(limit, key)| check(*limit, key, &quota)).collect();
    for round in 0..3 {
        let decided = bench.decide(&checks, noon());
        assert_eq!((decided.admitted, decided.outcomes.len()), (round < 2, 40));
    }
    assert!(checks.iter().all(|check| bench.left(Check { ask: Ask::ONE, ..*check }, noon()) == 0));
}

/// Every decision of a batch is made at the instant the answer names.
pub fn a_batch_sees_one_instant(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quota = built(Quota::sliding_log(2, secs(10)));
    let limit = bench.limit("one");
    let checks = [check(limit, b"a", &quota), check(limit, b"b", &quota)];
    let decided = bench.decide(&checks, noon());
    assert_eq!(decided.at, noon());
    assert!(decided.outcomes.iter().all(|it| it.receipt.is_some_and(|it| it.charged_at() == noon())));
    let of_its_own = bench.wait(bench.store.decide(&checks, None));
    assert!(
        of_its_own.outcomes.iter().all(|it| it.receipt.is_none_or(|it| it.charged_at() == of_its_own.at))
    );
}
