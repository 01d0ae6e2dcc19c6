//! Answers while the store does not answer: what a client is told of that.

use std::sync::Arc;

use tidegate::{Limiter, MemoryOptions, MemoryStore, StoreError};
use tidegate_store::faulty::Faulty;

use crate::world::{by_on, field, get, one_limit, send};

const MARK: &str = "tidegate-degraded";
const FOUR: &str = "sliding_log: { limit: 4, window: 1h }";

/// A limiter of one rule for two instances, whose store is gone.
fn lost(rule: &str) -> Limiter {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    store.fail(StoreError::unavailable("unplugged"));
    by_on(store, &format!("instances: 2\n{}", one_limit(FOUR, rule)))
}

/// Guards against answers that nobody can tell from those that were counted.
#[tokio::test]
async fn what_passes_uncounted_says_so() {
    let limiter = lost("    on_store_failure: allow\n");
    for _ in 0..5 {
        let passed = send(&limiter, get("/")).await;
        assert_eq!((passed.status().as_u16(), field(passed.headers(), MARK)), (200, Some("uncounted")));
    }
}

/// Guards the share of one instance of two, and the mark on a refusal, which is by less than the limit says.
#[tokio::test]
async fn what_this_process_decides_alone_says_so_whether_it_passes_or_not() {
    let limiter = lost("    on_store_failure: local\n    client_sees: all\n");
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = send(&limiter, get("/")).await;
        seen.push((answer.status().as_u16(), field(answer.headers(), MARK).map(str::to_owned)));
    }
    let local = |status| (status, Some("local".to_owned()));
    assert_eq!(seen, [local(200), local(200), local(429)]);
}

/// Guards a limit that is to be seen by nobody: that it does not count just now is what an attacker waits for.
#[tokio::test]
async fn a_limit_that_tells_nothing_is_marked_by_nothing() {
    for choice in ["allow", "local"] {
        let limiter = lost(&format!("    on_store_failure: {choice}\n    client_sees: nothing\n"));
        for _ in 0..3 {
            let answer = send(&limiter, get("/")).await;
            assert_eq!(field(answer.headers(), MARK), None, "{choice}, {}", answer.status());
        }
    }
}

/// Guards the difference between "too many" and "nobody can tell", to which clients react in different ways.
#[tokio::test]
async fn what_is_denied_for_want_of_the_store_says_so_in_its_body() {
    let refused = send(&lost("    on_store_failure: deny\n"), get("/")).await;
    assert_eq!((refused.status().as_u16(), field(refused.headers(), "retry-after")), (503, Some("1")));
    assert_eq!(field(refused.headers(), MARK), None);
    let problem: serde_json::Value = serde_json::from_slice(refused.body()).unwrap();
    assert!(
        problem["detail"].as_str().unwrap().starts_with("the limiter's store is unreachable"),
        "{problem}"
    );
}

/// Guards against a mark on what the store did decide.
#[tokio::test]
async fn what_the_store_decides_bears_no_mark() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let limiter = by_on(Arc::clone(&store) as _, &one_limit(FOUR, "    on_store_failure: allow\n"));
    assert_eq!(field(send(&limiter, get("/")).await.headers(), MARK), None);
    store.fail_next(1, StoreError::unavailable("unplugged"));
    assert_eq!(field(send(&limiter, get("/")).await.headers(), MARK), Some("uncounted"));
    assert_eq!(field(send(&limiter, get("/")).await.headers(), MARK), None);
}
