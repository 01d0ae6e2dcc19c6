//! One check at a time: each algorithm's numbers, time, and changed quotas.

use tidegate_algorithms::{Anchor, Answer, Calendar, Quota, Retry, Span, Timestamp};

use super::{Bench, Harness, asking, built, check, day, each_algorithm, noon, rate, secs};
use crate::Store;

/// Each algorithm admits its number at once and refuses the next.
pub fn each_algorithm_admits_its_numbers_and_then_refuses(harness: &impl Harness) {
    for quota in &each_algorithm(4) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        let told: Vec<(bool, u32)> = (0..6)
            .map(|_| bench.decide(&[asked], noon()))
            .map(|decided| (decided.admitted, decided.outcomes[0].decision.remaining))
            .collect();
        let expected = [(true, 3), (true, 2), (true, 1), (true, 0), (false, 0), (false, 0)];
        assert_eq!(told, expected, "{quota:?}");
    }
}

/// A microsecond before the wait is over the answer is still no; then it is yes.
pub fn a_wait_is_exact_to_the_microsecond(harness: &impl Harness) {
    let quotas = [
        built(Quota::fixed_window(3, secs(60), Anchor::Clock)),
        built(Quota::fixed_window(3, secs(60), Anchor::FirstHit)),
        built(Quota::sliding_log(3, secs(60))),
        built(Quota::sliding_counter(3, secs(60))),
        built(Quota::token_bucket(3, rate(7, secs(60)))),
        built(Quota::leaky_bucket(rate(7, secs(60)), 2)),
        built(Quota::lockout(3, secs(60), secs(90))),
        built(Quota::lockout(3, secs(60), secs(7))),
        built(Quota::calendar_window(3, Calendar::Week)),
    ];
    for quota in &quotas {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        let mut now = noon().saturating_add(Span::from_micros(17));
        for _ in 0..20 {
            bench.drain(asked, now);
            let refused = bench.decide(&[asked], now);
            let Answer::Refuse(Retry::After(wait)) = refused.outcomes[0].decision.answer else {
                panic!("{refused:?}")
            };
            let then = now.saturating_add(wait);
            let before = Timestamp::saturating_from_micros(then.as_micros() - 1);
            assert!(!bench.decide(&[asked], before).admitted, "{quota:?}");
            assert!(bench.decide(&[asked], then).admitted, "{quota:?}");
            now = then;
        }
    }
}

/// More than a limit can ever hold is refused with never, not with a wait, and takes nothing.
pub fn a_cost_above_capacity_is_never_admitted(harness: &impl Harness) {
    for quota in &each_algorithm(4) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        for cost in [5, u32::MAX] {
            let decided = bench.decide(&[asking(cost, asked)], noon());
            let decision = decided.outcomes[0].decision;
            assert_eq!(decision.answer, Answer::Refuse(Retry::Never), "{quota:?}");
            assert_eq!((decided.admitted, decision.remaining), (false, 4), "{quota:?}");
        }
        assert_eq!(bench.drain(asked, noon()), 4, "{quota:?}");
    }
}

/// A limit of zero refuses and says that waiting does not help.
pub fn a_limit_of_zero_refuses_for_ever(harness: &impl Harness) {
    let quotas = [
        Quota::fixed_window(0, day(), Anchor::Clock),
        Quota::fixed_window(0, day(), Anchor::FirstHit),
        Quota::sliding_log(0, day()),
        Quota::sliding_counter(0, day()),
    ];
    for quota in quotas.map(built) {
        let bench = Bench::new(harness);
        let decided = bench.decide(&[check(bench.limit("one"), b"k", &quota)], noon());
        assert_eq!(decided.outcomes[0].decision.answer, Answer::Refuse(Retry::Never), "{quota:?}");
    }
}

/// Asking for zero units tells the numbers and takes nothing, of a key that is known and of one that is not.
pub fn zero_units_take_nothing(harness: &impl Harness) {
    for quota in &each_algorithm(4) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        for left in [4, 3] {
            let decided = bench.decide(&[asking(0, asked)], noon());
            assert!(decided.admitted, "{quota:?}");
            assert_eq!((decided.outcomes[0].decision.remaining, decided.outcomes[0].receipt), (left, None));
            assert_eq!(bench.left(asked, noon()), left);
            bench.decide(&[asked], noon());
        }
    }
}

/// A peek tells the answer and leaves everything, even a date in the future, as it was.
pub fn a_peek_writes_nothing(harness: &impl Harness) {
    for quota in &each_algorithm(2) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        for _ in 0..5 {
            let peeked = bench.peek(&[asked], noon());
            assert!(peeked.admitted && peeked.outcomes[0].receipt.is_none(), "{quota:?}");
            assert_eq!(peeked.outcomes[0].decision.remaining, 2, "untouched: {quota:?}");
        }
        assert_eq!(bench.drain(asked, noon()), 2, "{quota:?}");
        let state = bench.wait(bench.store.inspect(asked.limit, asked.key));
        let before = Timestamp::saturating_from_micros(noon().as_micros() - 5_000_000);
        assert!(!bench.peek(&[asked, asked], before).admitted, "{quota:?}");
        assert_eq!(bench.wait(bench.store.inspect(asked.limit, asked.key)), state, "{quota:?}");
    }
}

/// A clock set back neither gives units away nor makes anybody wait longer than from full.
pub fn time_that_goes_back_keeps_what_was_charged(harness: &impl Harness) {
    for quota in &each_algorithm(4) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        bench.decide(&[asking(3, asked)], noon());
        let before = Timestamp::saturating_from_micros(noon().as_micros() - 3_600_000_000);
        assert_eq!(bench.left(asked, before), 1, "{quota:?}");
        assert_eq!(bench.drain(asked, before), 1, "{quota:?}");
        let decided = bench.decide(&[asked], before);
        let Answer::Refuse(Retry::After(wait)) = decided.outcomes[0].decision.answer else {
            panic!("{decided:?}")
        };
        assert!(wait <= secs(31 * 86_400), "{quota:?}: {wait}");
        assert!(!bench.decide(&[asked], noon()).admitted, "forward again mints nothing: {quota:?}");
    }
}

/// A refusal re-dates what lies in the future, so that the next step forward starts from the refusal.
pub fn a_refused_batch_still_redates(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quota = built(Quota::token_bucket(1, rate(1, secs(10))));
    let [one, two] = ["one", "two"].map(|name| bench.limit(name));
    let checks = [check(one, b"k", &quota), check(two, b"k", &quota)];
    assert!(bench.decide(&checks, noon()).admitted);
    let before = Timestamp::saturating_from_micros(noon().as_micros() - 100_000_000);
    assert!(!bench.decide(&checks, before).admitted);
    // Ten seconds after the refusal the unit is back, although by the old date a hundred are missing.
    assert!(bench.decide(&checks, before.saturating_add(secs(10))).admitted);
}

/// A limit lowered and raised again hands nothing out that was used: 10 → 3 → 10.
pub fn changed_numbers_mint_nothing(harness: &impl Harness) {
    for (wide, narrow) in each_algorithm(10).iter().zip(&each_algorithm(3)) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        let (ten, three) = (check(limit, b"k", wide), check(limit, b"k", narrow));
        bench.decide(&[asking(8, ten)], noon());
        let most = bench.drain(three, noon());
        assert!(most <= 2, "{wide:?}: {most}");
        let more = bench.drain(ten, noon());
        assert!(8 + most + more <= 10, "{wide:?}: {most} and {more}");
    }
}

/// A smaller plan holds a key to its own numbers at once; a larger one later adds no more than the difference.
pub fn a_smaller_plan_clamps(harness: &impl Harness) {
    for (large, small) in each_algorithm(100).iter().zip(&each_algorithm(5)) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        bench.decide(&[check(limit, b"k", large)], noon());
        let small = check(limit, b"k", small);
        assert!(bench.left(small, noon()) <= 5, "{small:?}");
        let admitted = bench.drain(small, noon());
        assert!((4..=5).contains(&admitted), "{small:?}: {admitted}");
    }
}

/// Windows of the calendar end with the month, however long it is: in a February, in that of a leap year, at New Year.
pub fn a_month_of_the_calendar_ends_with_it(harness: &impl Harness) {
    let quota = built(Quota::calendar_window(3, Calendar::Month));
    // The last second of a month in UTC and, in seconds, how long the next one lasts.
    let ends = [
        (1_675_209_599, 28),
        (1_706_745_599, 29),
        (1_709_251_199, 31),
        (1_704_067_199, 31),
        (4_107_542_399, 31),
    ];
    for (last_second, days) in ends {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", &quota);
        let last = Timestamp::saturating_from_micros(last_second * 1_000_000);
        assert_eq!(bench.drain(asked, last), 3);
        let refused = bench.decide(&[asked], last);
        assert_eq!(
            refused.outcomes[0].decision.answer,
            Answer::Refuse(Retry::After(secs(1))),
            "{last_second}"
        );
        let first = last.saturating_add(secs(1));
        assert_eq!(bench.drain(asked, first), 3, "{last_second}");
        let refused = bench.decide(&[asked], first);
        let wait = Answer::Refuse(Retry::After(secs(days * 86_400)));
        assert_eq!(refused.outcomes[0].decision.answer, wait, "{last_second}");
    }
}
