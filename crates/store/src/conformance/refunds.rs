//! Refunds: what was charged and no more.

use tidegate_algorithms::Quota;

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

/// A receipt of one algorithm gives nothing at another, even where that one holds a state.
pub fn a_refund_under_another_algorithm_gives_nothing(harness: &impl Harness) {
    let quotas = each_algorithm(5);
    for (old, new) in quotas.iter().zip(quotas.iter().cycle().skip(1)) {
        let bench = Bench::new(harness);
        let limit = bench.limit("one");
        let charge = bench.decide(&[asking(2, check(limit, b"k", old))], noon());
        let now = check(limit, b"k", new);
        bench.decide(&[asking(4, now)], noon());
        bench.refund(&[Refund { receipt: receipt(&charge), quota: new, give: Give::Charge }], noon());
        assert_eq!(bench.left(now, noon()), 1, "{old:?} to {new:?}");
    }
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
