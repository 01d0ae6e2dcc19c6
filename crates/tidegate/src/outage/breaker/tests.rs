//! What a breaker does at instants of the tests' choice.

use super::*;

fn dead() -> StoreError {
    StoreError::unavailable("nobody listens")
}

fn opened(now: Instant) -> Breaker {
    let breaker = Breaker::default();
    let opened: Vec<_> = (0..FAILURES).map(|_| breaker.failed(&dead(), now)).collect();
    assert_eq!(opened, [false, false, false, false, true]);
    breaker
}

/// A store that is asked by everybody while it hangs costs everybody a deadline.
#[test]
fn it_opens_after_failures_in_a_row_and_lets_one_at_a_time_probe() {
    let start = Instant::now();
    let breaker = Breaker::default();
    for _ in 1..FAILURES {
        breaker.failed(&dead(), start);
    }
    breaker.answered(start);
    for _ in 1..FAILURES {
        breaker.failed(&dead(), start);
    }
    assert!(matches!(breaker.pass(start), Pass::Ask), "an answer in between begins the count anew");
    breaker.failed(&dead(), start);
    assert!(matches!(breaker.pass(start), Pass::Without(_)));
    assert!(breaker.health().borrow().is_down());
    let later = start + SHORTEST;
    let probe = breaker.pass(later);
    assert!(matches!(probe, Pass::Probe(_)));
    assert!(matches!(breaker.pass(later + LONGEST), Pass::Without(_)), "one probes at a time");
    breaker.failed(&dead(), later);
    drop(probe);
    let before = SHORTEST.saturating_sub(Duration::from_nanos(1));
    assert!(
        matches!(breaker.pass(later + before), Pass::Without(_)),
        "pauses grow, and are half of it at least"
    );
    assert!(matches!(breaker.pass(later + SHORTEST * 2), Pass::Probe(_)));
    breaker.answered(later + LONGEST);
    assert!(matches!(breaker.pass(later + LONGEST), Pass::Ask));
    breaker.answered(later + LONGEST + CALM);
    assert_eq!((breaker.outages(), breaker.health().borrow().is_down()), (1, false));
}

/// A client that leaves while its request probes must not leave the store unasked for ever.
#[test]
fn a_probe_that_is_given_up_frees_the_next() {
    let start = Instant::now();
    let breaker = opened(start);
    drop(breaker.pass(start + SHORTEST));
    assert!(matches!(breaker.pass(start + SHORTEST + LONGEST), Pass::Probe(_)));
}

/// A value under one key that nobody can read says nothing about the store.
#[test]
fn an_answer_about_one_key_is_an_answer() {
    let start = Instant::now();
    let breaker = Breaker::default();
    for _ in 0..100 {
        assert!(!breaker.failed(&StoreError::rejected("no value of ours"), start));
    }
    assert!(matches!(breaker.pass(start), Pass::Ask));
}

/// A request that hung through a whole outage must not let two probe in the next.
#[test]
fn a_probe_of_an_earlier_outage_frees_none_of_this_one() {
    let start = Instant::now();
    let breaker = opened(start);
    let old = breaker.pass(start + SHORTEST);
    assert!(matches!(old, Pass::Probe(_)));
    breaker.answered(start + SHORTEST);
    let again = start + LONGEST;
    for _ in 0..FAILURES {
        breaker.failed(&dead(), again);
    }
    let probe = breaker.pass(again + SHORTEST);
    assert!(matches!(probe, Pass::Probe(_)));
    drop(old);
    assert!(matches!(breaker.pass(again + SHORTEST + LONGEST), Pass::Without(_)), "one probes at a time");
    drop(probe);
    assert!(matches!(breaker.pass(again + SHORTEST + LONGEST), Pass::Probe(_)));
}

#[test]
fn what_was_decided_without_the_store_is_counted_by_the_outage() {
    let start = Instant::now();
    let breaker = Breaker::default();
    let without = || breaker.without.load(Ordering::Relaxed);
    breaker.count_without();
    breaker.failed(&dead(), start);
    breaker.answered(start);
    assert_eq!(without(), 0, "one packet that was lost is no outage");
    for _ in 0..FAILURES {
        breaker.count_without();
        breaker.failed(&dead(), start);
    }
    drop(breaker.pass(start));
    assert_eq!(without(), u64::from(FAILURES), "what is no request does not count");
    breaker.answered(start);
    breaker.answered(start + CALM);
    assert_eq!(without(), 0);
}

/// A store that answers every other request would be lost and found a dozen times a second, each with a line in the log and
/// an alert; whoever is paged by that turns it off.
#[test]
fn a_store_that_answers_now_and_then_is_one_outage() {
    let start = Instant::now();
    let breaker = opened(start);
    let mut health = breaker.health();
    health.mark_unchanged();
    let mut now = start;
    for _ in 0..20 {
        now += CALM / 2;
        breaker.answered(now);
        assert!(matches!(breaker.pass(now), Pass::Ask), "whoever comes is decided by the store");
        now += CALM / 4;
        for _ in 0..FAILURES {
            assert!(!breaker.failed(&dead(), now), "it is the same outage");
        }
        assert!(matches!(breaker.pass(now), Pass::Without(_)));
    }
    assert_eq!((breaker.outages(), health.has_changed().unwrap()), (1, false));
    breaker.answered(now);
    breaker.answered(now + CALM);
    assert!(health.has_changed().unwrap() && !health.borrow().is_down());
    for _ in 0..FAILURES {
        breaker.failed(&dead(), now + CALM);
    }
    assert_eq!(breaker.outages(), 2);
}

/// Of a cluster that lost a node, requests for the others are answered; the one who asks all nodes is not.
#[test]
fn an_outage_is_not_over_while_whoever_watches_gets_no_answer() {
    let start = Instant::now();
    let breaker = opened(start);
    breaker.answered(start);
    breaker.unanswered(&dead(), start + CALM / 2);
    breaker.answered(start + CALM);
    assert!(breaker.health().borrow().is_down());
    breaker.answered(start + CALM + CALM / 2);
    assert!(!breaker.health().borrow().is_down());
}
