//! Many threads at once, thousands of rounds: exactly the limit, and no half of a batch.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_store::algorithms::{Quota, Rate, Span, Timestamp};
use tidegate_store::{Check, LimitId, Store};

use crate::tools::{check, decide, left, noon, store_of};

/// A check and a charge in two steps would let a 51st through in some round.
#[test]
fn thirty_two_threads_on_a_limit_of_fifty_get_fifty_in_every_round() {
    const ROUNDS: u32 = 3_000;
    let store = store_of(100_000);
    let limit = store.limit("one");
    let quota = Quota::sliding_log(50, Span::from_secs(60)).unwrap();
    let barrier = Barrier::new(32);
    let admitted: Vec<AtomicU32> = (0..ROUNDS).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for (round, admitted) in (0..ROUNDS).zip(&admitted) {
                    // A barrier each round would time the scheduler; one in some lets threads run into each other.
                    if round % 50 == 0 {
                        barrier.wait();
                    }
                    let key = round.to_be_bytes();
                    for _ in 0..2 {
                        let passed = decide(&store, &[check(limit, &key, &quota)], noon()).admitted;
                        admitted.fetch_add(u32::from(passed), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    for (round, admitted) in admitted.iter().enumerate() {
        assert_eq!(admitted.load(Ordering::Relaxed), 50, "round {round}");
    }
}

/// Batches over the same keys in every order end, and every key holds exactly what the admitted batches took.
#[test]
fn overlapping_batches_never_half_charge() {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 3, 0], [3, 2, 1], [4, 0, 3], [2, 4, 1]];
    let store = store_of(1_000_000);
    let limits: Vec<LimitId> = (0..5).map(|number| store.limit(&format!("limit {number}"))).collect();
    let quota = Quota::sliding_log(7, Span::from_secs(60)).unwrap();
    let barrier = Barrier::new(ORDERS.len());
    for round in 0..1_000_u32 {
        let keys: Vec<[u8; 8]> = (0..5_u64).map(|key| (u64::from(round) << 8 | key).to_be_bytes()).collect();
        let asked = |at: usize| check(limits[at], &keys[at], &quota);
        let taken: Vec<AtomicU32> = (0..5).map(|_| AtomicU32::new(0)).collect();
        if round % 20 != 0 {
            // Most rounds one after the other: they set the scene for the next crowd.
            for order in ORDERS {
                let batch: Vec<Check<'_>> = order.into_iter().map(asked).collect();
                assert!(decide(&store, &batch, noon()).admitted);
            }
            continue;
        }
        std::thread::scope(|scope| {
            for order in ORDERS {
                let (store, barrier, taken, asked) = (&store, &barrier, &taken, &asked);
                scope.spawn(move || {
                    let batch: Vec<Check<'_>> = order.into_iter().map(asked).collect();
                    barrier.wait();
                    for _ in 0..40 {
                        if decide(store, &batch, noon()).admitted {
                            for at in order {
                                taken[at].fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        });
        for (at, taken) in taken.iter().enumerate() {
            let taken = taken.load(Ordering::Relaxed);
            assert_eq!(left(&store, asked(at), noon()), 7 - taken, "round {round}, key {at}");
        }
    }
}

/// Threads that flood past the room, forget and share at once leave the books straight: behind several locks, whose
/// claims on the room meet nowhere but in its counters.
#[test]
fn a_crowd_of_newcomers_never_passes_the_room() {
    const ROOM: usize = 16_384;
    let store = store_of(ROOM);
    let limit = store.limit("one");
    let quota = Quota::token_bucket(1, Rate::new(1, Span::from_secs(4)).unwrap()).unwrap();
    let key = |thread: u32, number: u32| (thread << 16 | number).to_be_bytes();
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let (store, quota) = (&store, &quota);
            scope.spawn(move || {
                for number in 0..5_000_u32 {
                    let at = noon().saturating_add(Span::from_millis(u64::from(number)));
                    let keys = [key(thread, number), key(thread, number | 1 << 15)];
                    let batch = [check(limit, &keys[0], quota), check(limit, &keys[1], quota)];
                    decide(store, &batch, at);
                }
            });
        }
    });
    let usage = store.usage();
    assert!(usage.keys <= ROOM && usage.shared_checks > 0, "{usage:?}");
    for thread in 0..8 {
        for number in 0..1 << 16 {
            store.reset(limit, &key(thread, number)).now().unwrap().unwrap();
        }
    }
    let usage = store.usage();
    assert!(usage.keys == 0 && usage.bytes <= 4 * 4_096, "{usage:?}");
}

/// A clock that is read before the lock is taken lets two batches charge in one order and be dated in the other: to the
/// second one time has gone back.
#[test]
fn charges_of_one_key_are_dated_in_the_order_they_are_made() {
    const CHARGES: usize = 20_000;
    let store = store_of(1_000);
    let quota = Quota::token_bucket(1 << 30, Rate::new(1, Span::from_secs(400 * 86_400)).unwrap()).unwrap();
    let limit = store.limit("hot");
    let start = Barrier::new(8);
    let mut charges: Vec<(u32, Timestamp)> = std::thread::scope(|scope| {
        let spawn = |_| {
            scope.spawn(|| {
                start.wait();
                let charge = |_| {
                    let checks = [check(limit, b"key", &quota)];
                    let decided = store.decide(&checks, None).now().unwrap().unwrap();
                    (decided.outcomes[0].decision.remaining, decided.at)
                };
                (0..CHARGES).map(charge).collect::<Vec<_>>()
            })
        };
        let crowd: Vec<_> = (0..8).map(spawn).collect();
        crowd.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    charges.sort_by_key(|(remaining, _)| std::cmp::Reverse(*remaining));
    assert_eq!(charges.len(), 8 * CHARGES);
    assert!(charges.windows(2).all(|pair| pair[0].0 == pair[1].0 + 1), "every charge takes one unit");
    assert!(charges.is_sorted_by_key(|(_, at)| *at), "no charge is dated before an earlier one");
}
