//! When there is no room: newcomers share one state, and nobody gains by it.

use tidegate_store::algorithms::{Anchor, Ask, Quota, Span};
use tidegate_store::{Check, Give, Refund, Store};

use crate::tools::{admits, after, check, decide, each_algorithm, flood, left, noon, store_of};

/// Fills the store with keys that may not be forgotten for an hour.
fn full(max_keys: usize) -> (tidegate_store::MemoryStore, tidegate_store::LimitId, Quota) {
    let store = store_of(max_keys);
    let limit = store.limit("one");
    let filler = Quota::sliding_log(1, Span::from_secs(3_600)).unwrap();
    flood(&store, limit, &filler, 0..u32::try_from(max_keys).unwrap(), noon());
    assert_eq!(store.usage().keys, max_keys);
    (store, limit, filler)
}

/// A newcomer let through uncounted would be a way round every limit.
#[test]
fn newcomers_without_room_share_one_limit() {
    for quota in each_algorithm(5, Span::from_secs(600)) {
        let (store, limit, _) = full(10);
        let keys: Vec<[u8; 2]> = (0..50_u16).map(u16::to_be_bytes).collect();
        let admitted = keys.iter().filter(|key| admits(&store, check(limit, *key, &quota), noon())).count();
        assert_eq!(admitted, 5, "{quota:?}");
        assert_eq!(store.usage().shared_checks, 50);
        assert_eq!(store.usage().keys, 10, "{quota:?}");
    }
}

/// Leaving the shared state must not be a fresh start: its charges go along.
#[test]
fn a_key_that_leaves_the_shared_state_gets_no_fresh_quota() {
    for quota in each_algorithm(5, Span::from_secs(600)) {
        let (store, limit, filler) = full(10);
        let newcomer = check(limit, b"newcomer", &quota);
        assert_eq!((0..9).filter(|_| admits(&store, newcomer, noon())).count(), 5, "{quota:?}");
        // Room: every filler is reset.
        for number in 0..10_u32 {
            store.reset(limit, &number.to_be_bytes()).now().unwrap().unwrap();
        }
        assert_eq!(left(&store, newcomer, noon()), 0, "{quota:?}");
        assert!(!admits(&store, newcomer, noon()), "{quota:?}");
        // Nor under other numbers of the same algorithm.
        let changed = each_algorithm(5, Span::from_secs(601));
        let changed = changed.iter().find(|changed| changed.algorithm() == quota.algorithm()).unwrap();
        if !matches!(quota, Quota::FixedWindow(quota) if quota.anchor() == Anchor::FirstHit) {
            assert!(!admits(&store, check(limit, b"newcomer", changed), noon()), "{quota:?}");
        }
        // Once the shared state is as good as fresh, a newcomer is a newcomer again.
        assert_eq!(left(&store, check(limit, b"later", &quota), after(1_200)), 5, "{quota:?}");
        assert!(admits(&store, check(limit, b"later", &quota), after(1_200)));
        assert_eq!(store.usage().keys, 1, "{filler:?}");
    }
}

/// A copy of a shared state is a key's own from then on: what others are charged later is theirs.
#[test]
fn a_key_that_left_is_alone() {
    for quota in each_algorithm(5, Span::from_secs(600)) {
        let (store, limit, _) = full(10);
        assert!(admits(&store, check(limit, b"a", &quota), noon()));
        store.reset(limit, &0_u32.to_be_bytes()).now().unwrap().unwrap();
        assert!(admits(&store, check(limit, b"b", &quota), noon()));
        assert_eq!(store.usage().keys, 10);
        for _ in 0..3 {
            admits(&store, check(limit, b"c", &quota), noon());
        }
        assert_eq!(left(&store, check(limit, b"b", &quota), noon()), 3, "{quota:?}");
        assert_eq!(left(&store, check(limit, b"a", &quota), noon()), 1, "{quota:?}");
    }
}

/// A flood of one limit puts only that limit's newcomers together.
#[test]
fn limits_have_shared_states_of_their_own() {
    for quota in each_algorithm(5, Span::from_secs(600)) {
        let store = store_of(0);
        let [one, two] = ["one", "two"].map(|name| store.limit(name));
        assert_eq!((0..9).filter(|_| admits(&store, check(one, b"a", &quota), noon())).count(), 5);
        assert_eq!(
            (0..9).filter(|_| admits(&store, check(two, b"a", &quota), noon())).count(),
            5,
            "{quota:?}"
        );
    }
}

/// All or nothing holds for shared states too, also when a batch names two keys that share one.
#[test]
fn batches_over_shared_states_are_all_or_nothing() {
    for quota in each_algorithm(3, Span::from_secs(600)) {
        let store = store_of(0);
        let [one, two] = ["one", "two"].map(|name| store.limit(name));
        let pair = [check(one, b"a", &quota), check(one, b"b", &quota)];
        let decided = decide(&store, &pair, noon());
        let told: Vec<u32> = decided.outcomes.iter().map(|outcome| outcome.decision.remaining).collect();
        assert_eq!((decided.admitted, told), (true, vec![2, 1]), "{quota:?}");
        assert!(!decide(&store, &pair, noon()).admitted, "one is left, two are asked: {quota:?}");
        assert_eq!(left(&store, pair[0], noon()), 1, "{quota:?}");
        let mixed = [check(two, b"a", &quota), Check { ask: Ask::units(2), ..pair[0] }];
        assert!(!decide(&store, &mixed, noon()).admitted);
        assert_eq!(left(&store, mixed[0], noon()), 3, "{quota:?}");
    }
}

/// A receipt remembers that the charge was shared; the refund goes there.
#[test]
fn a_shared_charge_is_given_back_where_it_was_made() {
    for quota in each_algorithm(3, Span::from_secs(600)) {
        let (store, limit, _) = full(10);
        let asked = Check { ask: Ask::units(2), ..check(limit, b"a", &quota) };
        let decided = decide(&store, &[asked], noon());
        let receipt = decided.outcomes[0].receipt.unwrap();
        assert!(receipt.is_shared());
        store
            .refund(&[Refund { receipt, quota: &quota, give: Give::Charge }], Some(noon()))
            .now()
            .unwrap()
            .unwrap();
        assert_eq!(left(&store, check(limit, b"b", &quota), noon()), 3, "{quota:?}");
        // When the key has a state of its own by now, that keeps the copy: less is given back, never more.
        let decided = decide(&store, &[asked], noon());
        store.reset(limit, &0_u32.to_be_bytes()).now().unwrap().unwrap();
        assert!(admits(&store, check(limit, b"a", &quota), noon()));
        let receipt = decided.outcomes[0].receipt.unwrap();
        store
            .refund(&[Refund { receipt, quota: &quota, give: Give::Charge }], Some(noon()))
            .now()
            .unwrap()
            .unwrap();
        assert_eq!(left(&store, check(limit, b"a", &quota), noon()), 0, "{quota:?}");
    }
}

/// A peek of a newcomer, and one that is refused, take no room.
#[test]
fn only_a_charge_takes_room() {
    for quota in each_algorithm(3, Span::from_secs(600)) {
        let store = store_of(10);
        let limit = store.limit("one");
        for number in 0..100_u32 {
            let key = number.to_be_bytes();
            let asked = check(limit, &key, &quota);
            assert_eq!(left(&store, asked, noon()), 3);
            assert!(!admits(&store, Check { ask: Ask::units(4), ..asked }, noon()));
            assert!(admits(&store, Check { ask: Ask::units(0), ..asked }, noon()));
        }
        assert_eq!(store.usage().keys, 0, "{quota:?}");
        assert!(admits(&store, check(limit, b"k", &quota), noon()));
        assert_eq!(store.usage().keys, 1, "{quota:?}");
    }
}

/// A window that another key opened must not end a key's own too early: one unit in a window of its own, two in a
/// shared one that is nearly over and three in the next would be six within four seconds, where five are the bound.
#[test]
fn a_shared_window_from_the_first_hit_is_never_a_third_one() {
    let quota = Quota::fixed_window(3, Span::from_secs(5), Anchor::FirstHit).unwrap();
    for max_keys in 0..6 {
        let store = store_of(max_keys);
        let limit = store.limit("one");
        let mut admitted = 0;
        for (millis, key, cost) in [
            (0, b"filler", 1),
            (0, b"victim", 1),
            (0, b"second", 1),
            (1_079, b"opener", 1),
            (3_010, b"victim", 1),
            (5_000, b"sweeps", 0),
            (5_000, b"victim", 2),
            (6_079, b"victim", 3),
        ] {
            let at = noon().saturating_add(Span::from_millis(millis));
            let asked = Check { ask: Ask::units(cost), ..check(limit, key, &quota) };
            if admits(&store, asked, at) && key == b"victim" && millis > 0 {
                admitted += cost;
            }
        }
        assert!(
            u128::from(admitted) <= quota.most_in_closed(Span::from_millis(4_999)),
            "{max_keys}: {admitted}"
        );
    }
}
