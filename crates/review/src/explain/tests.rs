//! The figures of the policies that the project comes from.

use tidegate_algorithms::{Anchor, Quota, Rate, Span};

use super::{Admits, explain, spoken_rate};
use crate::test_policy::policy;

fn half_open(quota: Quota) -> Vec<u128> {
    let admits = Admits::of(&quota);
    [1, 30, 60, 3_600, 86_400]
        .map(|secs| {
            let span = Span::from_secs(secs);
            admits
                .in_any
                .iter()
                .find(|(of, _)| *of == span)
                .map_or(quota.most_in_half_open(span), |(_, most)| *most)
        })
        .into()
}

/// Five attempts per thirty seconds, by each algorithm that says so, and four with one every ten seconds.
fn quotas() -> [Quota; 4] {
    let half_minute = Span::from_secs(30);
    [
        Quota::fixed_window(5, half_minute, Anchor::Clock),
        Quota::sliding_counter(5, half_minute),
        Quota::sliding_log(5, half_minute),
        Quota::token_bucket(4, Rate::new(1, Span::from_secs(10)).unwrap()),
    ]
    .map(Result::unwrap)
}

/// Guards the figures of the document on attempts per thirty seconds, over half-open spans.
#[test]
fn four_ways_to_say_five_in_thirty_seconds_admit_what_the_closed_forms_say() {
    let [fixed, counter, log, bucket] = quotas();
    assert_eq!(half_open(fixed), [10, 10, 15, 605, 14_405]);
    assert_eq!(half_open(counter), [6, 10, 15, 605, 14_405]);
    assert_eq!(half_open(log), [5, 5, 10, 600, 14_400]);
    assert_eq!(half_open(bucket), [4, 6, 9, 363, 8_643]);
    assert_eq!([fixed, counter, log, bucket].map(|quota| Admits::of(&quota).at_once), [5, 5, 5, 4]);
    assert_eq!([fixed, counter, log, bucket].map(|quota| Admits::of(&quota).state_bytes), [12, 16, 80, 20]);
}

/// Guards the same figures over closed spans, as they are mostly published.
#[test]
fn closed_spans_hold_one_more_of_what_comes_evenly() {
    let spans = [30, 60, 600, 3_600, 86_400].map(Span::from_secs);
    let [fixed, counter, log, bucket] = quotas().map(|quota| spans.map(|span| quota.most_in_closed(span)));
    assert_eq!(fixed, [10, 15, 105, 605, 14_405]);
    assert_eq!(counter, [10, 15, 105, 605, 14_405]);
    assert_eq!(log, [10, 15, 105, 605, 14_405]);
    assert_eq!(bucket, [7, 10, 64, 364, 8_644]);
}

/// Guards against the boundary spike of the document on fixed windows being told as 200: its first hit opens the window.
#[test]
fn a_window_that_its_first_hit_opens_admits_one_less_than_twice_its_limit() {
    let quota = Quota::fixed_window(100, Span::from_secs(60), Anchor::FirstHit).unwrap();
    assert_eq!(Admits::of(&quota).in_window(), 199);
}

#[test]
fn a_rate_is_said_as_it_is_written_and_a_day() {
    let [fixed, .., bucket] = quotas().map(|quota| spoken_rate(quota.long_run()));
    assert_eq!(fixed, "5 every 30s, 14,400 a day");
    assert_eq!(bucket, "1 every 10s, 8,640 a day");
    let thirds = Quota::token_bucket(1, Rate::new(1, Span::from_secs(7)).unwrap()).unwrap();
    assert_eq!(spoken_rate(thirds.long_run()), "1 every 7s, 12,342.85 a day");
}

const LOCAL: &str = "
tidegate: 1
instances: 3
key_secret_file: keys.secret
store: { redis: { url: redis://127.0.0.1:6379 } }
headers: [ietf]
keys: { account: { json: /account } }
rules:
  - name: login
    class: login
    match: [{ method: POST, path: /login }, { host: a.example, path: [/a, /b] }]
    on_store_failure: local
    limits:
      - name: tries
        says: Nine a minute, per account.
        key: account
        client_sees: all
        sliding_log: { limit: 9, window: 1m }
      - name: shadow
        says: One a day, per account.
        key: account
        mode: shadow
        sliding_log: { limit: 1, window: 24h }
fallback:
  limits:
    - name: none
      says: None, for everyone together.
      key: global
      fixed_window: { limit: 0, window: 1m }
    - name: queue
      says: Five a second, with ten waiting, for everyone together.
      key: global
      leaky_bucket: { rate: 5 per 1s, queue: 10 }
";

/// Guards against an outage that admits more than anybody was told.
#[test]
fn what_happens_without_the_store_is_told_with_each_share() {
    let policy = policy(LOCAL);
    let rules = explain(&policy);
    assert_eq!(rules[0].applies, ["POST /login", "/a, /b at a.example"]);
    let tries = &rules[0].limits[0];
    let share = tries.gone.share.as_ref().unwrap();
    assert_eq!((share.instances, share.in_window_together), (3, 9));
    assert_eq!(share.quota, Quota::sliding_log(3, Span::from_secs(60)).unwrap());
    assert_eq!(
        tries.gone.says(),
        "each of 3 instances goes on by itself with its share, sliding_log: { limit: 3, window: 1m }: at most 9 in any \
         of the limit's windows together"
    );
    let one = &rules[0].limits[1].gone.share.as_ref().unwrap().in_window_together;
    assert_eq!(*one, 3, "a share is one at least, so three instances admit three");
    assert_eq!(rules[1].limits[0].gone.says(), "requests pass, and nobody counts them");
}

/// Guards against telling a stranger, or a reviewer, other than what leaves the process.
#[test]
fn a_refusal_tells_what_the_limit_lets_a_client_see() {
    let policy = policy(LOCAL);
    let refusals: Vec<_> =
        explain(&policy).into_iter().flat_map(|rule| rule.limits).map(|one| one.refusal).collect();
    assert_eq!(refusals[0].fields, ["Retry-After", "RateLimit-Policy", "RateLimit"]);
    assert_eq!((refusals[1].status, refusals[1].fields.len()), (None, 0), "in shadow mode nobody is refused");
    assert!(!refusals[2].fields.contains(&"Retry-After") && refusals[2].says.contains("waiting never helps"));
    assert!(refusals[3].says.ends_with("held instead, for up to 2s"), "{}", refusals[3].says);
}
