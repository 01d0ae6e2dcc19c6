//! Forgetting one key: it is found by the same bytes that requests were counted on.

use std::sync::Arc;

use tidegate::policy_file::{ReadyKeys, parse_embedded};
use tidegate::{Limit, Limiter, MemoryOptions, MemoryStore, Quota, ResetError, Span};
use tidegate_store::StoreError;
use tidegate_store::faulty::Faulty;

use crate::world::{Ask, by, start};

const POLICY: &str = r#"
keys:
  phone: { json: /phone, normalize: [{ e164: US }] }
  region: { phone_country: phone }
  page: { path: page }
  api_key: { header: x-api-key, normalize: [hash] }
rules:
  - name: pages
    match: { path: "/pages/{page}" }
    limits:
      - { name: one, says: "Never more than one in any day, per page and method.", key: [page, method], sliding_log: { limit: 1, window: 24h } }
  - name: codes
    match: { path: /codes }
    limits:
      - { name: region, says: "Never more than one in any day, per region and key.", key: [region, api_key], sliding_log: { limit: 1, window: 24h } }
"#;

fn ready(keys: &[(&str, &str)]) -> ReadyKeys {
    keys.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Uses a limit up, and returns whether a reset by these keys opens it again.
async fn opens(limiter: &Limiter, ask: &Ask, limit: &str, keys: &[(&str, &str)]) -> bool {
    let _ = limiter.check_at(&ask.as_seen(), start()).await;
    assert!(!limiter.check_at(&ask.as_seen(), start()).await.is_allowed());
    limiter.reset(limit, &ready(keys)).await.unwrap();
    limiter.check_at(&ask.as_seen(), start()).await.is_allowed()
}

/// Guards parts that a request has by itself (its path, its method) and those that are read from another or hashed.
#[tokio::test]
async fn every_kind_of_part_is_given_by_its_name() {
    let limiter = by(POLICY);
    let page = Ask::get("/pages/a%20b");
    assert!(opens(&limiter, &page, "pages/one", &[("page", "a b"), ("method", "GET")]).await);
    assert!(!opens(&limiter, &page, "pages/one", &[("page", "a"), ("method", "GET")]).await);
    let code = Ask::post("/codes", r#"{"phone":"+33 6 12 34 56 78"}"#).header("x-api-key", "secret");
    for keys in
        [[("phone", "+33612345678"), ("api_key", "secret")], [("region", "FR"), ("api_key", "secret")]]
    {
        assert!(opens(&limiter, &code, "codes/region", &keys).await, "{keys:?}");
    }
    let missing = limiter.reset("pages/one", &ready(&[("page", "a b")])).await.unwrap_err();
    assert!(matches!(&missing, ResetError::MissingKey { part, .. } if part == "method"), "{missing:?}");
    let bad = limiter.reset("codes/region", &ready(&[("phone", "12"), ("api_key", "secret")])).await;
    assert!(
        matches!(&bad, Err(ResetError::BadKey(bad)) if bad.part() == "region" || bad.part() == "phone"),
        "{bad:?}"
    );
}

/// Guards against a reset that says it is done while the store has forgotten nothing.
#[tokio::test]
async fn a_store_that_does_not_answer_and_a_limiter_without_a_policy_say_so() {
    let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
    let policy = parse_embedded("test.yaml", &format!("tidegate: 1\n{POLICY}")).unwrap();
    let limiter = Limiter::from_policy_with(policy, Arc::<Faulty<MemoryStore>>::clone(&store)).unwrap();
    store.fail_next(1, StoreError::unavailable("gone"));
    let keys = ready(&[("page", "a"), ("method", "GET")]);
    let error = limiter.reset("pages/one", &keys).await.unwrap_err();
    assert!(matches!(error, ResetError::Store(_)), "{error:?}");
    let resets = |limiter: &Limiter| limiter.observe().limits.iter().map(|limit| limit.resets).sum::<u64>();
    assert_eq!(resets(&limiter), 0);
    limiter.reset("pages/one", &keys).await.unwrap();
    assert_eq!(resets(&limiter), 1);

    let quota = Quota::sliding_log(1, Span::from_secs(60)).unwrap();
    let by_code = Limiter::in_memory([Limit::new("a", quota)]).unwrap();
    let error = by_code.reset("a", &ReadyKeys::new()).await.unwrap_err();
    assert!(matches!(error, ResetError::NoPolicy), "{error:?}");
}
