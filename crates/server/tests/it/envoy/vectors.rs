//! What a client of envoyproxy/ratelimit or limitador relies on, as far as a right server gives it: the vectors that
//! `docs/compatibility.md` names.

use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use envoy_types::pb::google::protobuf::UInt64Value;

use super::world::{Filed, World, question, told};
use crate::support::soon;

const BASIC: &str = "
domain: basic
descriptors:
  - { key: key1, rate_limit: { unit: second, requests_per_unit: 50 } }
  - { key: one_per_minute, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: free, rate_limit: { unlimited: true } }
";
const ANOTHER: &str = "
domain: another
descriptors:
  - { key: key2, rate_limit: { unit: hour, requests_per_unit: 20 } }
  - { key: key4, rate_limit: { unit: day, requests_per_unit: 20 } }
";
const SHARED: &str = "
domain: share-threshold-test
descriptors:
  - { key: files, value: files/*, share_threshold: true, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: files_no_share, value: files_no_share/*, rate_limit: { unit: hour, requests_per_unit: 10 } }
";

fn one(domain: &str, key: &str, value: &str, hits: u32) -> RateLimitRequest {
    RateLimitRequest { hits_addend: hits, ..question(domain, &[&[(key, value)]]) }
}

/// Guards R1 and R10.
#[tokio::test]
async fn an_unknown_domain_is_ok_without_a_limit_and_what_is_unlimited_has_the_most_left() {
    let served = Filed::serving("envoy-r1", &[("basic.yaml", BASIC)]).await;
    let reply = served.ask(one("foo", "hello", "world", 1)).await.unwrap();
    assert_eq!(told(&reply), (Code::Ok, vec![(Code::Ok, None, 0)]));
    assert_eq!(reply.statuses[0].duration_until_reset, None);
    let reply = served.ask(one("basic", "free", "x", 1)).await.unwrap();
    assert_eq!(told(&reply), (Code::Ok, vec![(Code::Ok, None, u32::MAX)]));
}

/// Guards R2.
#[tokio::test]
async fn a_configured_key_has_its_limit_and_is_counted_in_the_metrics() {
    let served = Filed::serving("envoy-r2", &[("basic.yaml", BASIC)]).await;
    let reply = served.ask(one("basic", "key1", "foo", 1)).await.unwrap();
    assert_eq!(told(&reply), (Code::Ok, vec![(Code::Ok, Some((50, Unit::Second.into())), 49)]));
    assert!(reply.statuses[0].duration_until_reset.is_some());
    assert_eq!(served.hits("basic", "key1", "within_limit").await, 1);
}

/// Guards R3, in an hour rather than a minute, which a test might straddle.
#[tokio::test]
async fn twenty_of_a_window_pass_and_the_rest_is_over_limit() {
    let served = Filed::serving("envoy-r3", &[("another.yaml", ANOTHER)]).await;
    for index in 0..25_u32 {
        let reply = served.ask(one("another", "key2", "random", 1)).await.unwrap();
        let code = if index < 20 { Code::Ok } else { Code::OverLimit };
        let status = (code, Some((20, Unit::Hour.into())), 19_u32.saturating_sub(index));
        assert_eq!(told(&reply), (code, vec![status]), "{index}");
    }
    let mut counts = Vec::new();
    for result in ["within_limit", "near_limit", "over_limit"] {
        counts.push(served.hits("another", "key2", result).await);
    }
    assert_eq!((counts.iter().sum::<u64>(), counts[2]), (25, 5));
}

/// Guards R5: the time left is never more than it was before.
#[tokio::test]
async fn the_time_until_a_window_ends_does_not_grow_within_it() {
    let served = Filed::serving("envoy-r5", &[("another.yaml", ANOTHER)]).await;
    let mut left = Vec::new();
    for _ in 0..2 {
        let reply = served.ask(one("another", "key4", "durTest", 1)).await.unwrap();
        left.push(reply.statuses[0].duration_until_reset.unwrap().seconds);
    }
    assert!((1..=86_400).contains(&left[0]) && left[1] <= left[0], "{left:?}");
}

/// Guards R6: a changed file is in force once it is read anew.
#[tokio::test]
async fn a_file_that_was_changed_is_in_force_after_a_reload() {
    let before = "domain: reload\ndescriptors: [{ key: other, rate_limit: { unit: second, requests_per_unit: 50 } }]\n";
    let after = "
domain: reload
descriptors:
  - { key: key1, rate_limit: { unit: second, requests_per_unit: 50 } }
  - { key: block, rate_limit: { unit: second, requests_per_unit: 0 } }
  - { key: one_per_minute, rate_limit: { unit: minute, requests_per_unit: 1 } }
";
    let served = Filed::serving("envoy-r6", &[("reload.yaml", before)]).await;
    let block = || one("reload", "block", "foo", 1);
    assert_eq!(told(&served.ask(block()).await.unwrap()), (Code::Ok, vec![(Code::Ok, None, 0)]));
    served.folder.write("reload.yaml", after);
    soon(served.reloader.reload()).await.unwrap();
    let second = Unit::Second.into();
    let reply = served.ask(one("reload", "key1", "foo", 1)).await.unwrap();
    assert_eq!(told(&reply), (Code::Ok, vec![(Code::Ok, Some((50, second)), 49)]));
    let blocked = served.ask(block()).await.unwrap();
    assert_eq!(told(&blocked), (Code::OverLimit, vec![(Code::OverLimit, Some((0, second)), 0)]));
}

/// Guards R7 and R8.
#[tokio::test]
async fn values_of_a_pattern_share_a_threshold_only_where_the_file_says_so() {
    let served = Filed::serving("envoy-r8", &[("shared.yaml", SHARED)]).await;
    for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
        let shared = one("share-threshold-test", "files", &format!("files/{name}"), 1);
        let own = one("share-threshold-test", "files_no_share", &format!("files_no_share/{name}"), 1);
        let remaining = [served.ask(shared).await.unwrap(), served.ask(own).await.unwrap()]
            .map(|reply| reply.statuses[0].limit_remaining);
        assert_eq!(remaining, [9 - u32::try_from(index).unwrap(), 9], "{name}");
    }
}

/// Guards E1 and E2, of which the second refuses nothing.
#[tokio::test]
async fn three_of_an_hour_pass_and_a_shadow_limit_refuses_nothing() {
    let config = "
domain: rl
descriptors:
  - key: foo
    descriptors:
      - { key: baz, value: not-so-shady, rate_limit: { unit: hour, requests_per_unit: 3 } }
      - { key: baz, value: shady, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 3 } }
";
    let served = Filed::serving("envoy-e1", &[("rl.yaml", config)]).await;
    let ask = async |baz: &str| {
        let request = question("rl", &[&[("foo", "pelle"), ("baz", baz)]]);
        served.ask(request).await.unwrap().overall_code()
    };
    for code in [Code::Ok, Code::Ok, Code::Ok, Code::OverLimit] {
        assert_eq!(ask("not-so-shady").await, code);
    }
    for _ in 0..5 {
        assert_eq!(ask("shady").await, Code::Ok);
    }
}

/// Guards E3: the value stands in the metric where the file wants it.
#[tokio::test]
async fn a_detailed_metric_names_the_value() {
    let config = "
domain: rl
descriptors:
  - { key: unspec, detailed_metric: true, rate_limit: { unit: hour, requests_per_unit: 2 } }
";
    let served = Filed::serving("envoy-e3", &[("rl.yaml", config)]).await;
    for code in [Code::Ok, Code::Ok, Code::OverLimit] {
        let reply = served.ask(one("rl", "unspec", "unspecified_value", 0)).await.unwrap();
        assert_eq!(reply.overall_code(), code);
    }
    assert_eq!(served.hits("rl", "unspec_unspecified_value", "over_limit").await, 1);
}

const QUOTA: &str = "
domain: rl
descriptors:
  - { key: service, value: one, quota_mode: true, metadata: { name: one }, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: service, value: two, quota_mode: true, metadata: { name: two }, rate_limit: { unit: hour, requests_per_unit: 2 } }
";

/// Guards E7: quotas refuse when all of them are used up, and not before.
#[tokio::test]
async fn quotas_refuse_once_all_of_them_are_used_up() {
    let served = Filed::serving("envoy-e7", &[("rl.yaml", QUOTA)]).await;
    let both = || question("rl", &[&[("service", "one")], &[("service", "two")]]);
    for code in [Code::Ok, Code::Ok, Code::OverLimit] {
        assert_eq!(served.ask(both()).await.unwrap().overall_code(), code);
    }
}

/// Guards E9: a look tells who has quota, the charge comes later, and the look refuses when nobody has any. One earlier than
/// the original, which charges beyond the limit and looks for that.
#[tokio::test]
async fn a_look_at_quotas_tells_who_has_some_and_is_refused_when_nobody_has() {
    let served = Filed::serving("envoy-e9", &[("rl.yaml", QUOTA)]).await;
    let look = || super::world::with_hits(question("rl", &[&[("service", "one")], &[("service", "two")]]), 0);
    for name in ["one", "two", "two"] {
        let reply = served.ask(look()).await.unwrap();
        assert_eq!(reply.overall_code(), Code::Ok);
        let over = reply.statuses.iter().map(|status| status.code() == Code::OverLimit).collect::<Vec<_>>();
        assert_eq!(over, [name == "two", false], "{reply:?}");
        served.ask(one("rl", "service", name, 1)).await.unwrap();
    }
    assert_eq!(served.ask(look()).await.unwrap().overall_code(), Code::OverLimit);
}

/// Guards `counting: each`: a look at what is used up refuses the call, and keeps nobody else from being charged.
#[tokio::test]
async fn a_refused_look_leaves_the_others_charged_each_by_itself() {
    let served = Filed::serving("envoy-look", &[("basic.yaml", BASIC), ("another.yaml", ANOTHER)]).await;
    let mut both = question("another", &[&[("key2", "gone")], &[("key4", "left")]]);
    assert_eq!(served.ask(one("another", "key2", "gone", 20)).await.unwrap().overall_code(), Code::Ok);
    both.descriptors[0].hits_addend = Some(UInt64Value { value: 0 });
    for _ in 0..2 {
        assert_eq!(served.ask(both.clone()).await.unwrap().overall_code(), Code::OverLimit);
    }
    let reply = served.ask(one("another", "key4", "left", 1)).await.unwrap();
    assert_eq!(reply.statuses[0].limit_remaining, 17);
}

const TEN: &str = "
keys: { app: { descriptor: app } }
rules:
  - name: ten
    match: { domain: test_namespace, descriptor: [ app ] }
    limits:
      - { name: l, says: \"Ten per clock hour, per app.\", key: app, fixed_window: { limit: 10, window: 1h } }
  - name: one
    match: { domain: test_namespace, descriptor: [ { key: one, value: \"1\" } ] }
    limits:
      - { name: l, says: One per clock hour for everyone together., key: global, fixed_window: { limit: 1, window: 1h } }
";

/// Guards L5 and L6: hits of a request count as many, and zero of a request counts as one.
#[tokio::test]
async fn six_and_six_of_ten_is_one_too_many_and_zero_hits_of_a_request_are_one() {
    let world = World::by(TEN).await;
    for (code, remaining) in [(Code::Ok, 4), (Code::OverLimit, 0)] {
        let reply = world.ask(one("test_namespace", "app", "1", 6)).await.unwrap();
        assert_eq!((reply.overall_code(), reply.statuses[0].limit_remaining), (code, remaining));
    }
    for code in [Code::Ok, Code::OverLimit] {
        assert_eq!(world.ask(one("test_namespace", "one", "1", 0)).await.unwrap().overall_code(), code);
    }
}

const HTTP: &str = "
api: { listen: 127.0.0.1:0 }
keys: { app: { header: x-app } }
rules:
  - name: ten
    match: { path: /ten }
    limits:
      - { name: l, says: \"Ten per clock hour, per app.\", key: app, fixed_window: { limit: 10, window: 1h } }
  - name: none
    match: { path: /none }
    limits:
      - { name: l, says: None in any hour for everyone together., key: global, sliding_log: { limit: 0, window: 1h } }
";

/// Asks the decision API for a cost.
async fn check(world: &World, path: &str, cost: i64) -> super::world::Answer {
    let body = serde_json::json!({ "path": path, "keys": { "app": "1" }, "cost": cost }).to_string();
    let headers = [("content-type", "application/json")];
    super::world::fetch(http::Method::POST, world.at.api.unwrap(), "/v1/check", &headers, &body).await
}

/// Guards H5.
#[tokio::test]
async fn more_than_a_limit_holds_is_refused_and_takes_nothing() {
    let world = World::by(HTTP).await;
    let refused = check(&world, "/ten", 20).await.json();
    assert_eq!((&refused["allowed"], &refused["never"]), (&false.into(), &true.into()));
    assert_eq!(check(&world, "/ten", 1).await.json()["decisions"][0]["remaining"], 9);
}

/// Guards H6.
#[tokio::test]
async fn nothing_at_all_is_allowed_and_takes_nothing() {
    let world = World::by(HTTP).await;
    for _ in 0..2 {
        let answer = check(&world, "/ten", 0).await.json();
        assert_eq!((&answer["allowed"], &answer["decisions"][0]["remaining"]), (&true.into(), &10.into()));
    }
}

/// Guards H7.
#[tokio::test]
async fn less_than_nothing_is_a_call_at_fault() {
    let world = World::by(HTTP).await;
    let answer = check(&world, "/ten", -1).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["member"]), (422, &"cost".into()));
}

/// Guards H9.
#[tokio::test]
async fn a_limit_of_nothing_refuses_and_no_waiting_helps() {
    let world = World::by(HTTP).await;
    let answer = check(&world, "/none", 1).await.json();
    assert_eq!((&answer["allowed"], &answer["never"]), (&false.into(), &true.into()));
}
