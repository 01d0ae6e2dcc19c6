//! Whose clock tells the date.

use std::sync::Arc;

use tidegate::policy_file::{self, Policy, suite::parse_instant};
use tidegate::{CheckOptions, Limiter, MemoryOptions, MemoryStore};
use tidegate_store::clocked::Clocked;

use crate::world::Ask;

/// A store in another year than this machine, as one that others share may be by a few seconds.
fn elsewhen(text: &str) -> Arc<Clocked> {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    Arc::new(Clocked::new(store, parse_instant(text).unwrap()))
}

fn policy(overrides: &str) -> Policy {
    let text = format!(
        "tidegate: 1\nrules:\n  - name: api\n    match: {{ path: /** }}\n    limits:\n      - name: calls\n        \
         says: Never more than two in any minute, per API key.\n        key: {{ header: x-api-key, called: [API key] }}\n        \
         sliding_log: {{ limit: 2, window: 1m }}\n{overrides}"
    );
    policy_file::parse_embedded("policy.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

const CONTRACT: &str = "        overrides:\n          - { value: tide, until: 2031-05-31, because: contract 81, \
                        says: \"Never more than nine in any minute, per API key.\", \
                        sliding_log: { limit: 9, window: 1m } }\n";

/// Guards against dates that are held against this machine's clock, under which no date of a store elsewhere would
/// mean anything.
#[tokio::test]
async fn an_override_ends_at_the_midnight_of_the_store() {
    let store = elsewhen("2031-05-31T23:59:59Z");
    let limiter = Limiter::from_policy_with(policy(CONTRACT), store.clone()).unwrap();
    let ask = Ask::get("/").header("x-api-key", "tide");
    let limit_of = async |options| {
        let verdict = limiter.check_with(&ask.as_seen(), None, options).await;
        let why = limiter.snapshot().why(&ask.as_seen(), None, options).await;
        let explained = why.limits().next().unwrap().decision().unwrap().decision.limit;
        assert_eq!(verdict.decisions()[0].decision.limit, explained);
        explained
    };
    let plain = CheckOptions::default();
    assert_eq!(limit_of(plain).await, 9);
    store.set(parse_instant("2031-06-01").unwrap());
    assert_eq!(limit_of(plain).await, 2);
    // An instant of the caller's goes before the store's.
    let before = CheckOptions { at: parse_instant("2031-05-31T23:59:59Z"), ..plain };
    assert_eq!(limit_of(before).await, 9);
}

/// Guards the hot path: a clock is not read for policies that hold nothing against it.
#[tokio::test]
async fn a_policy_without_dates_asks_for_none() {
    let forever = CONTRACT.replace("until: 2031-05-31, ", "");
    for (overrides, asked) in [("", 0), (forever.as_str(), 0), (CONTRACT, 1)] {
        let store = elsewhen("2031-05-31");
        let limiter = Limiter::from_policy_with(policy(overrides), store.clone()).unwrap();
        let ask = Ask::get("/").header("x-api-key", "tide");
        assert!(limiter.check(&ask.as_seen()).await.is_allowed());
        assert_eq!(store.times_read(), asked, "{overrides}");
    }
}

/// Guards against answers of a generous override that pass for those of everybody else.
#[tokio::test]
async fn overrides_are_counted_apart_and_under_no_key() {
    let limiter = Limiter::from_policy(policy(&CONTRACT.replace("until: 2031-05-31, ", ""))).unwrap();
    for key in ["tide", "tide", "tide", "ebb"] {
        assert!(limiter.check(&Ask::get("/").header("x-api-key", key).as_seen()).await.is_allowed());
    }
    let terms = &limiter.observe().limits[0].terms;
    let counts: Vec<_> = terms.iter().map(|terms| (terms.plan.as_deref(), terms.admitted)).collect();
    assert_eq!(counts, [(None, 1), (Some("(override)"), 3)]);
}

/// Guards against an explanation that is silent on why a key has everybody's terms again.
#[tokio::test]
async fn terms_that_have_ended_are_told_with_their_last_day() {
    let limiter = Limiter::from_policy_with(policy(CONTRACT), elsewhen("2031-06-01")).unwrap();
    let options = CheckOptions::default();
    for (key, told) in [("tide", vec!["its own terms for this key ended 2031-05-31"]), ("ebb", vec![])] {
        let ask = Ask::get("/").header("x-api-key", key);
        let why = limiter.snapshot().why(&ask.as_seen(), None, options).await;
        assert_eq!(why.limits().next().unwrap().notes, told, "{key}");
    }
}
