//! Lockouts: attempts, the lock after the last, and what opens it.

use tidegate_algorithms::{Answer, Quota, Retry, Span, Timestamp};

use super::{Bench, Harness, asking, built, check, noon, secs};
use crate::{Decided, Give, Refund, Store};

/// Five attempts in ten minutes, then half an hour of lock.
fn lockout() -> Quota {
    built(Quota::lockout(5, secs(600), secs(1_800)))
}

fn after(seconds: u64) -> Timestamp {
    noon().saturating_add(secs(seconds))
}

fn wait(decided: &Decided) -> Option<Span> {
    match decided.outcomes[0].decision.answer {
        Answer::Refuse(Retry::After(wait)) => Some(wait),
        _ => None,
    }
}

/// The last attempt passes and locks from its own instant, not from the first; what is refused meanwhile does not make
/// the lock longer, and when it is over all is forgotten.
pub fn a_lockout_locks_with_its_last_attempt(harness: &impl Harness) {
    let (bench, quota) = (Bench::new(harness), lockout());
    let asked = check(bench.limit("one"), b"k", &quota);
    for seconds in [0, 60, 120, 180, 599] {
        assert!(bench.decide(&[asked], after(seconds)).admitted);
    }
    for seconds in [599, 600, 1_199, 2_398] {
        assert_eq!(wait(&bench.decide(&[asked], after(seconds))), Some(secs(599 + 1_800 - seconds)));
    }
    assert_eq!(bench.drain(asked, after(2_399)), 5);
}

/// Fewer attempts than lock are forgotten with their window.
pub fn attempts_are_forgotten_with_their_window(harness: &impl Harness) {
    let (bench, quota) = (Bench::new(harness), lockout());
    let asked = check(bench.limit("one"), b"k", &quota);
    for window in 0..4 {
        assert!(bench.decide(&[asking(4, asked)], after(600 * window)).admitted);
        assert_eq!(bench.left(asked, after(600 * window + 599)), 1);
        assert_eq!(bench.left(asked, after(600 * window + 600)), 5);
    }
}

/// A charge that is given back takes the lock with it that it began, and leaves the attempts before it.
pub fn a_refund_undoes_the_lock_it_began(harness: &impl Harness) {
    let (bench, quota) = (Bench::new(harness), lockout());
    let asked = check(bench.limit("one"), b"k", &quota);
    bench.decide(&[asking(4, asked)], noon());
    let last = bench.decide(&[asked], after(10));
    assert_eq!(wait(&bench.decide(&[asked], after(20))), Some(secs(1_790)));
    let receipt = last.outcomes[0].receipt.unwrap_or_else(|| panic!("no receipt: {last:?}"));
    bench.refund(&[Refund { receipt, quota: &quota, give: Give::Charge }], after(30));
    assert_eq!(bench.left(asked, after(30)), 1);
    assert!(bench.decide(&[asked], after(40)).admitted);
    assert_eq!(wait(&bench.decide(&[asked], after(40))), Some(secs(1_800)), "locked anew from then on");
}

/// The right code amid wrong ones sets the count back to nothing, and opens a lock that another attempt has begun
/// meanwhile.
pub fn a_success_opens_the_lock(harness: &impl Harness) {
    let (bench, quota) = (Bench::new(harness), lockout());
    let asked = check(bench.limit("one"), b"k", &quota);
    let right = bench.decide(&[asked], noon());
    assert_eq!(bench.drain(asked, after(1)), 4);
    assert!(!bench.decide(&[asked], after(2)).admitted);
    let receipt = right.outcomes[0].receipt.unwrap_or_else(|| panic!("no receipt: {right:?}"));
    bench.refund(&[Refund { receipt, quota: &quota, give: Give::All }], after(3));
    assert_eq!(bench.wait(bench.store.inspect(asked.limit, b"k")), None);
    assert_eq!(bench.drain(asked, after(3)), 5);
}
