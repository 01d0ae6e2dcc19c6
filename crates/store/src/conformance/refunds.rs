//! Refunds: what was charged and no more.

use tidegate_algorithms::{Quota, give_back_receipts};

use super::{Bench, Harness, asking, built, check, each_algorithm, noon, rate, secs};
use crate::{ChargeReceipt, Decided, Give, Refund, Store};

fn receipt(decided: &Decided) -> ChargeReceipt {
    decided.outcomes[0].receipt.unwrap_or_else(|| panic!("no receipt: {decided:?}"))
}

/// A charge that is given back leaves what was there before it.
pub fn a_refund_gives_back_what_was_charged(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        let first = bench.decide(&[asking(2, asked)], noon());
        bench.refund(&[Refund { receipt: receipt(&first), quota, give: Give::Charge }], noon());
        assert_eq!(bench.left(asked, noon()), 5, "{quota:?}");
        // Another charge beside it stays.
        bench.decide(&[asked], noon());
        let second = bench.decide(&[asking(3, asked)], noon().saturating_add(secs(1)));
        bench.refund(
            &[Refund { receipt: receipt(&second), quota, give: Give::Charge }],
            noon().saturating_add(secs(1)),
        );
        assert_eq!(bench.left(asked, noon().saturating_add(secs(1))), 4, "{quota:?}");
    }
}

/// However late or often a receipt comes, a key never has more than a fresh one.
pub fn a_refund_never_gives_more_than_there_was(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        let charge = bench.decide(&[asking(3, asked)], noon());
        for days in 0..8 {
            let now = noon().saturating_add(secs(days * 86_400));
            bench.refund(&[Refund { receipt: receipt(&charge), quota, give: Give::Charge }], now);
            assert!(bench.left(asked, now) <= 5, "{quota:?}");
        }
    }
    // What flowed in since the charge is not given a second time.
    let bench = Bench::new(harness);
    let quota = built(Quota::token_bucket(10, rate(1, secs(1))));
    let asked = check(bench.limit("two"), b"k", &quota);
    let charge = bench.decide(&[asking(4, asked)], noon());
    let later = noon().saturating_add(secs(5));
    bench.decide(&[asking(10, asked)], later);
    bench.refund(&[Refund { receipt: receipt(&charge), quota: &quota, give: Give::Charge }], later);
    assert_eq!(bench.left(asked, later), 0);
}

/// The receipts of a batch give back each limit's charge.
pub fn a_refund_of_a_batch_gives_back_each_charge(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let [one, two] = ["one", "two"].map(|name| bench.limit(name));
        let checks = [check(one, b"a", quota), asking(2, check(two, b"b", quota))];
        let decided = bench.decide(&checks, noon());
        let refunds: Vec<Refund<'_>> = decided
            .outcomes
            .iter()
            .filter_map(|outcome| Some(Refund { receipt: outcome.receipt?, quota, give: Give::Charge }))
            .collect();
        bench.refund(&refunds, noon());
        assert_eq!((bench.left(checks[0], noon()), bench.left(checks[1], noon())), (5, 5), "{quota:?}");
    }
}

/// A refund for a key that was reset meanwhile finds nothing and makes nothing.
pub fn a_refund_of_a_forgotten_key_gives_nothing(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        let charge = bench.decide(&[asking(2, asked)], noon());
        bench.wait(bench.store.reset(asked.limit, asked.key));
        bench.refund(&[Refund { receipt: receipt(&charge), quota, give: Give::Charge }], noon());
        assert_eq!(bench.drain(asked, noon()), 5, "{quota:?}");
    }
}

/// Once the state was carried over to another plan, a charge under the old one can no longer be told apart: whether the
/// algorithm changed or its numbers did, nothing is given.
pub fn a_refund_after_a_change_of_plan_gives_nothing(harness: &impl Harness) {
    for old in &each_algorithm(5) {
        for new in &each_algorithm(6) {
            let bench = Bench::new(harness);
            let limit = bench.limit("one");
            let charge = bench.decide(&[asking(2, check(limit, b"k", old))], noon());
            let now = check(limit, b"k", new);
            assert!(bench.decide(&[now], noon()).admitted, "{old:?} to {new:?}");
            let left = bench.left(now, noon());
            for quota in
                [old, new].into_iter().filter(|quota| *quota == old || !receipt(&charge).is_of(quota))
            {
                let refund = Refund { receipt: receipt(&charge), quota, give: Give::Charge };
                bench.refund(&[refund], noon());
                assert_eq!(bench.left(now, noon()), left, "{old:?} to {new:?}");
            }
        }
    }
}

/// A success that resets leaves nothing of the key at that limit, whatever plan it is on by then, and everything of
/// others; charges beside it in the same call are given back one by one.
pub fn a_reset_by_receipt_forgets_all_of_one_key(harness: &impl Harness) {
    for old in &each_algorithm(5) {
        for new in &each_algorithm(5) {
            let bench = Bench::new(harness);
            let [one, two] = ["one", "two"].map(|name| bench.limit(name));
            let (asked, other) = (check(one, b"k", old), check(one, b"other", old));
            let charge = bench.decide(&[asked, asking(2, check(two, b"k", old)), other], noon());
            bench.decide(&[asking(2, asked), check(two, b"k", old)], noon());
            bench.decide(&[check(one, b"k", new)], noon());
            let receipts: Vec<ChargeReceipt> =
                charge.outcomes.iter().filter_map(|outcome| outcome.receipt).collect();
            let give = |at: usize, give| Refund { receipt: receipts[at], quota: old, give };
            bench.refund(&[give(0, Give::All), give(1, Give::All)], noon());
            for quota in [old, new] {
                assert_eq!(bench.left(check(one, b"k", quota), noon()), 5, "{old:?} to {new:?}");
                assert_eq!(bench.left(check(two, b"k", quota), noon()), 5, "{old:?} to {new:?}");
            }
            assert_eq!(bench.left(other, noon()), 4, "{old:?}");
            assert_eq!(bench.wait(bench.store.inspect(one, b"k")), None);
            bench.refund(&[give(2, Give::All), give(0, Give::All)], noon());
            assert_eq!(bench.left(other, noon()), 5, "{old:?}");
        }
    }
}

/// Charges made at once and all given back leave nothing, whatever was in between.
///
/// In any order; of a queue, whose charges are given back from its end, the newest first.
pub fn a_thousand_charges_at_once_that_are_all_given_back_leave_nothing(harness: &impl Harness) {
    const THREADS: usize = 8;
    for quota in &each_algorithm(1_000) {
        let bench = Bench::new(harness);
        let asked = check(bench.limit("one"), b"k", quota);
        let in_any_order = !matches!(quota, Quota::LeakyBucket(_));
        let give = |receipt| [Refund { receipt, quota, give: Give::Charge }];
        let charge = || {
            let charges = (0..1_000 / THREADS).map(|_| bench.decide(&[asked], noon()));
            let charges: Vec<(u32, ChargeReceipt)> =
                charges.map(|it| (it.outcomes[0].decision.remaining, receipt(&it))).collect();
            if in_any_order {
                for (_, receipt) in &charges {
                    bench.refund(&give(*receipt), noon());
                }
            }
            charges
        };
        let mut charges: Vec<(u32, ChargeReceipt)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(charge)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        assert_eq!(charges.len(), 1_000, "{quota:?}");
        if !in_any_order {
            assert_eq!(bench.left(asked, noon()), 0, "{quota:?}");
            charges.sort_by_key(|(remaining, _)| *remaining);
            for (_, receipt) in &charges {
                bench.refund(&give(*receipt), noon());
            }
        }
        assert_eq!(bench.left(asked, noon()), 1_000, "{quota:?}");
        assert!(bench.decide(&[asking(1_000, asked)], noon()).admitted, "{quota:?}");
    }
}

/// Units are given back without a receipt, by the name the store has for the key: as many as the state holds and no more.
pub fn what_a_state_holds_is_given_back_by_the_keys_name(harness: &impl Harness) {
    for quota in &each_algorithm(5) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        let asked = check(limit, b"k", quota);
        let give_back = |units| {
            let Some(state) = bench.inspect(limit, b"k") else { return };
            let key = bench.store.digest(limit, b"k").unwrap_or_else(|| panic!("no name for a key"));
            let receipts = give_back_receipts(quota, &state, units, noon());
            let refunds: Vec<Refund<'_>> = receipts
                .into_iter()
                .map(|receipt| {
                    let receipt = ChargeReceipt::new(limit, key, quota, receipt);
                    Refund { receipt, quota, give: Give::Charge }
                })
                .collect();
            bench.refund(&refunds, noon());
        };
        give_back(1);
        assert_eq!(bench.left(asked, noon()), 5, "{quota:?}");
        bench.decide(&[asked], noon());
        let charged = bench.decide(&[asked], noon());
        assert_eq!(Some(receipt(&charged).key()), bench.store.digest(limit, b"k"), "{quota:?}");
        let queue = matches!(quota, Quota::LeakyBucket(_));
        give_back(1);
        assert_eq!(bench.left(asked, noon()), if queue { 3 } else { 4 }, "{quota:?}");
        give_back(u32::MAX);
        give_back(u32::MAX);
        assert_eq!(bench.left(asked, noon()), if queue { 3 } else { 5 }, "{quota:?}");
        let left = bench.left(asked, noon());
        assert_eq!(bench.drain(asked, noon()), left, "{quota:?}");
    }
}
