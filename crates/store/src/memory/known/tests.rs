//! The short way decides, writes and tells what the long way does, and time goes back on neither.

use proptest::prelude::*;
use tidegate_algorithms::{Anchor, Rate};

use super::*;
use crate::{LimitId, MemoryOptions, Store as _};

const KEYS: [&[u8]; 3] = [b"ada", b"grace", b"edsger"];
const LIMITS: [&str; 3] = ["one", "two", "three"];

fn store() -> MemoryStore {
    MemoryStore::with_secret(MemoryOptions::default(), [7; 16])
}

fn noon() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000).unwrap()
}

/// Each algorithm with so many units a span.
fn quotas(units: u64, span: Span) -> [Quota; 7] {
    let rate = Rate::new(units, span).unwrap();
    [
        Quota::fixed_window(units, span, Anchor::Clock).unwrap(),
        Quota::fixed_window(units, span, Anchor::FirstHit).unwrap(),
        Quota::sliding_log(units, span).unwrap(),
        Quota::sliding_counter(units, span).unwrap(),
        Quota::token_bucket(units, rate).unwrap(),
        Quota::leaky_bucket(rate, units).unwrap(),
        Quota::lockout(units, span, span).unwrap(),
    ]
}

/// One check of a batch, by places in the lists of limits, keys and quotas.
#[derive(Debug, Clone)]
struct Asked {
    limit: usize,
    key: usize,
    quota: usize,
    cost: u32,
    shadow: bool,
}

fn batches() -> impl Strategy<Value = Vec<(u64, Vec<Asked>)>> {
    // Of a limit, most keys stay with one quota, so that most are known.
    let quota = prop_oneof![8 => Just(None), 1 => (0..14_usize).prop_map(Some)];
    let asked = (0..LIMITS.len(), 0..KEYS.len(), quota, 0..4_u32, any::<bool>());
    let asked = asked.prop_map(|(limit, key, quota, cost, shadow)| {
        let quota = quota.unwrap_or(limit * 5 + key);
        Asked { limit, key, quota, cost, shadow: shadow && cost == 1 }
    });
    let passed = prop_oneof![2 => Just(0), 3 => 0..10_000_000_u64, 1 => 0..600_000_000_u64];
    let batch = (passed, proptest::collection::vec(asked, 1..4));
    proptest::collection::vec(batch, 1..80)
}

fn checks<'a>(batch: &[Asked], limits: &[LimitId], quotas: &'a [Quota]) -> Vec<Check<'a>> {
    let check = |asked: &Asked| Check {
        limit: limits[asked.limit],
        key: KEYS[asked.key],
        quota: &quotas[asked.quota],
        ask: Ask::units(asked.cost),
        shadow: asked.shadow,
    };
    batch.iter().map(check).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Guards against two ways that part: the same questions get the same answers, numbers and receipts, and leave the
    /// same states, whether time goes on or back. (What is forgotten stays so, whatever the clock says later: windows are
    /// longer than time goes back.)
    #[test]
    fn the_short_way_is_the_long_way(batches in batches(), backwards in any::<bool>()) {
        let span = if backwards { Span::from_secs(86_400) } else { Span::from_secs(600) };
        let all: Vec<Quota> = [quotas(5, span), quotas(9, span)].concat();
        let [short, long] = [store(), store()];
        let limits = LIMITS.map(|name| short.limit(name));
        prop_assert_eq!(limits, LIMITS.map(|name| long.limit(name)));
        let mut now = noon();
        for (micros, batch) in &batches {
            let passed = Span::from_micros(*micros);
            now = if backwards { noon() } else { now }.saturating_add(passed);
            let checks = checks(batch, &limits, &all);
            let told = short.decide(&checks, Some(now)).now().unwrap().unwrap();
            prop_assert_eq!(told, long.answer_batch(&checks, Some(now), false).unwrap(), "{:?}", batch);
            let left = |store: &MemoryStore| store.answer_batch(&checks, Some(now), true).unwrap();
            prop_assert_eq!(left(&short), left(&long), "{:?}", batch);
            for check in checks.iter().filter(|_| backwards) {
                let state = |store: &MemoryStore| store.inspect(check.limit, check.key).now().unwrap().unwrap();
                prop_assert_eq!(state(&short), state(&long), "{:?}", batch);
            }
        }
        // The short way leaves a state that means nothing where it is, as any key may that nobody asks about.
        prop_assert!(!backwards || short.usage() == long.usage());
    }
}

/// Guards against an instant that is read before the lock, or by another core, and lies before one at which a key was
/// charged already: its states would be taken for those of a clock that was set back.
#[test]
fn time_goes_back_for_no_key_and_no_batch() {
    let store = store();
    let quota = Quota::sliding_log(100, Span::from_secs(60)).unwrap();
    let limit = store.limit("one");
    let shard = |key: &[u8]| store.home(store.digester.digest(key)).shard;
    let there: Vec<[u8; 4]> =
        (0..10_000).map(u32::to_be_bytes).filter(|key| shard(key) == shard(b"ada")).take(2).collect();
    let elsewhere = (0..100_u32).map(u32::to_be_bytes).find(|key| shard(key) != shard(b"ada")).unwrap();
    let at = |keys: &[&[u8]]| {
        let mut checks = Vec::new();
        for key in keys {
            checks.push(Check { limit, key, quota: &quota, ask: Ask::ONE, shadow: false });
        }
        store.decide(&checks, None).now().unwrap().unwrap().at
    };
    // What other threads may have been told meanwhile, and far more.
    let later = store.now().saturating_add(Span::from_secs(3_600));
    store.shards.lock_one(shard(b"ada")).unwrap().instant(later);
    // Once as newcomers, once as known keys.
    for _ in 0..2 {
        assert_eq!(at(&[&there[0]]), later);
        assert_eq!(at(&[&there[0], &there[1]]), later);
    }
    assert!(at(&[&elsewhere]) < later, "of another shard nothing was asked then");
    for _ in 0..2 {
        assert_eq!(at(&[&elsewhere, &there[0]]), later, "the latest is the instant of all");
        assert_eq!(at(&[&elsewhere]), later);
    }
}
