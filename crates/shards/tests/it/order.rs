//! The checker itself: it finds the deadlock and the half charge that this crate exists to make impossible.

use shuttle::sync::Arc;
use shuttle::{check_dfs, thread};

use crate::model::{Counters, counters, left};

/// Charges in the order given, as a store without an order would.
fn charge_in_the_order_given(counters: &Counters, first: usize, second: usize) {
    let mut one = counters.lock_one(first).unwrap();
    let mut other = counters.lock_one(second).unwrap();
    *one -= 1;
    *other -= 1;
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_wrong_order_is_found_as_a_deadlock() {
    check_dfs(
        || {
            let counters = counters(2, 2);
            let other = Arc::clone(&counters);
            let thread = thread::spawn(move || charge_in_the_order_given(&other, 1, 0));
            charge_in_the_order_given(&counters, 0, 1);
            thread.join().unwrap();
        },
        None,
    );
}

#[test]
#[should_panic(expected = "half charged")]
fn a_batch_that_lets_go_between_its_charges_is_found_half_charged() {
    check_dfs(
        || {
            let counters = counters(2, 1);
            let other = Arc::clone(&counters);
            let thread = thread::spawn(move || {
                for index in [0, 1] {
                    *other.lock_one(index).unwrap() -= 1;
                }
            });
            let held = {
                let mut both = counters.lock_many(&[0, 1].into_iter().collect());
                [*both.shard(0).unwrap(), *both.shard(1).unwrap()]
            };
            assert_eq!(held[0], held[1], "half charged");
            thread.join().unwrap();
            assert_eq!(left(&counters), [0, 0]);
        },
        None,
    );
}
