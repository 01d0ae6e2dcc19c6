//! A cluster whose slots move and whose nodes die.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate_redis_kit::{Cluster, Server, soon};
use tidegate_store::algorithms::{Anchor, Ask, Quota, Span};
use tidegate_store::{Check, Decided, Store, StoreError};
use tidegate_store_redis::RedisStore;

use crate::tools::{SOON, an_hour, cluster_of, connect, one, options, runtime};

/// Asks about several keys at once, which lie on several nodes.
async fn batch(store: &RedisStore, keys: &[(&[u8], &Quota)]) -> bool {
    let limit = store.limit("batch");
    let checks: Vec<Check<'_>> =
        keys.iter().map(|(key, quota)| Check { limit, key, quota, ask: Ask::ONE, shadow: false }).collect();
    store.decide(&checks, None).await.unwrap().admitted
}

async fn remaining(store: &RedisStore, key: &[u8], quota: &Quota) -> u32 {
    let limit = store.limit("batch");
    let check = Check { limit, key, quota, ask: Ask::units(0), shadow: false };
    store.peek(&[check], None).await.unwrap().outcomes[0].decision.remaining
}

/// A charge on one node that stays although another node refused would lock out who did nothing.
#[test]
fn what_one_node_refuses_no_other_keeps() {
    let cluster = Cluster::start();
    let store = connect(options(cluster_of(&cluster)));
    let (small, large) = (an_hour(3), an_hour(1_000));
    runtime().block_on(async {
        let keys: Vec<[u8; 1]> = (0..12).map(|key| [key]).collect();
        let mut all: Vec<(&[u8], &Quota)> = keys.iter().map(|key| (key.as_slice(), &large)).collect();
        all.push((b"scarce", &small));
        for _ in 0..3 {
            assert!(batch(&store, &all).await);
        }
        for _ in 0..20 {
            assert!(!batch(&store, &all).await);
        }
        for key in &keys {
            assert_eq!(remaining(&store, key, &large).await, 997, "given back, and nothing more");
        }
        assert_eq!(remaining(&store, b"scarce", &small).await, 0);
    });
}

/// A slot that moves while requests run on it: each is decided once, by whoever has the slot then.
#[test]
fn a_slot_that_moves_under_load_loses_and_doubles_nothing() {
    let cluster = Cluster::start();
    let (store, prefix) = store_and_prefix(&cluster);
    // A count: a log of so many entries would be slow.
    let quota = Quota::fixed_window(1_000_000, Span::from_secs(86_400), Anchor::FirstHit).unwrap();
    let mut names = Names::new(&cluster, &store, &prefix);
    let (slot, [one_key, other_key]) = names.pair(&quota);
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            runtime().spawn(async move {
                let mut admitted = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    let both: [(&[u8], &Quota); 2] = [(&one_key, &quota), (&other_key, &quota)];
                    assert!(batch(&store, &both).await);
                    admitted += 1;
                }
                admitted
            })
        })
        .collect();
    migrate(&cluster, slot, &store);
    stop.store(true, Ordering::Relaxed);
    runtime().block_on(async {
        let mut admitted = 1;
        for task in load {
            admitted += task.await.unwrap();
        }
        for key in [one_key, other_key] {
            let left = remaining(&store, &key, &quota).await;
            assert_eq!(left, 1_000_000 - admitted, "each admission is counted once");
        }
    });
}

fn store_and_prefix(cluster: &Cluster) -> (RedisStore, String) {
    let options = options(cluster_of(cluster));
    let prefix = options.prefix.clone();
    (connect(options), prefix)
}

type Name = [u8; 2];

/// Keys of the limit "batch", each charged once, and the slots they lie in as Redis says.
struct Names<'c> {
    nodes: Vec<redis::Connection>,
    store: &'c RedisStore,
    prefix: &'c str,
    seen: HashSet<Vec<u8>>,
    next: u16,
}

impl<'c> Names<'c> {
    fn new(cluster: &Cluster, store: &'c RedisStore, prefix: &'c str) -> Self {
        let nodes = cluster.nodes[..3].iter().map(Server::connection).collect();
        Self { nodes, store, prefix, seen: HashSet::new(), next: 0 }
    }

    fn next(&mut self, quota: &Quota) -> (u16, Name) {
        let name = self.next.to_be_bytes();
        self.next += 1;
        assert!(runtime().block_on(batch(self.store, &[(&name, quota)])));
        for node in &mut self.nodes {
            let pattern = format!("{}:???????????", self.prefix);
            let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg(pattern).query(node).unwrap();
            if let Some(key) = keys.into_iter().find(|key| !self.seen.contains(key)) {
                let slot = redis::cmd("CLUSTER").arg("KEYSLOT").arg(&key).query(node).unwrap();
                self.seen.insert(key);
                return (slot, name);
            }
        }
        panic!("the key is on no node");
    }

    /// Returns two keys that lie in one slot.
    fn pair(&mut self, quota: &Quota) -> (u16, [Name; 2]) {
        let mut known = HashMap::new();
        for _ in 0..2_000 {
            let (slot, name) = self.next(quota);
            if let Some(other) = known.insert(slot, name) {
                return (slot, [other, name]);
            }
        }
        panic!("of 2,000 keys no two lie in one of 16,384 slots");
    }

    /// Returns a key at each of the three primaries, in the order of their slots.
    fn at_each(&mut self, quota: &Quota) -> [Name; 3] {
        let mut found = [None; 3];
        while found.contains(&None) {
            let (slot, name) = self.next(quota);
            found[usize::from(slot > 5_460) + usize::from(slot > 10_922)] = Some(name);
        }
        found.map(Option::unwrap)
    }
}

fn error_count(store: &RedisStore, name: &str) -> u64 {
    store.measures().errors.iter().find(|(held, _)| *held == name).unwrap().1
}

fn event_count(store: &RedisStore, name: &str) -> u64 {
    store.measures().events.iter().find(|(held, _)| *held == name).unwrap().1
}

/// Moves a slot of two keys to the next primary, as an operator's tool does, and stays at each stage until requests met it.
fn migrate(cluster: &Cluster, slot: u16, store: &RedisStore) {
    let from = (0..3).find(|at| cluster.nodes[*at].port() == cluster.primary_of(slot).port()).unwrap();
    let to = (from + 1) % 3;
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[to]);
    target.ask(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)));
    source.ask(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)));
    let mut connection = source.connection();
    let mut question = redis::cmd("CLUSTER");
    question.arg("GETKEYSINSLOT").arg(slot).arg(100);
    let keys: Vec<Vec<u8>> = question.query(&mut connection).unwrap();
    assert_eq!(keys.len(), 2);
    for (place, key) in keys.iter().enumerate() {
        let mut question = redis::cmd("MIGRATE");
        question.arg("127.0.0.1").arg(target.port()).arg(key).arg(0).arg(5_000);
        assert_eq!(question.query::<redis::Value>(&mut connection).unwrap(), redis::Value::Okay);
        if place == 0 {
            let before = error_count(store, "tryagain");
            // More often than a question may go from node to node.
            soon("TRYAGAIN", || (error_count(store, "tryagain") > before + 100).then_some(()));
        }
    }
    let before = event_count(store, "redirections");
    soon("ASK", || (event_count(store, "redirections") > before).then_some(()));
    assert!(error_count(store, "ask") > 0);
    for node in [target, source].into_iter().chain(&cluster.nodes[..3]) {
        node.ask(&format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)));
    }
    soon("MOVED", || (error_count(store, "moved") > 0).then_some(()));
}

async fn decide(store: &RedisStore, keys: &[(Name, Quota, bool)]) -> Result<Decided, StoreError> {
    let limit = store.limit("batch");
    let check = |(key, quota, shadow)| Check { limit, key, quota, ask: Ask::ONE, shadow };
    let checks: Vec<Check<'_>> =
        keys.iter().map(|(key, quota, shadow)| check((key.as_slice(), quota, *shadow))).collect();
    store.decide(&checks, None).await
}

/// Asks until a key has so many units left.
async fn until_left(store: &RedisStore, key: Name, quota: &Quota, units: u32) {
    let back = async {
        while remaining(store, &key, quota).await != units {
            crate::tools::a_moment().await;
        }
    };
    tokio::time::timeout(SOON, back).await.expect("what was charged is given back");
}

/// A node that hangs has the question: whether it counted is not known, and nobody may be told that it did not. What
/// earlier slots took is given back all the same, and later ones are left alone.
#[test]
fn a_node_that_hangs_leaves_its_own_charge_in_doubt_and_no_other() {
    let cluster = Cluster::start();
    let mut options = options(cluster_of(&cluster));
    options.timeout = Duration::from_millis(500);
    let prefix = options.prefix.clone();
    let store = connect(options);
    let quota = an_hour(20);
    let keys = Names::new(&cluster, &store, &prefix).at_each(&quota);
    // Its replica too: nobody takes over.
    for node in [1, 4] {
        cluster.nodes[node].freeze();
    }
    let asked = keys.map(|key| (key, quota, false));
    let error = runtime().block_on(decide(&store, &asked)).unwrap_err();
    assert!(error.may_have_counted(), "{error}");
    runtime().block_on(until_left(&store, keys[0], &quota, 19));
    assert_eq!(runtime().block_on(remaining(&store, &keys[2], &quota)), 19);
    for node in [1, 4] {
        cluster.nodes[node].thaw();
    }
    let mut admitted = 1;
    let drained = async {
        loop {
            match decide(&store, &asked[1..2]).await {
                Ok(decided) if decided.admitted => admitted += 1,
                Ok(_) => return,
                Err(_) => crate::tools::a_moment().await,
            }
        }
    };
    runtime().block_on(async { tokio::time::timeout(SOON, drained).await }).expect("it answers again");
    assert!(admitted <= 20, "{admitted}");
}

/// Where nothing was sent and everything was given back, an error that says "perhaps" would keep a caller from asking again.
#[test]
fn a_node_that_is_gone_leaves_nothing_counted_and_says_so() {
    let mut cluster = Cluster::start();
    let (store, prefix) = store_and_prefix(&cluster);
    let quota = an_hour(20);
    let keys = Names::new(&cluster, &store, &prefix).at_each(&quota);
    for node in [4, 1] {
        cluster.nodes[node].kill();
    }
    let asked = keys.map(|key| (key, quota, false));
    runtime().block_on(async {
        let known = async {
            // The first may have been on its way when the connection went.
            while decide(&store, &asked).await.unwrap_err().may_have_counted() {
                until_left(&store, keys[0], &quota, 19).await;
            }
        };
        tokio::time::timeout(SOON, known).await.expect("the store notices");
        for key in [keys[0], keys[2]] {
            assert_eq!(remaining(&store, &key, &quota).await, 19);
        }
    });
}

/// A shadow check at another node than the enforced one neither blocks nor is charged alone.
#[test]
fn shadow_checks_at_other_nodes_are_charged_as_at_one() {
    let cluster = Cluster::start();
    let (store, prefix) = store_and_prefix(&cluster);
    let (open, shut) = (an_hour(20), an_hour(1));
    let mut names = Names::new(&cluster, &store, &prefix);
    let [first, _, last] = names.at_each(&open);
    // Full: all they admit has been taken.
    let [no_first, _, no_last] = names.at_each(&shut);
    runtime().block_on(async {
        let mut left = [19, 19];
        for (asked, admitted, taken) in [
            ([(first, open, true), (last, open, false)], true, [1, 1]),
            ([(first, open, false), (no_last, shut, true)], true, [1, 0]),
            ([(no_first, shut, true), (last, open, false)], true, [0, 1]),
            ([(first, open, true), (no_last, shut, false)], false, [0, 0]),
            ([(no_first, shut, false), (last, open, true)], false, [0, 0]),
        ] {
            let decided = decide(&store, &asked).await.unwrap();
            assert_eq!(decided.admitted, admitted, "{asked:?}");
            left = [left[0] - taken[0], left[1] - taken[1]];
            for ((key, quota, _), left) in asked.iter().zip(left) {
                let left = if *quota == open { left } else { 0 };
                assert_eq!(remaining(&store, key, quota).await, left, "{asked:?}");
            }
        }
    });
}

/// A primary that dies is replaced by its replica; the store finds it, and counts stay.
#[test]
fn a_node_that_dies_is_replaced_and_nothing_is_restarted() {
    let mut cluster = Cluster::start();
    let store = connect(options(cluster_of(&cluster)));
    let quota = an_hour(50);
    runtime().block_on(async {
        let limit = store.limit("l");
        let keys: Vec<[u8; 1]> = (0..30).map(|key| [key]).collect();
        for key in &keys {
            for _ in 0..10 {
                assert!(one(&store, limit, key, &quota).await.unwrap());
            }
        }
        let replicated = || {
            let (primary, replica) = (&cluster.nodes[2], &cluster.nodes[5]);
            let written = primary.info("master_repl_offset")?;
            (replica.info("slave_repl_offset")? >= written).then_some(())
        };
        tokio::task::block_in_place(|| tidegate_redis_kit::soon("the replica", replicated));
        tokio::task::block_in_place(|| cluster.nodes[2].kill());
        let mut admitted = vec![10_u32; keys.len()];
        for (key, admitted) in keys.iter().zip(&mut admitted) {
            let back = async {
                loop {
                    match one(&store, limit, key, &quota).await {
                        Ok(true) => *admitted += 1,
                        Ok(false) => return,
                        Err(_) => crate::tools::a_moment().await,
                    }
                }
            };
            tokio::time::timeout(SOON, back).await.expect("every key is served again");
            assert!(*admitted <= 50, "{admitted}");
        }
    });
}
