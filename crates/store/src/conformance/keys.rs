//! Limits and keys: apart from each other, whatever they are called.

use std::collections::HashSet;

use tidegate_algorithms::Quota;

use super::{Bench, Harness, asking, built, check, day, each_algorithm, noon};
use crate::{LimitId, Store};

/// One key at two limits counts twice, once each.
pub fn limits_do_not_share(harness: &impl Harness) {
    for quota in &each_algorithm(3) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        assert_eq!(bench.drain(check(one, b"k", quota), noon()), 3);
        assert_eq!(bench.drain(check(two, b"k", quota), noon()), 3, "{quota:?}");
    }
}

/// Two keys of one limit count apart.
pub fn keys_do_not_share(harness: &impl Harness) {
    for quota in &each_algorithm(3) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        for number in 0..200_u32 {
            let key = number.to_string();
            assert_eq!(bench.drain(check(limit, key.as_bytes(), quota), noon()), 3, "{quota:?} {key}");
        }
    }
}

/// Keys are bytes: empty, with NUL, braces, stars or line ends, not UTF-8, long; and names go by the same rule. A
/// name and a key that join to the same text as another pair stay apart.
pub fn any_bytes_are_a_key(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quota = built(Quota::sliding_log(1, day()));
    let long = vec![b'x'; 70_000];
    let longer = vec![b'x'; 70_001];
    let keys: [&[u8]; 19] = [
        b"",
        b"\0",
        b"\0\0",
        b"a",
        b"a\0",
        b"\0a",
        b"{a}",
        b"{}",
        b"}{",
        b"{",
        b"*",
        b"[a]",
        b"a b",
        b"a\r\nb",
        b"\xff\xfe",
        b"ip:1.2.3.4",
        b"1.2.3.4",
        &long,
        &longer,
    ];
    for name in ["login", "login:ip", "{login}", "log in", "*", "\u{fc}ber", ""] {
        let limit = bench.limit(name);
        for key in keys {
            let asked = check(limit, key, &quota);
            assert!(bench.decide(&[asked], noon()).admitted, "{name:?} {:?}", key.get(..9));
            assert!(!bench.decide(&[asked], noon()).admitted, "{name:?} {:?}", key.get(..9));
        }
    }
}

/// A name asked for again, as a reload does, is the same limit.
pub fn a_name_has_one_id(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let names: Vec<String> = (0..50).map(|number| format!("rule-{number}/limit")).collect();
    let ids: Vec<LimitId> = names.iter().map(|name| bench.limit(name)).collect();
    let again: Vec<LimitId> = names.iter().rev().map(|name| bench.limit(name)).collect();
    assert!(ids.iter().eq(again.iter().rev()));
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 50);
}

/// A reset takes one key of one limit back to the start, literally: a star is a star.
pub fn a_reset_forgets_one_key_of_one_limit(harness: &impl Harness) {
    for quota in &each_algorithm(3) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        let all = [check(one, b"a", quota), check(one, b"b", quota), check(two, b"a", quota)];
        for asked in all {
            bench.drain(asked, noon());
        }
        bench.wait(bench.store.reset(one, b"*"));
        bench.wait(bench.store.reset(one, b"unknown"));
        assert_eq!(all.map(|asked| bench.left(asked, noon())), [0, 0, 0], "{quota:?}");
        bench.wait(bench.store.reset(one, b"a"));
        assert_eq!(all.map(|asked| bench.left(asked, noon())), [3, 0, 0], "{quota:?}");
    }
}

/// An inspection shows what decisions are made from: held against the quota by hand, it gives the same numbers.
pub fn an_inspection_shows_the_state(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let asked = asking(2, check(bench.limit("one"), b"k", quota));
        assert_eq!(bench.wait(bench.store.inspect(asked.limit, b"k")), None);
        let decided = bench.decide(&[asked], noon());
        let state = bench.wait(bench.store.inspect(asked.limit, b"k"));
        let by_hand = tidegate_algorithms::decide(quota, state.as_ref(), asked.ask, noon());
        assert_eq!(by_hand.decision.remaining, 1, "{state:?}");
        assert_eq!(decided.outcomes[0].decision.remaining, 3);
        assert_eq!(bench.wait(bench.store.inspect(asked.limit, b"other")), None);
    }
}

/// An id that this store never gave out is an error that charges nothing, not somebody else's limit.
pub fn a_limit_that_was_never_given_out_is_an_error(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quota = built(Quota::sliding_log(1, day()));
    let known = check(bench.limit("one"), b"k", &quota);
    let checks = [known, check(LimitId::from_index(1_000_000), b"k", &quota)];
    let answer = harness.wait(bench.store.decide(&checks, Some(noon())));
    assert!(answer.is_err_and(|error| !error.may_have_counted() && !error.is_timeout()));
    assert_eq!(bench.left(known, noon()), 1);
}

/// A store that can be asked says so.
pub fn it_answers_a_ping(harness: &impl Harness) {
    let bench = Bench::new(harness);
    bench.wait(bench.store.ping());
}
