//! The books: what is counted as held is what is held, whatever was asked.

use tidegate_store::algorithms::{Ask, Quota, Span};
use tidegate_store::{Check, Give, LimitId, MemoryStore, Refund, Store};

use crate::tools::{after, check, decide, each_algorithm, noon, store, store_of};

/// The most bytes of a table that has nothing to hold.
const EMPTY_TABLE: usize = 4_096;

/// Batches that are charged, refused, named twice, refunded and in error, peeks, and logs that grow.
fn a_busy_round(store: &MemoryStore, limit: LimitId, quota: &Quota) {
    let keys: Vec<[u8; 4]> = (0..600_u32).map(u32::to_be_bytes).collect();
    for (number, pair) in (0_u64..).zip(keys.chunks(2)) {
        let at = noon().saturating_add(Span::from_millis(number));
        let [one, two] = [&pair[0], &pair[1]].map(|key| check(limit, key, quota));
        let greedy = Check { ask: Ask::units(1_000), ..two };
        let watched = Check { shadow: true, ..greedy };
        store.peek(&[one, two], Some(at)).now().unwrap().unwrap();
        assert!(!decide(store, &[one, greedy], at).admitted);
        assert!(
            store
                .decide(&[one, check(LimitId::from_index(99), b"k", quota)], Some(at))
                .now()
                .unwrap()
                .is_err()
        );
        assert!(decide(store, &[watched, two, one, two], at).admitted);
        for later in 1..8 {
            let at = at.saturating_add(Span::from_secs(later));
            let decided = decide(store, &[one], at);
            let receipt = decided.outcomes[0].receipt.filter(|_| later % 3 == 0);
            let refunds: Vec<Refund<'_>> =
                receipt.map(|receipt| Refund { receipt, quota, give: Give::Charge }).into_iter().collect();
            store.refund(&refunds, Some(at)).now().unwrap().unwrap();
        }
    }
}

/// A byte or a key that is counted and not held, or held and not counted, adds up until the store is full of nothing.
#[test]
fn nothing_is_left_on_the_books_when_everything_is_forgotten() {
    for quota in each_algorithm(9, Span::from_secs(3_600)) {
        let store = store_of(4_000);
        let limit = store.limit("one");
        let mut left = Vec::new();
        for _ in 0..4 {
            a_busy_round(&store, limit, &quota);
            assert_eq!(store.usage().keys, 600, "{quota:?}");
            for number in 0..600_u32 {
                store.reset(limit, &number.to_be_bytes()).now().unwrap().unwrap();
            }
            assert_eq!(store.usage().keys, 0, "{quota:?}");
            left.push(store.usage().bytes);
        }
        assert!(left.iter().all(|bytes| *bytes == left[0] && *bytes <= EMPTY_TABLE), "{quota:?}: {left:?}");
    }
}

/// Each newcomer of a batch claims for itself; a table that grows only when all of them are written would grow past
/// the room.
#[test]
fn a_batch_of_many_newcomers_stays_within_the_bytes() {
    for quota in each_algorithm(3, Span::from_secs(3_600)) {
        for max_bytes in (20_000..60_000).step_by(2_000) {
            let store = store(4_000, max_bytes);
            let limit = store.limit("one");
            for block in 0..40_u32 {
                let keys: Vec<[u8; 4]> = (block * 40..(block + 1) * 40).map(u32::to_be_bytes).collect();
                let batch: Vec<Check<'_>> = keys.iter().map(|key| check(limit, key, &quota)).collect();
                decide(&store, &batch, noon());
                let bytes = store.usage().bytes;
                assert!(bytes <= max_bytes, "{quota:?}: {bytes} of {max_bytes} after block {block}");
            }
        }
    }
}

/// What one limit's flood left behind is in nobody's way once it means nothing, also when that limit is asked no more.
#[test]
fn the_dead_of_another_limit_give_their_room_to_the_living() {
    for quota in each_algorithm(3, Span::from_secs(60)) {
        let store = store_of(4_000);
        let [one, two] = ["one", "two"].map(|name| store.limit(name));
        let flood = |limit, keys: std::ops::Range<u32>, at| {
            for key in keys.map(u32::to_be_bytes) {
                decide(&store, &[check(limit, &key, &quota)], at);
            }
        };
        flood(one, 0..4_000, noon());
        let (full, shared) = (store.usage().keys, store.usage().shared_checks);
        assert_eq!(full, 2_000, "{quota:?}");
        flood(two, 0..1_800, after(200));
        assert_eq!(store.usage().shared_checks, shared, "{quota:?}: {:?}", store.usage());
    }
}

/// Who has a place keeps it through a batch although its state is as good as fresh, as through a single check; sent to
/// the shared state, the regulars of a busy limit would pay for the flood that took the rest.
#[test]
fn a_regular_keeps_its_place_when_the_room_is_taken() {
    for quota in each_algorithm(3, Span::from_secs(60)) {
        let long = each_algorithm(3, Span::from_secs(3_600));
        let long = long
            .iter()
            .find(|long| long.algorithm() == quota.algorithm() && same_kind(long, &quota))
            .unwrap();
        let store = store_of(1_000);
        let [one, two] = ["one", "two"].map(|name| store.limit(name));
        let regular = check(one, b"regular", &quota);
        assert!(decide(&store, &[regular], noon()).admitted);
        for (limit, keys) in [(one, 0..499_u32), (two, 0..300)] {
            for key in keys.map(u32::to_be_bytes) {
                decide(&store, &[check(limit, &key, long)], noon());
            }
        }
        let shared = store.usage().shared_checks;
        assert!(shared > 0, "the room is taken");
        let other = 0_u32.to_be_bytes();
        assert!(decide(&store, &[regular, check(one, &other, long)], after(200)).admitted, "{quota:?}");
        assert_eq!(store.usage().shared_checks, shared, "{quota:?}");
        assert!(store.inspect(one, b"regular").now().unwrap().unwrap().is_some(), "{quota:?}");
    }
}

fn same_kind(one: &Quota, other: &Quota) -> bool {
    match (one, other) {
        (Quota::FixedWindow(one), Quota::FixedWindow(other)) => one.anchor() == other.anchor(),
        _ => true,
    }
}
