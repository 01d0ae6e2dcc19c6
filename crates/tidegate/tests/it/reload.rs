//! A policy replaced by another while requests go on.

use tidegate::policy_file::{self, Policy};
use tidegate::{Limiter, ReloadError};

use crate::world::{Ask, after_ms, by};

fn policy(limits: &str) -> Policy {
    let text = format!(
        "tidegate: 1\nrules:\n  - name: r\n    class: api\n    match: {{ path: /** }}\n    limits:\n{limits}"
    );
    policy_file::parse_embedded("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn log(name: &str, limit: u32) -> String {
    format!(
        "      - {{ name: {name}, says: \"{limit} in any hour, for everyone.\", key: global, sliding_log: {{ limit: {limit}, window: 1h }} }}\n"
    )
}

async fn admitted(limiter: &Limiter, requests: usize) -> usize {
    let ask = Ask::get("/");
    let mut admitted = 0;
    for _ in 0..requests {
        admitted += usize::from(limiter.check_at(&ask.as_seen(), after_ms(0)).await.is_allowed());
    }
    admitted
}

/// Guards against a reload that hands out fresh quotas, or takes away what a higher limit gives.
#[tokio::test]
async fn counts_are_kept_and_held_against_the_new_numbers() {
    let limiter = Limiter::from_policy(policy(&log("a", 5))).unwrap();
    assert_eq!(admitted(&limiter, 3).await, 3);
    let reloaded = limiter.reload(policy(&log("a", 4))).unwrap();
    assert_eq!((reloaded.changed, reloaded.kept), (vec!["r/a".to_owned()], 0));
    assert_eq!(admitted(&limiter, 3).await, 1);
    assert!(limiter.reload(policy(&log("a", 2))).is_ok());
    assert_eq!(admitted(&limiter, 3).await, 0);
    assert!(limiter.reload(policy(&log("a", 9))).is_ok());
    assert_eq!(admitted(&limiter, 9).await, 5);
}

/// Guards the report of a reload against an alert that was moved and is told as if nothing had changed.
#[tokio::test]
async fn another_alert_is_a_change() {
    let limiter = Limiter::from_policy(policy(&log("a", 5))).unwrap();
    let told = log("a", 5).replace("key: global", "alert_at: 80%, key: global");
    let reloaded = limiter.reload(policy(&told)).unwrap();
    assert_eq!((reloaded.changed, reloaded.kept), (vec!["r/a".to_owned()], 0));
    assert_eq!(limiter.reload(policy(&told)).unwrap().kept, 1);
}

/// Guards the promise that a request ends under the policy it began with.
#[tokio::test]
async fn a_snapshot_stays_what_it_was() {
    let limiter = Limiter::from_policy(policy(&log("a", 5))).unwrap();
    let before = limiter.snapshot();
    let reloaded = limiter.reload(policy(&format!("{}{}", log("b", 1), log("c", 1)))).unwrap();
    assert_eq!((reloaded.added.len(), reloaded.dropped), (2, vec!["r/a".to_owned()]));
    assert_eq!(before.limits().map(tidegate::Limit::name).collect::<Vec<_>>(), ["r/a"]);
    let options = tidegate::CheckOptions { at: Some(after_ms(0)), ..Default::default() };
    let verdict = before.check_with(&Ask::get("/").as_seen(), None, options).await;
    assert_eq!(verdict.deciding().unwrap().decision.remaining, 4);
    // And what it charged is not forgotten when the limit comes back.
    assert!(limiter.reload(policy(&log("a", 5))).is_ok());
    assert_eq!(admitted(&limiter, 9).await, 4);
}

#[tokio::test]
async fn another_store_is_refused_and_nothing_is_changed() {
    let limiter = Limiter::from_policy(policy(&log("a", 5))).unwrap();
    let text = "tidegate: 1\nstore: { memory: { max_keys: 10 } }\nrules: []\nfallback: { limits: \
                [{ name: l, says: Nine in any hour., key: global, sliding_log: { limit: 9, window: 1h } }] }\n";
    let other = policy_file::parse_embedded("t.yaml", text).unwrap_or_else(|problems| panic!("{problems}"));
    let error = limiter.reload(other).unwrap_err();
    assert!(matches!(error, ReloadError::Store), "{error}");
    assert!(error.to_string().contains("needs a restart; nothing was changed"), "{error}");
    assert_eq!(limiter.snapshot().limits().map(tidegate::Limit::name).collect::<Vec<_>>(), ["r/a"]);
}

/// Guards reloads against being refused for a store that is the same: spelled out, or the caller's own.
#[tokio::test]
async fn the_same_store_in_other_words_is_no_other_store() {
    let defaults = "store: { memory: { max_keys: 1000000, max_bytes: 256MiB } }\n";
    let small = "store: { memory: { max_keys: 10 } }\n";
    let with = |store: &str| {
        let text = format!(
            "tidegate: 1\n{store}fallback: {{ limits: [{{ name: l, says: Nine in any hour., key: global, \
             sliding_log: {{ limit: 9, window: 1h }} }}] }}\n"
        );
        policy_file::parse_embedded("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let limiter = Limiter::from_policy(with("")).unwrap();
    assert!(limiter.reload(with(defaults)).is_ok());
    let in_code = Limiter::in_memory([]).unwrap();
    assert!(matches!(in_code.reload(with(small)), Err(ReloadError::Store)));
    assert!(in_code.reload(with("")).is_ok());
    let store = std::sync::Arc::new(
        tidegate_store::MemoryStore::new(tidegate_store::MemoryOptions::default()).unwrap(),
    );
    let given = Limiter::from_policy_with(with(""), store).unwrap();
    assert!(given.reload(with(small)).is_ok());
}

/// Guards counters against a reload: a rate that a monitor works out would fall to nothing each time.
#[tokio::test]
async fn counters_outlive_a_reload_and_go_with_their_limit() {
    let limiter = Limiter::from_policy(policy(&log("a", 2))).unwrap();
    assert_eq!(admitted(&limiter, 3).await, 2);
    assert!(limiter.reload(policy(&format!("{}{}", log("a", 2), log("b", 9)))).is_ok());
    assert_eq!(admitted(&limiter, 1).await, 0);
    let observed = limiter.observe();
    assert_eq!(observed.requests[..2], [("allowed", 2), ("refused", 2)]);
    let counts: Vec<_> = observed
        .limits
        .iter()
        .map(|limit| (&*limit.name, limit.terms[0].admitted, limit.terms[0].refused))
        .collect();
    assert_eq!(counts, [("r/a", 2, 2), ("r/b", 1, 0)]);
    assert_eq!(observed.rules, [("r".into(), 4)]);
    assert!(limiter.reload(policy(&log("b", 9))).is_ok());
    assert_eq!(limiter.observe().limits.len(), 1);
}

/// Guards the counts against a swap amid checks: exactly as many pass as the limit says, whatever is loaded meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_count_is_lost_while_policies_are_replaced() {
    const LIMIT: usize = 500;
    let limiter = Limiter::from_policy(policy(&log("a", 500))).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let limiter = limiter.clone();
        tasks.spawn(async move {
            let mut passed = 0;
            for _ in 0..LIMIT {
                passed += admitted(&limiter, 1).await;
                tokio::task::yield_now().await;
            }
            passed
        });
    }
    let others = [policy(&format!("{}{}", log("b", 100_000), log("a", 500))), policy(&log("a", 500))];
    for round in 0..200 {
        limiter.reload(others[round % 2].clone()).unwrap();
        tokio::task::yield_now().await;
    }
    let mut passed = 0;
    while let Some(some) = tasks.join_next().await {
        passed += some.unwrap();
    }
    assert_eq!(passed, LIMIT);
}

/// A peek is no request, and must not look like one.
#[tokio::test]
async fn whoever_only_looks_is_not_counted() {
    let limiter = by(
        "rules: [{ name: r, class: api, match: { path: /** }, limits: [{ name: l, says: One in any hour., \
                      key: global, sliding_log: { limit: 1, window: 1h } }] }]\n",
    );
    let options = tidegate::CheckOptions { peek: true, at: Some(after_ms(0)), ..Default::default() };
    assert!(limiter.check_with(&Ask::get("/").as_seen(), None, options).await.is_allowed());
    let observed = limiter.observe();
    assert!(observed.requests.iter().all(|(_, count)| *count == 0), "{observed:?}");
    assert_eq!((observed.limits[0].terms[0].admitted, observed.rules[0].1), (0, 0));
}

/// Guards the counts of a limit that is renamed: what it was called before is where they are.
#[tokio::test]
async fn a_renamed_limit_goes_on_where_it_was() {
    let limiter = Limiter::from_policy(policy(&log("a", 5))).unwrap();
    assert_eq!(admitted(&limiter, 3).await, 3);
    let renamed = log("b", 5).replace("key: global", "was: a, key: global");
    assert!(limiter.reload(policy(&renamed)).is_ok());
    assert_eq!(admitted(&limiter, 5).await, 2);
    let observed = limiter.observe();
    assert_eq!(observed.limits.iter().map(|limit| &*limit.name).collect::<Vec<_>>(), ["r/b"]);
}

/// Guards the metrics against plans that are gone: each reload could otherwise leave some behind.
#[tokio::test]
async fn the_counters_of_a_plan_go_with_it() {
    let sold = |other: &str| {
        policy(&format!(
            "      - name: l\n        key: client_ip\n        plan: {{ header: x-plan, from: trusted_proxies, default: free }}\n        \
             plans:\n          free: {{ says: Ten a minute per client., sliding_counter: {{ limit: 10, window: 1m }} }}\n          \
             {other}: {{ says: 20 a minute per client., sliding_counter: {{ limit: 20, window: 1m }} }}\n"
        ))
    };
    let limiter = Limiter::from_policy(sold("gold")).unwrap();
    assert_eq!(admitted(&limiter, 1).await, 1);
    assert!(limiter.reload(sold("silver")).is_ok());
    let terms = &limiter.observe().limits[0].terms;
    let plans: Vec<_> = terms.iter().map(|terms| (terms.plan.as_deref().unwrap(), terms.admitted)).collect();
    assert_eq!(plans, [("free", 1), ("silver", 0)]);
}
