//! Stores for tests, and ways to wait for them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidegate_redis_kit::{Cluster, Server};
use tidegate_store::algorithms::{Ask, Quota, Span};
use tidegate_store::{Check, LimitId, Store, StoreError};
use tidegate_store_redis::{RedisOptions, RedisStore, Secret, Servers};
use tokio::runtime::Runtime;

/// The longest that anything is waited for.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// One runtime for every store of this process.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().unwrap())
}

/// A prefix that no other test has.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("t{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Options that a machine which runs all tests at once can keep.
pub(crate) fn options(servers: Servers) -> RedisOptions {
    let mut options = RedisOptions::new(servers, Secret::new(*b"a secret of these tests alone"));
    options.prefix = prefix();
    options.timeout = Duration::from_secs(5);
    options
}

pub(crate) fn standalone(port: u16) -> Servers {
    Servers::Standalone { host: "127.0.0.1".to_owned(), port }
}

pub(crate) fn connect(options: RedisOptions) -> RedisStore {
    let _inside = runtime().enter();
    RedisStore::connect(options).unwrap()
}

pub(crate) fn cluster_of(cluster: &Cluster) -> Servers {
    let seeds = cluster.nodes.iter().map(|node| ("127.0.0.1".to_owned(), node.port()));
    Servers::Cluster { seeds: seeds.take(2).collect() }
}

pub(crate) fn store_of(server: &Server) -> RedisStore {
    connect(options(standalone(server.port())))
}

/// So many an hour, exactly.
pub(crate) fn an_hour(units: u64) -> Quota {
    Quota::sliding_log(units, Span::from_secs(3_600)).unwrap()
}

/// Asks for one unit; whether it was admitted.
pub(crate) async fn one(
    store: &RedisStore,
    limit: LimitId,
    key: &[u8],
    quota: &Quota,
) -> Result<bool, StoreError> {
    let check = Check { limit, key, quota, ask: Ask::ONE, shadow: false };
    let answer = tokio::time::timeout(SOON, store.decide(&[check], None)).await;
    answer.expect("every question is answered").map(|decided| decided.admitted)
}

/// Pauses before what tells of nothing by itself is asked once more.
pub(crate) async fn a_moment() {
    tokio::task::spawn_blocking(tidegate_redis_kit::moment).await.unwrap();
}

/// Asks until the store answers again.
pub(crate) async fn recovered(store: &RedisStore) {
    let back = async {
        while store.ping().await.is_err() {
            crate::tools::a_moment().await;
        }
    };
    tokio::time::timeout(SOON, back).await.expect("the store comes back by itself");
}

/// Runs callers at once, each asking until it has asked so often, and returns how many were admitted and how many failed
/// so that they may have counted, and so that they have not.
pub(crate) async fn crowd(store: &RedisStore, callers: usize, each: usize, quota: Quota) -> [u64; 3] {
    let limit = store.limit("crowd");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let store = store.clone();
        tasks.spawn(async move {
            let mut counts = [0; 3];
            for _ in 0..each {
                match one(&store, limit, b"everybody", &quota).await {
                    Ok(true) => counts[0] += 1,
                    Ok(false) => {}
                    Err(error) if error.may_have_counted() => counts[1] += 1,
                    Err(_) => counts[2] += 1,
                }
            }
            counts
        });
    }
    let all = tokio::time::timeout(SOON, tasks.join_all()).await.expect("every question is answered");
    all.into_iter().fold([0; 3], |sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]])
}
