//! Limits whose numbers come with the call.

use std::sync::Arc;

use tidegate::policy_file::parse_embedded;
use tidegate::{
    CheckOptions, Degraded, Limit, Limiter, MemoryOptions, MemoryStore, OnStoreFailure, OwnCheck, Quota,
    Ruling, Span, StoreError, Verdict,
};
use tidegate_store::faulty::Faulty;

use crate::world::after_ms;

fn log(name: &str, limit: u64) -> Limit {
    Limit::new(name, Quota::sliding_log(limit, Span::from_secs(60)).unwrap())
}

async fn check(limiter: &Limiter, checks: &[(&Limit, &str, u32)], at: Option<u64>) -> Verdict {
    let checks = checks.iter().map(|(limit, key, cost)| OwnCheck { limit, key: key.as_bytes(), cost: *cost });
    let options = CheckOptions { at: at.map(after_ms), ..CheckOptions::default() };
    limiter.snapshot().check_own(&checks.collect::<Vec<_>>(), options).await
}

/// Counts belong to the name, not to the numbers: whoever sends others meets what was counted.
#[tokio::test]
async fn counts_go_by_the_name_and_numbers_by_the_call() {
    let limiter = Limiter::in_memory([log("a", 1)]).unwrap();
    assert!(check(&limiter, &[(&log("own", 3), "k", 3)], Some(0)).await.is_allowed());
    assert!(!check(&limiter, &[(&log("own", 3), "k", 1)], Some(1)).await.is_allowed());
    let more = check(&limiter, &[(&log("own", 5), "k", 1)], Some(2)).await;
    assert_eq!(more.decisions()[0].decision.remaining, 1);
    assert!(check(&limiter, &[(&log("another", 3), "k", 3)], Some(3)).await.is_allowed());
    assert!(limiter.check_key("a", "k").await.unwrap().is_allowed(), "the limiter's own is another");
}

/// One that refuses must not leave the others charged.
#[tokio::test]
async fn all_are_charged_or_none_is() {
    let limiter = Limiter::in_memory([]).unwrap();
    let (one, nine) = (log("one", 1), log("nine", 9));
    assert!(check(&limiter, &[(&one, "k", 1), (&nine, "k", 4)], Some(0)).await.is_allowed());
    assert!(!check(&limiter, &[(&one, "k", 1), (&nine, "k", 4)], Some(0)).await.is_allowed());
    let mut last = check(&limiter, &[(&one, "k", 0), (&nine, "k", 5)], Some(0)).await;
    assert!(last.is_allowed(), "nothing was taken, and a cost of zero looks");
    limiter.refund_at(last.take_receipt(), Some(after_ms(1))).await.unwrap();
    assert!(check(&limiter, &[(&nine, "k", 5)], Some(2)).await.is_allowed());
}

/// A reload that forgot the counts of a limit no policy names would hand out fresh quotas.
#[tokio::test]
async fn a_reload_keeps_counts_and_counters() {
    let policy = || {
        let text = "tidegate: 1\nrules:\n  - name: r\n    match: { path: /x }\n    limits:\n      - name: l\n        \
                    says: One in any minute, per client.\n        key: client_ip\n        \
                    sliding_log: { limit: 1, window: 1m }\n";
        parse_embedded("policy.yaml", text).unwrap()
    };
    let limiter = Limiter::from_policy(policy()).unwrap();
    let own = log("own", 1);
    assert!(check(&limiter, &[(&own, "k", 1)], None).await.is_allowed());
    limiter.reload(policy()).unwrap();
    assert!(!check(&limiter, &[(&own, "k", 1)], None).await.is_allowed());
    let observed = limiter.observe();
    let names: Vec<_> = observed.limits.iter().map(|limit| &*limit.name).collect();
    assert_eq!(names, ["own", "r/l"]);
    assert_eq!((observed.limits[0].terms[0].admitted, observed.limits[0].terms[0].refused), (1, 1));
}

/// Names come from code, but a mistake there must not make a metric grow without end.
#[tokio::test]
async fn more_names_than_there_are_counters_for_are_counted_together_and_apart_in_the_store() {
    let limiter = Limiter::in_memory([]).unwrap();
    for n in 0..300 {
        assert!(check(&limiter, &[(&log(&format!("own-{n}"), 1), "k", 1)], Some(0)).await.is_allowed());
    }
    assert!(!check(&limiter, &[(&log("own-299", 1), "k", 1)], Some(0)).await.is_allowed());
    let observed = limiter.observe();
    assert_eq!(observed.limits.len(), 257);
    let others = observed.limits.iter().find(|limit| &*limit.name == "(others)").unwrap();
    assert_eq!((others.terms[0].admitted, others.terms[0].refused), (44, 1));
}

/// An outage and the memory of refusals are the limiter's, whoever brings the limit.
#[tokio::test]
async fn refusals_are_remembered_and_an_outage_is_met_as_the_limit_chooses() {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let store = Arc::new(Faulty::new(store).with_refusals_remembered());
    let limiter = Limiter::new(Arc::<Faulty<MemoryStore>>::clone(&store), []).unwrap();
    let limiter = limiter.with_instances(2);
    let (local, deny) = (log("own", 4).with_store_failure(OnStoreFailure::Local), log("deny", 4));
    assert!(check(&limiter, &[(&local, "k", 4)], None).await.is_allowed());
    assert!(!check(&limiter, &[(&local, "k", 1)], None).await.is_allowed());
    let calls = store.calls();
    assert!(!check(&limiter, &[(&local, "k", 1)], None).await.is_allowed());
    assert_eq!(store.calls(), calls);
    store.fail(StoreError::unavailable("pulled the plug"));
    let here = check(&limiter, &[(&local, "another", 2)], None).await;
    assert_eq!((here.is_allowed(), here.degraded()), (true, Some(Degraded::Local)));
    assert!(!check(&limiter, &[(&local, "another", 1)], None).await.is_allowed(), "half of it is this one's");
    let denied = check(&limiter, &[(&deny, "k", 1)], None).await;
    assert_eq!(denied.ruling(), &Ruling::StoreDown);
}
