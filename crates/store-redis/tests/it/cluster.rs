//! A cluster whose slots move and whose nodes die.

use std::time::Duration;

use tidegate_redis_kit::Cluster;
use tidegate_store::algorithms::{Ask, Quota};
use tidegate_store::{Check, Store};
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
    let mut options = options(cluster_of(&cluster));
    options.prefix = "{here}".to_owned();
    assert!(
        tidegate_store_redis::RedisStore::connect(options.clone()).is_err(),
        "braces would pin every key"
    );
    options.prefix = crate::tools::prefix();
    let store = connect(options);
    let quota = an_hour(100_000);
    runtime().block_on(async {
        let limit = store.limit("moving");
        assert!(one(&store, limit, b"key", &quota).await.unwrap());
        let slot = tokio::task::block_in_place(|| slot_of_the_key(&cluster));
        let load = async {
            let mut admitted = 1_u32;
            for _ in 0..600 {
                if one(&store, limit, b"key", &quota).await.unwrap() {
                    admitted += 1;
                }
            }
            admitted
        };
        let migration = async {
            tokio::task::block_in_place(|| migrate(&cluster, slot));
        };
        let (admitted, ()) = tokio::join!(load, migration);
        let check = Check { limit, key: b"key", quota: &quota, ask: Ask::units(0), shadow: false };
        let left = store.peek(&[check], None).await.unwrap().outcomes[0].decision.remaining;
        assert_eq!(left, 100_000 - admitted, "each admission is counted once");
        assert_eq!(admitted, 601);
    });
}

fn slot_of_the_key(cluster: &Cluster) -> u16 {
    for node in &cluster.nodes[..3] {
        let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*:1*").query(&mut node.connection()).unwrap();
        if let Some(key) = keys.first() {
            return redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut node.connection()).unwrap();
        }
    }
    panic!("the key is on no node");
}

/// Moves a slot to the next primary, as an operator's tool does.
fn migrate(cluster: &Cluster, slot: u16) {
    let from = (0..3).find(|at| cluster.nodes[*at].port() == cluster.primary_of(slot).port()).unwrap();
    let to = (from + 1) % 3;
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[to]);
    target.ask(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)));
    source.ask(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)));
    std::thread::sleep(Duration::from_millis(20));
    let keys: Vec<Vec<u8>> = redis::cmd("CLUSTER")
        .arg("GETKEYSINSLOT")
        .arg(slot)
        .arg(100)
        .query(&mut source.connection())
        .unwrap();
    for key in keys {
        let moved: redis::Value = redis::cmd("MIGRATE")
            .arg("127.0.0.1")
            .arg(target.port())
            .arg(key)
            .arg(0)
            .arg(5_000)
            .query(&mut source.connection())
            .unwrap();
        assert_eq!(moved, redis::Value::Okay);
    }
    for node in [target, source].into_iter().chain(&cluster.nodes[..3]) {
        node.ask(&format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)));
    }
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
        // The replicas have it all.
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::task::block_in_place(|| cluster.nodes[2].kill());
        let mut admitted = vec![10_u32; keys.len()];
        for (key, admitted) in keys.iter().zip(&mut admitted) {
            let back = async {
                loop {
                    match one(&store, limit, key, &quota).await {
                        Ok(true) => *admitted += 1,
                        Ok(false) => return,
                        Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                    }
                }
            };
            tokio::time::timeout(SOON, back).await.expect("every key is served again");
            assert!(*admitted <= 50, "{admitted}");
        }
    });
}
