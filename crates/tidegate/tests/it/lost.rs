//! A store that is lost under a policy: what a reload and a reset change meanwhile, what is logged, and answers that are lost
//! on their way.

use std::sync::Arc;

use tidegate::policy_file::{Policy, ReadyKeys, parse_embedded};
use tidegate::{Degraded, Limiter, MemoryOptions, MemoryStore, Ruling, Verdict};
use tidegate_store::StoreError;
use tidegate_store::faulty::Faulty;

use crate::warnings::Lines;
use crate::world::Ask;

type Shared = Arc<Faulty<MemoryStore>>;

/// A policy of one limit: so many an hour for a user, and what becomes of it without a store.
fn policy(limit: u32, choice: &str) -> Policy {
    let text = format!(
        "tidegate: 1\nkeys:\n  user: {{ header: x-user }}\nrules:\n  - name: r\n    class: api\n    match: {{ path: /** }}\n    \
         on_store_failure: {choice}\n    limits:\n      - {{ name: l, says: \"{limit} in any hour, per user.\", key: user, \
         sliding_log: {{ limit: {limit}, window: 1h }} }}\n"
    );
    parse_embedded("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn over(policy: Policy) -> (Shared, Limiter) {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let store = Arc::new(Faulty::new(store).with_refusals_remembered());
    let limiter = Limiter::from_policy_with(policy, Arc::clone(&store) as _).unwrap();
    (store, limiter)
}

async fn ask(limiter: &Limiter) -> Verdict {
    limiter.check(&Ask::get("/").header("x-user", "ada").as_seen()).await
}

fn gone() -> StoreError {
    StoreError::unavailable("pulled the plug")
}

/// An operator who opens or closes a rule in an outage must not have to wait for its end.
#[tokio::test]
async fn another_choice_holds_from_the_reload_on_while_the_store_is_lost() {
    let (store, limiter) = over(policy(2, "deny"));
    store.fail(gone());
    for _ in 0..10 {
        assert_eq!(ask(&limiter).await.ruling(), &Ruling::StoreDown);
    }
    let calls = store.calls();
    for (choice, how, passes) in [
        ("allow", Degraded::Uncounted, true),
        ("local", Degraded::Local, true),
        ("deny", Degraded::Denied, false),
    ] {
        limiter.reload(policy(2, choice)).unwrap();
        let verdict = ask(&limiter).await;
        assert_eq!((verdict.degraded(), verdict.is_allowed()), (Some(how), passes), "{choice}");
    }
    assert!(limiter.store_health().is_down(), "a reload is no sign of life");
    assert!(store.calls() <= calls + 3, "nor a reason to ask a store that is lost");
}

/// Uses a limit of one up, until it is refused from memory.
async fn refused_from_memory(store: &Shared, limiter: &Limiter) {
    while ask(limiter).await.is_allowed() {}
    let calls = store.calls();
    assert!(!ask(limiter).await.is_allowed());
    assert_eq!(store.calls(), calls, "it is refused from memory");
}

/// Whoever raises a limit, or frees somebody, must not see him refused all the same.
#[tokio::test]
async fn a_refusal_is_remembered_neither_over_a_reload_nor_over_a_reset() {
    let (store, limiter) = over(policy(1, "deny"));
    refused_from_memory(&store, &limiter).await;
    limiter.reload(policy(2, "deny")).unwrap();
    assert!(ask(&limiter).await.is_allowed(), "the second of two");
    refused_from_memory(&store, &limiter).await;
    // The same numbers once more: a store that has forgotten meanwhile is asked.
    limiter.reload(policy(2, "deny")).unwrap();
    let calls = store.calls();
    assert!(!ask(&limiter).await.is_allowed());
    assert_eq!(store.calls(), calls + 1, "nothing is remembered from before the reload");
    refused_from_memory(&store, &limiter).await;
    limiter.reset("r/l", &ReadyKeys::from([("user".to_owned(), "ada".to_owned())])).await.unwrap();
    assert!(ask(&limiter).await.is_allowed(), "it was forgotten here and there");
}

/// A reset that gets no answer may have reached the store: who was freed must not stay refused here.
#[tokio::test]
async fn a_reset_whose_answer_is_lost_forgets_what_is_known_here() {
    let (store, limiter) = over(policy(1, "deny"));
    refused_from_memory(&store, &limiter).await;
    store.lose_next(1, StoreError::timeout("the answer was lost"));
    let ada = ReadyKeys::from([("user".to_owned(), "ada".to_owned())]);
    assert!(limiter.reset("r/l", &ada).await.is_err());
    assert!(ask(&limiter).await.is_allowed());
}

/// A charge whose answer was lost stands: whoever asked again, or gave it back, would let one more through.
#[tokio::test]
async fn answers_that_are_lost_let_nobody_through_twice() {
    const LIMIT: u32 = 20;
    let (store, limiter) = over(policy(LIMIT, "deny"));
    let (mut passed, mut lost) = (0, 0);
    for round in 0..LIMIT * 2 {
        if round % 3 == 0 {
            store.lose_next(1, StoreError::timeout("the answer was lost"));
        }
        match ask(&limiter).await.ruling() {
            Ruling::Allow { .. } => passed += 1,
            Ruling::StoreDown => lost += 1,
            Ruling::Refuse { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(lost > 0 && passed < LIMIT, "{passed} passed and {lost} were lost");
    // Those lost before the limit was used up are the rest.
    assert!(passed + lost >= LIMIT, "{passed} passed and {lost} were lost");
    assert!(!limiter.store_health().is_down(), "one answer that is lost now and then is no outage");
}

/// A flood in an outage must not fill the disk that the log lies on: the loss is a line, and so is the return.
#[tokio::test]
async fn a_store_that_is_lost_is_one_line_however_many_ask() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .with_max_level(tracing::Level::INFO)
        .finish();
    let _guard = tracing::subscriber::set_default(log);
    let (store, limiter) = over(policy(1_000, "deny"));
    store.fail(gone());
    for _ in 0..1_000 {
        assert_eq!(ask(&limiter).await.ruling(), &Ruling::StoreDown);
        let _ = limiter.ping().await;
    }
    let told = lines.take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("ERROR") && told[0].contains("the store is lost"), "{told:?}");
    assert!(told[0].contains("1 deny") && told[0].contains("pulled the plug"), "{told:?}");
    store.heal();
    while limiter.store_health().is_down() {
        limiter.ping().await.unwrap();
        tokio::task::yield_now().await;
    }
    let told = lines.take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("the store answers again"), "{told:?}");
    assert!(told[0].contains("decided_without=1000"), "{told:?}");
}
