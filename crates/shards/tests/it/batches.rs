//! Overlapping batches: never stuck, never half charged, whatever the interleaving.

use shuttle::sync::Arc;
use shuttle::{check_dfs, check_pct, check_random, thread};
use tidegate_shards::Lock;

use crate::model::{charge, counters, left};

/// Two batches over the same two shards, named in opposite orders, with room for one.
fn opposite_batches() {
    let counters = counters(2, 1);
    let other = Arc::clone(&counters);
    let thread = thread::spawn(move || charge(&other, &[1, 0]));
    let here = charge(&counters, &[0, 1]);
    let there = thread.join().unwrap();
    assert!(here ^ there, "room for exactly one");
    assert_eq!(left(&counters), [0, 0], "never half charged");
    assert_eq!(*counters.lock_last(), 1);
}

#[test]
fn opposite_batches_end_in_every_interleaving() {
    check_dfs(opposite_batches, None);
}

#[test]
fn a_shard_named_twice_is_locked_once() {
    check_dfs(
        || {
            let counters = counters(2, 2);
            assert!(charge(&counters, &[1, 1, 0]) || left(&counters) == [2, 2]);
        },
        None,
    );
}

#[test]
fn an_index_past_the_end_is_passed_over() {
    check_dfs(|| assert!(!charge(&counters(2, 1), &[0, 7])), None);
}

/// Four threads on five shards, each batch in an order of its own, some single locks and the last one among them.
fn a_crowd() {
    const BATCHES: [&[usize]; 4] = [&[3, 1, 0], &[0, 3], &[1, 4, 3], &[4, 0]];
    let counters = counters(5, 2);
    let threads: Vec<_> = BATCHES
        .iter()
        .map(|batch| {
            let counters = Arc::clone(&counters);
            thread::spawn(move || {
                let admitted = u32::from(charge(&counters, batch)) + u32::from(charge(&counters, batch));
                let mut held = counters.lock_many(&[2].into_iter().collect());
                *held.last() += 1;
                if let Some(one) = held.shard(2) {
                    *one -= u32::from(*one > 0);
                }
                admitted
            })
        })
        .collect();
    let admitted: Vec<u32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let mut expected = [2_u32, 2, 0, 2, 2];
    for (batch, admitted) in BATCHES.iter().zip(&admitted) {
        for index in *batch {
            expected[*index] -= admitted;
        }
    }
    assert_eq!(left(&counters), expected, "each admitted batch was charged wholly, and no other");
    let refused = 8 - admitted.iter().sum::<u32>();
    assert_eq!(*counters.lock_last(), 4 + refused);
}

#[test]
fn a_crowd_never_locks_up_nor_half_charges_at_random() {
    check_random(a_crowd, 4_000);
}

#[test]
fn a_crowd_never_locks_up_nor_half_charges_under_rare_preemptions() {
    check_pct(a_crowd, 4_000, 3);
}

#[test]
fn the_real_lock_stands_where_the_modelled_one_did() {
    let lock = <parking_lot::Mutex<u8> as Lock>::new(1);
    *Lock::lock(&lock) += 1;
    assert_eq!(*Lock::lock(&lock), 2);
}
