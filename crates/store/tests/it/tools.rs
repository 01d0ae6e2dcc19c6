//! What the tests of the memory store share.

use tidegate_store::algorithms::{Anchor, Ask, Quota, Rate, Span, Timestamp};
use tidegate_store::{Check, Decided, LimitId, MemoryOptions, MemoryStore, Store};

pub(crate) fn store(max_keys: usize, max_bytes: usize) -> MemoryStore {
    MemoryStore::with_secret(MemoryOptions { max_keys, max_bytes }, *b"a secret of test")
}

/// A store whose bytes are no concern.
pub(crate) fn store_of(max_keys: usize) -> MemoryStore {
    store(max_keys, 1 << 30)
}

/// Noon of a day, half a day from the edges of a window on the clock.
pub(crate) fn noon() -> Timestamp {
    Timestamp::from_micros((1_700_000_000 / 86_400 * 86_400 + 43_200) * 1_000_000).unwrap()
}

pub(crate) fn after(seconds: u64) -> Timestamp {
    noon().saturating_add(Span::from_secs(seconds))
}

/// Each algorithm with `units` a `span`, all of them at once.
pub(crate) fn each_algorithm(units: u64, span: Span) -> [Quota; 7] {
    let rate = Rate::new(units, span).unwrap();
    [
        Quota::fixed_window(units, span, Anchor::Clock).unwrap(),
        Quota::fixed_window(units, span, Anchor::FirstHit).unwrap(),
        Quota::sliding_log(units, span).unwrap(),
        Quota::sliding_counter(units, span).unwrap(),
        Quota::token_bucket(units, rate).unwrap(),
        Quota::leaky_bucket(rate, units - 1).unwrap(),
        Quota::lockout(units, span, span).unwrap(),
    ]
}

pub(crate) fn check<'a>(limit: LimitId, key: &'a [u8], quota: &'a Quota) -> Check<'a> {
    Check { limit, key, quota, ask: Ask::ONE, shadow: false }
}

pub(crate) fn decide(store: &MemoryStore, checks: &[Check<'_>], at: Timestamp) -> Decided {
    store.decide(checks, Some(at)).now().unwrap().unwrap()
}

pub(crate) fn admits(store: &MemoryStore, asked: Check<'_>, at: Timestamp) -> bool {
    decide(store, &[asked], at).admitted
}

/// Returns the units a key would be admitted at once; nothing is taken.
pub(crate) fn left(store: &MemoryStore, asked: Check<'_>, at: Timestamp) -> u32 {
    let decided = store.peek(&[asked], Some(at)).now().unwrap().unwrap();
    decided.outcomes[0].decision.remaining
}

/// Charges one unit to each of `count` keys nobody asked for before.
pub(crate) fn flood(
    store: &MemoryStore,
    limit: LimitId,
    quota: &Quota,
    keys: std::ops::Range<u32>,
    at: Timestamp,
) {
    for number in keys {
        decide(store, &[check(limit, &number.to_be_bytes(), quota)], at);
    }
}
