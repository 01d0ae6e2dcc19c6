//! Calls about descriptors that were planned once, held beside the calls themselves.

use tidegate::policy_file::{Counting, Descriptor};
use tidegate::{CheckOptions, Decision, DescriptorAsk, Limiter, Ruling, Span, Verdict};

use crate::world::{after_ms, by};

type Entries<'a> = &'a [(&'a str, &'a str)];

/// Every term that a rule for descriptors can have, and a queue that nobody waits in.
const POLICY: &str = "
envoy: { listen: 127.0.0.1:0 }
keys:
  caller: { descriptor: remote_address }
  user: { descriptor: user }
rules:
  - name: pages
    match: { domain: shop, descriptor: [ path ] }
    limits:
      - name: all
        says: Never more than 5 units in any minute, for everyone together; a request counts 2.
        key: global
        cost: 2
        sliding_log: { limit: 5, window: 1m }
  - name: gold
    match: { domain: shop, descriptor: [ { key: plan, value: gold } ] }
    envoy: { quota: true }
    limits:
      - { name: all, says: x, key: global, sliding_log: { limit: 1, window: 1m } }
  - name: silver
    match: { domain: shop, descriptor: [ { key: plan, value: silver } ] }
    envoy: { quota: true, replaces: pages }
    limits:
      - { name: all, says: x, key: global, sliding_log: { limit: 2, window: 1m } }
  - name: queued
    match: { domain: shop, descriptor: [ user ] }
    limits:
      - { name: queue, says: x, key: user, leaky_bucket: { rate: 1 per 10s, queue: 3 } }
  - name: monitoring
    match: { domain: shop, descriptor: [ { key: generic_key, value: monitoring } ] }
    envoy: { unlimited: true }
  - name: closed
    match: { domain: shop, descriptor: [ closed ] }
    refuse: { status: 403, because: closed for the season }
fallback:
  limits:
    - { name: rest, says: x, key: caller, sliding_log: { limit: 1, window: 1m } }
";

const CALLS: &[&[(Entries<'_>, Option<u32>)]] = &[
    &[(&[("path", "/a")], None)],
    &[(&[("path", "/a")], Some(1)), (&[("plan", "gold")], None)],
    &[(&[("plan", "gold")], None), (&[("plan", "silver")], None), (&[("path", "/a")], None)],
    &[(&[("user", "ada")], None), (&[("plan", "gold")], Some(1))],
    &[(&[("generic_key", "monitoring")], None), (&[("remote_address", "192.0.2.1")], None)],
    &[(&[("remote_address", "192.0.2.1")], None), (&[("path", "/a")], Some(0))],
];

fn asks<'a>(call: &'a [(Entries<'a>, Option<u32>)]) -> Vec<DescriptorAsk<'a>> {
    let ask = |(entries, hits): &(Entries<'a>, Option<u32>)| DescriptorAsk {
        descriptor: Descriptor { domain: "shop", entries },
        hits: *hits,
        limit: None,
    };
    call.iter().map(ask).collect()
}

/// All that a verdict says of its limits.
fn said(verdict: &Verdict) -> (Ruling, Vec<(String, Decision, bool)>) {
    let decisions = verdict.decisions().iter();
    let decisions = decisions.map(|it| (it.limit.name().to_owned(), it.decision, it.is_enforced()));
    (verdict.ruling().clone(), decisions.collect())
}

/// Guards simulations against calls that are decided otherwise than Envoy is answered: what is given back when a quota alone
/// refuses, what a refusal uses up where all are counted by themselves, a rule that is replaced, and a queue.
#[tokio::test]
async fn a_prepared_call_is_decided_as_the_call_itself_at_every_instant() {
    let mut rulings = Vec::new();
    for counting in [Counting::AllOrNothing, Counting::Each] {
        for max_delay in [Span::ZERO, Span::MAX] {
            let options = CheckOptions { max_delay, ..CheckOptions::default() };
            let (plain, repeated): (Limiter, Limiter) = (by(POLICY), by(POLICY));
            let prepare = |call| repeated.snapshot().prepare_descriptors(&asks(call), counting, options);
            let prepared: Vec<_> = CALLS.iter().map(|call| prepare(call).unwrap()).collect();
            for round in 0..12 {
                for (number, (call, prepared)) in CALLS.iter().zip(&prepared).enumerate() {
                    let at = after_ms(round * 9_001 + u64::try_from(number).unwrap());
                    let now = CheckOptions { at: Some(at), ..options };
                    let itself = plain.snapshot().check_descriptors(&asks(call), counting, now).await;
                    let again = prepared.check_at(at).await;
                    assert_eq!(
                        said(&itself.verdict),
                        said(&again),
                        "call {number} in round {round}, {counting:?}"
                    );
                    rulings.push(again.is_allowed());
                }
            }
        }
    }
    let passed = rulings.iter().filter(|passed| **passed).count();
    assert!(passed > 20 && rulings.len() - passed > 20, "{passed} of {}", rulings.len());
}

/// Guards against a call that is turned away as it came, and is taken for one that can be asked about.
#[tokio::test]
async fn a_call_that_is_turned_away_has_nothing_to_prepare() {
    let limiter = by(POLICY);
    let entries: Entries<'_> = &[("closed", "yes")];
    let call = [(entries, None)];
    let asks = asks(&call);
    let prepared =
        limiter.snapshot().prepare_descriptors(&asks, Counting::AllOrNothing, CheckOptions::default());
    assert!(matches!(prepared.unwrap_err().ruling(), Ruling::Denied(denial) if &*denial.rule == "closed"));
    assert_eq!(limiter.observe().requests.iter().map(|(_, count)| count).sum::<u64>(), 0);
}
