//! Many threads at once: exactly the limit, and no half of a batch.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_algorithms::Quota;

use super::{Bench, Harness, built, check, day, noon};

/// Threads that ask together get exactly the limit (check and charge are one step).
pub fn threads_together_get_no_more_than_the_limit(harness: &impl Harness) {
    const THREADS: usize = 16;
    const ASKS: usize = 6;
    let bench = Bench::new(harness);
    let quota = built(Quota::sliding_log(50, day()));
    let limit = bench.limit("one");
    for round in 0..10_u32 {
        let key = round.to_be_bytes();
        let (barrier, admitted) = (Barrier::new(THREADS), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..ASKS {
                        let passed = bench.decide(&[check(limit, &key, &quota)], noon()).admitted;
                        admitted.fetch_add(u32::from(passed), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(admitted.load(Ordering::Relaxed), 50, "round {round}");
    }
}

/// Two batches that name the same keys in opposite orders end, and leave both keys charged alike.
pub fn overlapping_batches_are_never_half_charged(harness: &impl Harness) {
    let bench = Bench::new(harness);
    let quota = built(Quota::sliding_log(25, day()));
    let [one, two] = ["one", "two"].map(|name| bench.limit(name));
    for round in 0..10_u32 {
        let keys = [round.to_be_bytes(), (round + 1_000).to_be_bytes()];
        let forth = [check(one, &keys[0], &quota), check(two, &keys[1], &quota)];
        let back = [forth[1], forth[0]];
        let admitted = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for batch in [&forth, &back, &forth, &back] {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let passed = bench.decide(batch, noon()).admitted;
                        admitted.fetch_add(u32::from(passed), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(admitted.load(Ordering::Relaxed), 25, "round {round}");
        assert_eq!((bench.left(forth[0], noon()), bench.left(forth[1], noon())), (0, 0), "round {round}");
    }
}
