//! Floods of new keys: memory stays bounded, and nobody else pays.

use tidegate_store::Store;
use tidegate_store::algorithms::{Quota, Span};

use crate::tools::{admits, after, check, each_algorithm, flood, left, noon, store, store_of};

/// A map that grows until somebody cleans it up grows without bound under many addresses (M-01).
#[test]
fn distinct_keys_without_end_stay_within_keys_and_bytes() {
    for quota in each_algorithm(3, Span::from_secs(3_600)) {
        let store = store(10_000, 1 << 20);
        let [one, two] = ["one", "two"].map(|name| store.limit(name));
        let mut most = (0, 0);
        for block in 0..50_u32 {
            let limit = if block % 10 == 9 { two } else { one };
            flood(&store, limit, &quota, block * 800..(block + 1) * 800, noon());
            let usage = store.usage();
            most = (usage.keys.max(most.0), usage.bytes.max(most.1));
        }
        assert!(most.0 <= 10_000 && most.1 <= 1 << 20, "{quota:?}: {most:?}");
        assert!(most.0 >= 1_500, "the room is used, not only guarded: {quota:?}: {most:?}");
    }
}

/// The same with a million keys, for the algorithm that is used most.
#[test]
fn a_million_distinct_keys_of_a_token_bucket() {
    let quota = each_algorithm(3, Span::from_secs(3_600))[4];
    let store = store(200_000, 16 << 20);
    let limit = store.limit("one");
    flood(&store, limit, &quota, 0..1_000_000, noon());
    let usage = store.usage();
    assert!((150_000..=200_000).contains(&usage.keys), "{usage:?}");
    assert!(usage.bytes <= usage.keys * 46, "{usage:?}");
    assert!(usage.shared_checks >= 800_000, "{usage:?}");
}

/// Neither the newest nor the oldest goes when there is no room: a refused key stays refused (M-04, M-05, B-45).
#[test]
fn a_refused_key_survives_any_flood() {
    for quota in each_algorithm(2, Span::from_secs(3_600)) {
        for max_keys in [1, 10, 1_000, 9_000] {
            let store = store_of(max_keys);
            let limit = store.limit("one");
            let culprit = check(limit, b"culprit", &quota);
            assert!(admits(&store, culprit, noon()) && admits(&store, culprit, noon()));
            for round in 0..3_u32 {
                flood(&store, limit, &quota, round * 4_000..(round + 1) * 4_000, after(round.into()));
                assert!(!admits(&store, culprit, after(round.into())), "{max_keys} {quota:?}");
            }
        }
    }
}

/// A flood of one limit takes neither the states nor the room of another.
#[test]
fn a_flood_of_one_limit_leaves_anothers_keys_alone() {
    for quota in each_algorithm(3, Span::from_secs(3_600)) {
        let store = store_of(4_000);
        let [one, two] = ["one", "two"].map(|name| store.limit(name));
        let old = check(two, b"old", &quota);
        assert!(admits(&store, old, noon()));
        flood(&store, one, &quota, 0..20_000, noon());
        assert_eq!(left(&store, old, noon()), 2, "{quota:?}");
        // A quarter of 4,000 is reserved, for two limits: newcomers of the other have states of their own.
        for number in 0..499_u32 {
            let new = number.to_be_bytes();
            let new = check(two, &new, &quota);
            assert!((0..3).all(|_| admits(&store, new, noon())), "{quota:?} {number}");
            assert!(!admits(&store, new, noon()), "{quota:?} {number}");
        }
    }
}

/// A flood that is over is forgotten by those who come after it, and its memory is given back.
#[test]
fn room_comes_back_after_a_flood() {
    for quota in each_algorithm(3, Span::from_secs(60)) {
        let store = store_of(20_000);
        let limit = store.limit("one");
        flood(&store, limit, &quota, 0..30_000, noon());
        let full = store.usage();
        flood(&store, limit, &quota, 50_000..70_000, after(200));
        flood(&store, limit, &quota, 100_000..100_010, after(400));
        for number in 0..40_000_u32 {
            // One key at a time, each long forgotten when the next comes.
            let at = after(1_000 + 200 * u64::from(number));
            flood(&store, limit, &quota, 200_000 + number..200_001 + number, at);
        }
        let now = store.usage();
        assert!(now.keys <= 50, "{quota:?}: {now:?}");
        assert!(now.bytes < full.bytes / 20, "{quota:?}: {full:?} then {now:?}");
    }
}

/// Bytes bound logs too: those that cannot grow are held to no more than their limit all the same.
#[test]
fn logs_that_may_not_grow_admit_no_more() {
    let quota = Quota::sliding_log(1_000, Span::from_secs(60)).unwrap();
    let store = store(1_000, 20_000);
    let limit = store.limit("one");
    let keys: Vec<[u8; 4]> = (0..20_u32).map(u32::to_be_bytes).collect();
    let mut admitted = vec![0; keys.len()];
    for step in 0..1_500_u64 {
        for (key, admitted) in keys.iter().zip(&mut admitted) {
            let at = noon().saturating_add(Span::from_millis(step * 20));
            *admitted += u32::from(admits(&store, check(limit, key, &quota), at));
        }
        assert!(store.usage().bytes <= 20_000, "step {step}: {:?}", store.usage());
    }
    assert!(admitted.iter().all(|admitted| *admitted <= 1_000), "{admitted:?}");
    assert!(admitted.contains(&1_000), "and no less while only the dates are coarser: {admitted:?}");
}

/// Options at the ends of their type are no reason to panic.
#[test]
fn any_options_will_do() {
    let quota = each_algorithm(3, Span::from_secs(60))[2];
    for (max_keys, max_bytes) in [(0, 0), (1, 0), (0, 1), (usize::MAX, usize::MAX), (usize::MAX, 1)] {
        let store = store(max_keys, max_bytes);
        for name in ["one", "two"] {
            let limit = store.limit(name);
            let asked = check(limit, b"k", &quota);
            assert_eq!((0..5).filter(|_| admits(&store, asked, noon())).count(), 3, "{max_keys} {max_bytes}");
        }
    }
}
