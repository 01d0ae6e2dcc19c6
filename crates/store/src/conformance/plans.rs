//! Changed plans and numbers: one state a key, carried over, and nothing gained by a change.

use tidegate_algorithms::{Anchor, Answer, Quota, Retry, Span, Timestamp};

use super::{Bench, Harness, asking, built, check, each_algorithm, noon, rate, secs, shadow};
use crate::{Check, Store};

/// Each quota of `olds` with each of `news`.
fn pairs<'q>(olds: &'q [Quota], news: &'q [Quota]) -> impl Iterator<Item = (&'q Quota, &'q Quota)> {
    olds.iter().flat_map(|old| news.iter().map(move |new| (old, new)))
}

fn micros_before(instant: Timestamp) -> Timestamp {
    Timestamp::saturating_from_micros(instant.as_micros() - 1)
}

/// What was used under one plan is used under the other, whatever its algorithm: free to premium, and down again. A
/// lockout that was not locked is not locked by a change: it has one attempt left.
pub fn a_change_of_plan_never_refills(harness: &impl Harness) {
    for (free, premium) in pairs(&each_algorithm(4), &each_algorithm(10)) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        let (free, premium) = (check(limit, b"k", free), check(limit, b"k", premium));
        assert_eq!(bench.drain(free, noon()), 4);
        let more = bench.drain(premium, noon());
        assert!(more <= 6, "{:?} to {:?}: {more} more", free.quota, premium.quota);
        assert_eq!(bench.drain(free, noon()), 0, "{:?} and back", premium.quota);
        let (free, premium) = (Check { key: b"other", ..free }, Check { key: b"other", ..premium });
        assert_eq!(bench.drain(premium, noon()), 10);
        let attempts = u32::from(matches!(free.quota, Quota::Lockout(_)));
        assert!(bench.drain(free, noon()) <= attempts, "{:?} to {:?}", premium.quota, free.quota);
        assert_eq!(bench.drain(premium, noon()), 0, "{:?} and back", free.quota);
    }
}

/// A key that goes to and fro between two plans at one instant is admitted no more than the larger one's number in all
/// (and the one attempt that a lockout leaves): what a smaller plan cannot hold would otherwise be forgotten with each
/// change.
pub fn alternating_plans_admit_no_more_than_the_larger(harness: &impl Harness) {
    for (small, large) in pairs(&each_algorithm(4), &each_algorithm(7)) {
        for plans in [[small, large], [large, small]] {
            let bench = Bench::new(harness);
            let limit = bench.limit("one");
            let plans = plans.map(|quota| check(limit, b"k", quota));
            let asked = plans.iter().cycle().take(60);
            let admitted = asked.filter(|asked| bench.decide(&[**asked], noon()).admitted).count();
            let attempts = plans.iter().filter(|it| matches!(it.quota, Quota::Lockout(_))).count();
            assert!((1..=7 + attempts).contains(&admitted), "{plans:?}: {admitted}");
        }
    }
}

/// In any span no more is admitted to a key between two plans than both would admit together.
pub fn alternating_plans_stay_within_both_bounds(harness: &impl Harness) {
    for (one, two) in pairs(&short(3), &short(5)) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        let plans = [check(limit, b"k", one), check(limit, b"k", two)];
        let mut admitted: Vec<Timestamp> = Vec::new();
        for (step, asked) in (0_u64..200).zip(plans.iter().cycle()) {
            let now = noon().saturating_add(Span::from_millis(step * 730));
            admitted.extend((0..9).filter(|_| bench.decide(&[*asked], now).admitted).map(|_| now));
        }
        for (at, start) in admitted.iter().enumerate() {
            for (count, end) in (1_u128..).zip(&admitted[at..]) {
                let span = end.saturating_since(*start);
                let most = one.most_in_closed(span) + two.most_in_closed(span);
                assert!(count <= most, "{one:?} and {two:?}: {count} in {span}");
            }
        }
    }
}

/// One quota of each algorithm that admits `units` in ten seconds.
fn short(units: u64) -> Vec<Quota> {
    vec![
        built(Quota::fixed_window(units, secs(10), Anchor::Clock)),
        built(Quota::fixed_window(units, secs(10), Anchor::FirstHit)),
        built(Quota::sliding_log(units, secs(10))),
        built(Quota::sliding_counter(units, secs(10))),
        built(Quota::token_bucket(units, rate(units, secs(10)))),
        built(Quota::leaky_bucket(rate(units, secs(10)), units - 1)),
    ]
}

/// The time before a change counts at the old rate: at the new one, a reload would refill at once.
pub fn a_raised_rate_counts_from_the_change_on(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let limit = bench.limit("one");
    let (slow, fast) = (rate(1, secs(10)), rate(100, secs(10)));
    let quotas = [slow, fast].map(|rate| built(Quota::token_bucket(1_000, rate)));
    let [before, after] = [&quotas[0], &quotas[1]].map(|quota| check(limit, b"k", quota));
    assert!(bench.decide(&[asking(1_000, before)], noon()).admitted);
    let change = noon().saturating_add(secs(100));
    assert_eq!(bench.left(after, change), 10);
    assert!(!bench.decide(&[asking(11, after)], change).admitted);
    assert_eq!(bench.left(after, change.saturating_add(secs(1))), 20);
    let queues = [slow, fast].map(|rate| built(Quota::leaky_bucket(rate, 999)));
    let [before, after] = [&queues[0], &queues[1]].map(|quota| check(bench.limit("two"), b"k", quota));
    assert!(bench.decide(&[asking(1_000, before)], noon()).admitted);
    assert_eq!(bench.left(after, change), 10);
    assert!(!bench.decide(&[asking(11, after)], change).admitted);
    assert_eq!(bench.left(after, change.saturating_add(secs(1))), 20);
}

/// A wait that is told under the new plan is over when it says: whether the check refused alone or its batch did, the
/// state as carried over is what the next ask meets.
pub fn a_wait_is_exact_across_a_change_of_plan(harness: &impl Harness) {
    let closed = built(Quota::sliding_log(0, secs(10)));
    for (old, new) in pairs(&each_algorithm(5), &short(3)) {
        for in_a_batch in [false, true] {
            let bench = Bench::new(harness);
            let [limit, other] = ["one", "two"].map(|name| bench.limit(name));
            assert_eq!(bench.drain(check(limit, b"k", old), noon()), 5);
            let (asked, shut) = (check(limit, b"k", new), check(other, b"k", &closed));
            let now = noon().saturating_add(secs(1));
            let checks = [asked, shut];
            let refused = bench.decide(if in_a_batch { &checks } else { &checks[..1] }, now);
            assert!(!refused.admitted, "{old:?} to {new:?}");
            // A bucket that takes over a count may have a unit left by now.
            let Answer::Refuse(Retry::After(wait)) = refused.outcomes[0].decision.answer else {
                panic!("{old:?} to {new:?}: {refused:?}")
            };
            let then = now.saturating_add(wait);
            let half = now.saturating_add(Span::from_micros(wait.as_micros() / 2));
            for early in [half, micros_before(then)] {
                assert!(!bench.decide(&[asked], early).admitted, "{old:?} to {new:?}");
            }
            assert!(bench.decide(&[asked], then).admitted, "{old:?} to {new:?}");
        }
    }
}

/// A peek tells what the change of plan leaves and changes nothing; a batch that is refused carries over all the same.
pub fn only_a_decision_carries_a_state_over(harness: &impl Harness) {
    let closed = built(Quota::sliding_log(0, secs(10)));
    for (old, new) in pairs(&each_algorithm(5), &each_algorithm(8)).filter(|(old, new)| old != new) {
        let bench = Bench::new(harness);
        let [limit, other] = ["one", "two"].map(|name| bench.limit(name));
        bench.decide(&[asking(3, check(limit, b"k", old))], noon());
        let inspect = || bench.wait(bench.store.inspect(limit, b"k"));
        let before = inspect();
        let (asked, shut) = (check(limit, b"k", new), check(other, b"k", &closed));
        let left = bench.left(asked, noon());
        assert!(!bench.peek(&[asked, shut], noon()).admitted);
        assert_eq!(inspect(), before, "{old:?} to {new:?}");
        assert!(!bench.decide(&[asked, shut], noon()).admitted);
        assert_eq!(bench.left(asked, noon()), left, "{old:?} to {new:?}");
        let carried = tidegate_algorithms::peek(new, inspect().as_ref(), asked.ask, noon());
        assert_eq!(carried.remaining, left, "{old:?} to {new:?}: {:?}", inspect());
    }
}

/// A key that a batch names under two plans is charged in its one state, one after the other.
pub fn a_key_named_under_two_plans_is_charged_twice(harness: &impl Harness) {
    for (one, two) in pairs(&each_algorithm(5), &each_algorithm(5)) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        let pair = [asking(2, check(limit, b"k", one)), asking(2, check(limit, b"k", two))];
        let decided = bench.decide(&pair, noon());
        assert!(decided.admitted, "{one:?} and {two:?}");
        assert!(decided.outcomes[1].decision.remaining <= 1, "{one:?} and {two:?}");
        let again = bench.decide(&pair, noon());
        assert!(!again.admitted, "{one:?} and {two:?}");
        assert!(bench.drain(check(limit, b"k", one), noon()) <= 1, "{one:?} and {two:?}");
        // A newcomer that only watches and is refused leaves its twin the place.
        let watched = shadow(asking(9, check(limit, b"new", one)));
        let charged = asking(2, check(limit, b"new", two));
        assert!(bench.decide(&[watched, charged], noon()).admitted);
        assert_eq!(bench.left(charged, noon()), 3, "{one:?} and {two:?}");
    }
}
