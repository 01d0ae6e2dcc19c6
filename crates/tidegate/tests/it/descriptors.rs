//! Calls about Envoy's descriptors, by policies as operators write them.

use std::sync::Arc;

use tidegate::policy_file::{Counting, Descriptor, parse};
use tidegate::{
    CheckOptions, DescriptorAsk, DescriptorStatus, DescriptorsVerdict, Limit, Limiter, MemoryOptions,
    MemoryStore, Quota, Retry, Ruling, Span, StoreError,
};
use tidegate_store::faulty::Faulty;

use crate::world::{after_ms, by};

type Entries<'a> = &'a [(&'a str, &'a str)];

const SHOP: &str = "
envoy: { listen: 127.0.0.1:0 }
keys:
  caller: { descriptor: remote_address }
  user: { descriptor: user }
rules:
  - name: checkout
    match: { domain: shop, descriptor: [ { key: path, value: \"/checkout*\" }, remote_address ] }
    limits:
      - name: per-caller
        says: Two in any minute, per caller.
        key: caller
        sliding_log: { limit: 2, window: 1m }
  - name: everyone
    match: { domain: shop, descriptor: [ { key: path } ] }
    limits:
      - name: all
        says: Three in any minute, for everyone together.
        key: global
        sliding_log: { limit: 3, window: 1m }
  - name: staff
    match: { domain: shop, descriptor: [ { key: staff } ] }
    envoy: { unlimited: true, replaces: [everyone] }
  - name: closed
    match: { domain: shop, descriptor: [ { key: closed } ] }
    refuse: { status: 403, because: closed for the season }
  - name: named
    class: login
    on_store_failure: deny
    match: { domain: auth }
    limits:
      - name: per-user
        says: One in any minute, per user.
        key: user
        sliding_log: { limit: 1, window: 1m }
fallback:
  on_store_failure: allow
  limits:
    - name: rest
      says: One in any minute, per caller.
      key: client_ip
      sliding_log: { limit: 1, window: 1m }
";

fn ask(entries: Entries<'_>) -> DescriptorAsk<'_> {
    DescriptorAsk { descriptor: Descriptor { domain: "shop", entries }, hits: None, limit: None }
}

fn auth(entries: Entries<'_>) -> DescriptorAsk<'_> {
    DescriptorAsk { descriptor: Descriptor { domain: "auth", entries }, ..ask(entries) }
}

fn hits(entries: Entries<'_>, hits: u32) -> DescriptorAsk<'_> {
    DescriptorAsk { hits: Some(hits), ..ask(entries) }
}

async fn call(
    limiter: &Limiter,
    asks: &[DescriptorAsk<'_>],
    counting: Counting,
    ms: u64,
) -> DescriptorsVerdict {
    let options = CheckOptions { at: Some(after_ms(ms)), ..CheckOptions::default() };
    limiter.snapshot().check_descriptors(asks, counting, options).await
}

async fn at_once(limiter: &Limiter, asks: &[DescriptorAsk<'_>]) -> DescriptorsVerdict {
    call(limiter, asks, Counting::AllOrNothing, 0).await
}

/// What is left of each descriptor, and whether it is over.
fn told(verdict: &DescriptorsVerdict) -> Vec<Option<(u32, bool)>> {
    let told = verdict.answers.iter().map(|answer| match answer.status {
        DescriptorStatus::Decided { by, over } => {
            Some((verdict.verdict.decisions()[by].decision.remaining, over))
        }
        DescriptorStatus::Unmatched | DescriptorStatus::Unlimited => None,
    });
    told.collect()
}

const CHECKOUT: Entries<'_> = &[("path", "/checkout/1"), ("remote_address", "192.0.2.1")];
const PATH: Entries<'_> = &[("path", "/checkout/1")];

/// A call that one descriptor refuses must not use up what the others have.
#[tokio::test]
async fn a_call_is_charged_whole_or_not_at_all() {
    let limiter = by(SHOP);
    let both = [ask(CHECKOUT), ask(PATH)];
    for left in [1, 0] {
        let verdict = at_once(&limiter, &both).await;
        assert!(verdict.verdict.is_allowed());
        assert_eq!(told(&verdict), [Some((left, false)), Some((left + 1, false))]);
        assert_eq!(verdict.answers.iter().map(|it| it.rules.clone()).collect::<Vec<_>>(), [vec![0], vec![1]]);
    }
    let verdict = at_once(&limiter, &both).await;
    assert_eq!(verdict.verdict.ruling(), &Ruling::Refuse { retry: Retry::After(Span::from_secs(60)) });
    assert_eq!(told(&verdict), [Some((0, true)), Some((1, false))], "and everyone's is as it was");
    assert_eq!(limiter.observe().requests[..2], [("allowed", 2), ("refused", 1)]);
}

/// Hits are of the descriptor they stand at, and none of them looks even where nothing is left.
#[tokio::test]
async fn hits_are_each_descriptors_own_and_none_takes_nothing() {
    let limiter = by(SHOP);
    let verdict = at_once(&limiter, &[hits(CHECKOUT, 2), hits(PATH, 0)]).await;
    assert_eq!(told(&verdict), [Some((0, false)), Some((3, false))]);
    let verdict = at_once(&limiter, &[hits(CHECKOUT, 0), hits(PATH, 3)]).await;
    assert!(verdict.verdict.is_allowed());
    assert_eq!(told(&verdict), [Some((0, false)), Some((0, false))]);
}

/// What replaces a rule does so wherever in the call that one would count.
#[tokio::test]
async fn a_rule_that_replaces_another_drops_it_from_every_descriptor() {
    let limiter = by(SHOP);
    let verdict = at_once(&limiter, &[ask(PATH), ask(&[("staff", "ada")])]).await;
    assert!(verdict.verdict.is_allowed());
    let statuses: Vec<_> = verdict.answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [DescriptorStatus::Unmatched, DescriptorStatus::Unlimited]);
    assert_eq!(verdict.answers[1].rules, [2]);
    assert_eq!(told(&at_once(&limiter, &[ask(PATH)]).await), [Some((2, false))], "nothing was taken of it");
}

#[tokio::test]
async fn what_turns_a_call_away_asks_no_limit() {
    let limiter = by(SHOP);
    let verdict = at_once(&limiter, &[ask(PATH), ask(&[("closed", "x")])]).await;
    let Ruling::Denied(denial) = verdict.verdict.ruling() else { panic!("{}", verdict.verdict) };
    assert_eq!((&*denial.rule, denial.status), ("closed", 403));
    let unreadable: [Entries<'_>; 2] = [&[("login", "x")], &[("user", "ada"), ("user", "bob")]];
    for entries in unreadable {
        let verdict = at_once(&limiter, &[ask(PATH), auth(entries)]).await;
        let Ruling::BadRequest(bad) = verdict.verdict.ruling() else { panic!("{}", verdict.verdict) };
        assert_eq!(bad.part(), "user");
        assert_eq!(verdict.answers.len(), 2);
    }
    assert_eq!(told(&at_once(&limiter, &[ask(PATH)]).await), [Some((2, false))]);
}

/// The fallback counts a request once, though Envoy tells of its client in every descriptor.
#[tokio::test]
async fn the_fallback_is_asked_once_a_key_and_only_where_no_limit_looked() {
    let limiter = by(SHOP);
    let elsewhere: [Entries<'_>; 3] = [
        &[("a", "1"), ("remote_address", "192.0.2.1")],
        &[("b", "1"), ("remote_address", "192.0.2.1")],
        &[("b", "1")],
    ];
    let asks = elsewhere.map(ask);
    let verdict = at_once(&limiter, &asks).await;
    assert!(verdict.verdict.is_allowed());
    assert_eq!(told(&verdict), [Some((0, false)), Some((0, false)), None]);
    assert!(!at_once(&limiter, &asks).await.verdict.is_allowed());
    let with_a_rule = [asks[0].clone(), ask(PATH)];
    let verdict = at_once(&limiter, &with_a_rule).await;
    assert_eq!(told(&verdict), [None, Some((2, false))]);
}

const QUOTAS: &str = "
envoy: { listen: 127.0.0.1:0 }
rules:
  - name: small
    match: { domain: shop, descriptor: [ { key: small } ] }
    envoy: { quota: true }
    limits:
      - name: all
        says: One in any minute, for everyone together.
        key: global
        sliding_log: { limit: 1, window: 1m }
  - name: large
    match: { domain: shop, descriptor: [ { key: large } ] }
    envoy: { quota: true }
    limits:
      - name: all
        says: Two in any two minutes, for everyone together.
        key: global
        sliding_log: { limit: 2, window: 2m }
  - name: hard
    match: { domain: shop, descriptor: [ { key: hard } ] }
    limits:
      - name: all
        says: Four in any minute, for everyone together.
        key: global
        sliding_log: { limit: 4, window: 1m }
";

/// Quotas stand in for each other: the call is over with the last of them, and takes nothing then.
#[tokio::test]
async fn quotas_refuse_when_all_of_them_do_and_the_call_then_takes_nothing() {
    let limiter = by(QUOTAS);
    let asks: [Entries<'_>; 3] = [&[("small", "")], &[("large", "")], &[("hard", "")]];
    let asks = asks.map(ask);
    assert!(at_once(&limiter, &asks).await.verdict.is_allowed());
    let verdict = at_once(&limiter, &asks).await;
    assert!(verdict.verdict.is_allowed(), "{}", verdict.verdict);
    assert_eq!(told(&verdict), [Some((0, true)), Some((0, false)), Some((2, false))]);
    assert_eq!(verdict.verdict.violated().count(), 0);
    for _ in 0..3 {
        let verdict = at_once(&limiter, &asks).await;
        assert_eq!(told(&verdict), [Some((0, true)), Some((0, true)), Some((2, false))]);
        let retry = Retry::After(Span::from_secs(60));
        assert_eq!(
            verdict.verdict.ruling(),
            &Ruling::Refuse { retry },
            "the first of them that admits again"
        );
        assert_eq!(verdict.verdict.deciding().map(|by| by.limit.name()), Some("small/all"));
    }
    let verdict = at_once(&limiter, &asks[2..]).await;
    assert_eq!(told(&verdict), [Some((1, false))], "what was charged is given back");
    assert_eq!(limiter.observe().requests[..2], [("allowed", 3), ("refused", 3)]);
}

const WINDOWS: &str = "
envoy: { listen: 127.0.0.1:0, counting: each }
rules:
  - name: a
    match: { domain: shop, descriptor: [ { key: a } ] }
    limits:
      - name: all
        says: At most 5 in each minute on the clock, for everyone together.
        key: global
        fixed_window: { limit: 5, window: 1m, anchor: clock }
  - name: b
    match: { domain: shop, descriptor: [ { key: b } ] }
    limits:
      - name: all
        says: At most 2 in each minute on the clock, for everyone together.
        key: global
        fixed_window: { limit: 2, window: 1m, anchor: clock }
";

/// As envoyproxy/ratelimit counts: what one refuses is counted by the other, and what was left is used up.
#[tokio::test]
async fn counted_each_by_itself_a_refusal_takes_what_was_left_and_holds_nobody_back() {
    let limiter = by(WINDOWS);
    let (a, b): (Entries<'_>, Entries<'_>) = (&[("a", "")], &[("b", "")]);
    let each = async |asks: &[DescriptorAsk<'_>]| call(&limiter, asks, Counting::Each, 0).await;
    let verdict = each(&[hits(a, 3), hits(b, 3)]).await;
    assert!(!verdict.verdict.is_allowed());
    assert_eq!(told(&verdict), [Some((2, false)), Some((0, true))]);
    assert_eq!(told(&each(&[ask(b)]).await), [Some((0, true))], "its two are used up");
    assert_eq!(told(&each(&[hits(a, 3)]).await), [Some((0, true))]);
    assert_eq!(told(&each(&[hits(a, 0)]).await), [Some((0, false))]);
    // All or nothing a refusal takes nothing.
    let limiter = by(WINDOWS);
    assert!(!at_once(&limiter, &[hits(a, 3), hits(b, 3)]).await.verdict.is_allowed());
    assert_eq!(told(&at_once(&limiter, &[ask(a), ask(b)]).await), [Some((4, false)), Some((1, false))]);
}

/// A limit that comes with a descriptor is counted on that descriptor, and by nobody else's name.
#[tokio::test]
async fn a_limit_of_the_call_stands_in_for_the_policys() {
    let limiter = by(SHOP);
    let limit = Limit::new("override", Quota::sliding_log(4, Span::from_secs(60)).unwrap());
    let with = |entries| DescriptorAsk { limit: Some(limit.clone()), ..ask(entries) };
    let verdict = at_once(&limiter, &[with(PATH), with(&[("path", "/checkout"), ("", "/1")])]).await;
    assert_eq!(told(&verdict), [Some((3, false)), Some((3, false))], "each descriptor is a key of its own");
    assert_eq!(verdict.answers[0].rules, [0; 0]);
    assert_eq!(told(&at_once(&limiter, &[with(PATH)]).await), [Some((2, false))]);
    assert_eq!(told(&at_once(&limiter, &[ask(PATH)]).await), [Some((2, false))], "the policy's is untouched");
    let observed = limiter.observe();
    let own = observed.limits.iter().find(|limit| &*limit.name == "(descriptor)").unwrap();
    assert_eq!(own.terms[0].admitted, 3);
}

/// In a shadow file a call is counted and never refused.
#[tokio::test]
async fn a_shadow_file_refuses_no_call() {
    let limiter = by(&format!("mode: shadow\n{SHOP}"));
    let limit = Limit::new("override", Quota::sliding_log(1, Span::from_secs(60)).unwrap());
    let own = DescriptorAsk { limit: Some(limit), ..ask(&[("path", "/own")]) };
    let asks = [hits(CHECKOUT, 2), ask(&[("closed", "x")]), auth(&[("login", "")]), own];
    assert!(at_once(&limiter, &asks).await.verdict.is_allowed());
    let verdict = at_once(&limiter, &asks).await;
    assert!(verdict.verdict.is_allowed());
    let refusing: Vec<_> = verdict.verdict.would_refuse().map(|by| by.limit.name()).collect();
    assert_eq!(refusing, ["checkout/per-caller", "override", "fallback/rest"]);
    assert!(told(&verdict).into_iter().flatten().all(|(_, over)| !over));
}

/// Negative hits give back what is there and no more, and the units of two descriptors on one key not twice.
#[tokio::test]
async fn units_are_given_back_without_a_receipt() {
    let limiter = by(SHOP);
    assert!(at_once(&limiter, &[hits(PATH, 2)]).await.verdict.is_allowed());
    let give = async |asks: &[DescriptorAsk<'_>]| {
        limiter.snapshot().give_back_descriptors(asks, Some(after_ms(5))).await.unwrap();
    };
    give(&[hits(PATH, 1)]).await;
    assert_eq!(told(&at_once(&limiter, &[hits(PATH, 0)]).await), [Some((2, false))]);
    give(&[hits(PATH, 1), hits(PATH, 1)]).await;
    give(&[hits(PATH, u32::MAX)]).await;
    assert_eq!(told(&at_once(&limiter, &[hits(PATH, 0)]).await), [Some((3, false))]);
    assert!(at_once(&limiter, &[hits(PATH, 3)]).await.verdict.is_allowed());
    give(&[hits(PATH, 0), ask(&[("closed", "x")])]).await;
    assert_eq!(told(&at_once(&limiter, &[hits(PATH, 0)]).await), [Some((0, false))]);
}

/// The choice of a rule for an outage is one for its descriptors, and a refusal that is remembered is forgotten with what
/// is given back.
#[tokio::test]
async fn a_lost_store_and_remembered_refusals_are_met_as_by_requests() {
    let text = format!("tidegate: 1\nstore: memory\n{SHOP}").replace("127.0.0.1:0", "127.0.0.1:8082");
    let policy = parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let store = Arc::new(Faulty::new(store).with_refusals_remembered());
    let limiter = Limiter::from_policy_with(policy, Arc::<Faulty<MemoryStore>>::clone(&store)).unwrap();
    let now = async |asks: &[DescriptorAsk<'_>]| {
        let options = CheckOptions::default();
        limiter.snapshot().check_descriptors(asks, Counting::AllOrNothing, options).await
    };
    assert!(now(&[hits(CHECKOUT, 2)]).await.verdict.is_allowed());
    assert!(!now(&[ask(CHECKOUT)]).await.verdict.is_allowed());
    let calls = store.calls();
    let verdict = now(&[ask(PATH), ask(CHECKOUT)]).await;
    assert_eq!(told(&verdict), [None, Some((0, true))]);
    assert_eq!(store.calls(), calls, "it is remembered");
    limiter.snapshot().give_back_descriptors(&[ask(CHECKOUT)], None).await.unwrap();
    assert_eq!(told(&now(&[ask(PATH), ask(CHECKOUT)]).await), [Some((2, false)), Some((0, false))]);
    store.fail(StoreError::unavailable("pulled the plug"));
    let verdict = now(&[ask(PATH)]).await;
    assert_eq!(verdict.verdict.ruling(), &Ruling::Uncounted);
    assert_eq!(told(&verdict), [None]);
    let verdict = now(&[ask(PATH), auth(&[("user", "ada")])]).await;
    assert_eq!(verdict.verdict.ruling(), &Ruling::StoreDown);
    limiter.snapshot().give_back_descriptors(&[ask(PATH)], None).await.unwrap_err();
}
