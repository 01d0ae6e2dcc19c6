//! What takes two locks in known places to happen.

use tidegate_algorithms::{Quota, Span};

use super::super::{MemoryOptions, MemoryStore};
use super::*;
use crate::store::Store;

const NOON: u64 = 1_700_000_000;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros((NOON + seconds) * 1_000_000).unwrap()
}

fn log(limit: u64, seconds: u64) -> Quota {
    Quota::sliding_log(limit, Span::from_secs(seconds)).unwrap()
}

struct Bench {
    store: MemoryStore,
    limit: crate::LimitId,
}

impl Bench {
    fn check<'a>(&self, key: &'a [u8], quota: &'a Quota) -> Check<'a> {
        Check { limit: self.limit, key, quota, ask: Ask::ONE, shadow: false }
    }

    fn admits(&self, checks: &[Check<'_>], seconds: u64) -> bool {
        self.store.decide(checks, Some(at(seconds))).now().unwrap().unwrap().admitted
    }

    fn shard(&self, key: &[u8]) -> usize {
        self.store.home(self.store.digester.digest(key)).shard
    }

    fn key_in(&self, shard: usize, from: u32) -> [u8; 4] {
        let mut keys = (from..).map(u32::to_be_bytes);
        keys.find(|key| self.shard(key) == shard).unwrap()
    }
}

/// A copy of the shared log taken after the same batch had charged it would forget live charges, as many as it held
/// dead ones: fresh quota for whoever leaves.
#[test]
fn a_copy_is_taken_before_the_batch_charges_the_shared_state() {
    let options = MemoryOptions { max_keys: 8_192, max_bytes: 1 << 30 };
    let store = MemoryStore::with_secret(options, [3; 16]);
    let bench = Bench { limit: store.limit("one"), store };
    assert_eq!(bench.store.shards.count(), 2);
    // Full: behind the first lock of keys that stay, behind the second of keys that are soon forgotten.
    let (stays, goes, quota) = (log(1, 3_600), log(1, 1), log(3, 10));
    for key in (0..8_192_u32).map(u32::to_be_bytes) {
        let filler = if bench.shard(&key) == 0 { &stays } else { &goes };
        assert!(bench.admits(&[bench.check(&key, filler)], 0));
    }
    assert_eq!(bench.store.usage().keys, 8_192);
    let (shares, leaves) = (bench.key_in(0, 10_000), bench.key_in(1, 10_000));
    for seconds in [0, 5, 5] {
        assert!(bench.admits(&[bench.check(&shares, &quota)], seconds));
    }
    assert_eq!(bench.store.usage().shared_checks, 3);
    // The first charge has left the window; the other two have not.
    assert!(bench.admits(&[bench.check(&shares, &quota), bench.check(&leaves, &quota)], 11));
    let own = bench.store.inspect(bench.limit, &leaves).now().unwrap().unwrap();
    assert!(own.is_some(), "the second key found room");
    assert!(!bench.admits(&[bench.check(&leaves, &quota)], 11), "three are charged: {own:?}");
}
