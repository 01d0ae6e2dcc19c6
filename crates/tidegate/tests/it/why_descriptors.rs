//! Why calls about descriptors get the verdict they get.

use tidegate::policy_file::{Counting, Descriptor, parse};
use tidegate::why::{CallWhy, DescriptorWhy, Looked};
use tidegate::{CheckOptions, DescriptorAsk, DescriptorStatus, Limit, Limiter, Quota, Span, Timestamp};

const SHOP: &str = "
tidegate: 1
envoy: { listen: 127.0.0.1:0 }
keys:
  caller: { descriptor: remote_address }
rules:
  - name: pages
    match: { path: /** }
    limits:
      - { name: all, says: \"Three in any minute, for everyone together.\", key: global, sliding_log: { limit: 3, window: 1m } }
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
  - name: bulk
    match: { domain: shop, descriptor: [ { key: bulk } ] }
    envoy: { quota: true }
    limits:
      - name: all
        says: Three in any minute, for everyone together.
        key: global
        sliding_log: { limit: 3, window: 1m }
  - name: closed
    match: { domain: shop, descriptor: [ { key: closed } ] }
    refuse: { status: 403, because: closed for the season }
fallback:
  on_store_failure: allow
  limits:
    - name: rest
      says: One in any minute, per caller.
      key: client_ip
      sliding_log: { limit: 1, window: 1m }
";

type Entries<'a> = &'a [(&'a str, &'a str)];

fn ask(entries: Entries<'_>) -> DescriptorAsk<'_> {
    DescriptorAsk { descriptor: Descriptor { domain: "shop", entries }, hits: None, limit: None }
}

/// Makes a call so often, then explains the next, and holds the explanation against what a look says.
async fn explained(asks: &[DescriptorAsk<'_>], before: usize) -> CallWhy {
    let limiter = Limiter::from_policy(parse("policy.yaml", SHOP).unwrap()).unwrap();
    let options =
        CheckOptions { at: Timestamp::from_micros(1_798_761_600_000_000), ..CheckOptions::default() };
    let in_force = limiter.snapshot();
    for _ in 0..before {
        let _ = in_force.check_descriptors(asks, Counting::AllOrNothing, options).await;
    }
    let why = in_force.why_descriptors(asks, Counting::AllOrNothing, options).await;
    let look = CheckOptions { peek: true, ..options };
    let again = in_force.check_descriptors(asks, Counting::AllOrNothing, look).await;
    assert_eq!(again.verdict.explain(), why.verdict.explain(), "looking has changed something");
    for (one, answer) in why.descriptors.iter().zip(&again.answers) {
        assert_eq!(one.answer, *answer);
        let rules = &limiter.policy().unwrap().rules;
        let said = one.rules.iter().filter(|rule| rule.applies && rule.name != "fallback");
        let said: Vec<&str> = said.map(|rule| rule.name.as_str()).collect();
        let decided: Vec<&str> = answer.rules.iter().map(|index| rules[*index].name.as_str()).collect();
        if !matches!(why.verdict.ruling(), tidegate::Ruling::Denied(_)) {
            assert_eq!(said, decided);
        }
    }
    why
}

fn because<'a>(one: &'a DescriptorWhy, rule: &str) -> &'a str {
    &one.rules.iter().find(|it| it.name == rule).unwrap().because
}

/// Guards against a limit that several descriptors ask, each about its own key, told of one with the other's numbers.
#[tokio::test]
async fn every_descriptor_is_told_with_its_own_numbers_of_a_limit_that_several_ask() {
    let asks = [
        ask(&[("path", "/checkout"), ("remote_address", "192.0.2.7")]),
        DescriptorAsk { hits: Some(2), ..ask(&[("path", "/checkout/x"), ("remote_address", "192.0.2.8")]) },
    ];
    let why = explained(&asks, 1).await;
    let said = why.descriptors.iter().map(|one| {
        let limit = one.limits().next().unwrap();
        let Looked::Asked { units, decision: Some(decision), .. } = &limit.looked else {
            panic!("{limit:?}")
        };
        (limit.key[0].value.clone().unwrap(), *units, decision.decision.remaining)
    });
    let said: Vec<_> = said.collect();
    assert_eq!(said, [("192.0.2.7".to_owned(), 1, 1), ("192.0.2.8".to_owned(), 2, 0)]);
    assert!(matches!(why.descriptors[0].answer.status, DescriptorStatus::Decided { over: false, .. }));
    assert!(matches!(why.descriptors[1].answer.status, DescriptorStatus::Decided { over: true, .. }));
    assert_eq!(why.told(&why.descriptors[1].answer).unwrap().limit.name(), "checkout/per-caller");
    assert_eq!(because(&why.descriptors[0], "pages"), "is for requests, and this is a descriptor of Envoy");
    assert_eq!(
        because(&why.descriptors[0], "fallback"),
        "is for calls of which no enforced limit looks at any descriptor"
    );
}

/// Guards against a rule told as applying that another one of the call replaces, also from another descriptor.
#[tokio::test]
async fn replaced_unlimited_quota_and_refusing_rules_say_so() {
    let why = explained(&[ask(&[("path", "/a")]), ask(&[("staff", "ada")])], 0).await;
    let [path, staff] = why.descriptors.as_slice() else { panic!("{why:?}") };
    assert_eq!(because(path, "everyone"), "applies by domain shop, descriptor (path), but staff replaces it");
    assert_eq!(
        because(staff, "staff"),
        "applies by domain shop, descriptor (staff) and limits nothing: it is unlimited"
    );
    assert_eq!(staff.answer.status, DescriptorStatus::Unlimited);
    assert_eq!(because(staff, "fallback"), "is not for what is unlimited");
    assert_eq!(because(path, "fallback"), "applies, since no enforced limit looked at any descriptor");
    let rest = path.rules.last().unwrap().limits.first().unwrap();
    assert!(matches!(rest.looked, Looked::Skipped), "it has no address to count on: {rest:?}");

    let why = explained(&[ask(&[("bulk", "x")])], 0).await;
    assert!(because(&why.descriptors[0], "bulk").ends_with("refuses only when all quotas of the call do"));
    let why = explained(&[ask(&[("closed", "x")]), ask(&[("bulk", "x")])], 0).await;
    assert!(because(&why.descriptors[0], "closed").ends_with("lets nothing through: closed for the season"));
    assert!(!why.verdict.is_allowed());
    let bulk = why.descriptors[1].limits().next().unwrap();
    assert!(bulk.decision().is_none(), "nothing is asked of a call that is turned away: {bulk:?}");
}

/// Guards against rules told of a descriptor that brings its own limit.
#[tokio::test]
async fn of_a_descriptor_with_a_limit_of_its_own_no_rule_is_told() {
    let own = Limit::new("own", Quota::sliding_log(1, Span::from_secs(60)).unwrap());
    let asks = [DescriptorAsk { limit: Some(own), ..ask(&[("path", "/a")]) }];
    let why = explained(&asks, 1).await;
    assert!(why.descriptors[0].rules.is_empty());
    assert!(matches!(why.descriptors[0].answer.status, DescriptorStatus::Decided { over: true, .. }));
}
