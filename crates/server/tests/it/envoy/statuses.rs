//! What is said of each descriptor.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus};
use tonic::Code as Grpc;

use super::world::{Filed, World, descriptor, question, told, with_hits};
use crate::support::soon;
use crate::tls::Folder;

const RULES: &str = "
keys: { user: { descriptor: user } }
rules:
  - name: per-user
    match: { domain: shop, descriptor: [ user ] }
    limits:
      - name: hourly
        says: Three per clock hour, per user.
        key: user
        fixed_window: { limit: 3, window: 1h }
  - name: bucket
    match: { domain: shop, descriptor: [ { key: kind, value: bucket } ] }
    envoy: { label: my bucket }
    limits:
      - name: l
        says: 60 at once, then one a second, for everyone together.
        key: global
        token_bucket: { capacity: 60, refill: 1 per 1s }
  - name: odd
    match: { domain: shop, descriptor: [ { key: kind, value: odd } ] }
    limits:
      - name: l
        says: Five in any ten minutes for everyone together.
        key: global
        sliding_log: { limit: 5, window: 10m }
  - name: free
    match: { domain: shop, descriptor: [ { key: kind, value: free } ] }
    envoy: { unlimited: true }
  - name: quiet
    match: { domain: shop, descriptor: [ { key: kind, value: quiet } ] }
    client_sees: nothing
    limits:
      - name: l
        says: One in any hour for everyone together.
        key: global
        sliding_log: { limit: 1, window: 1h }
";

/// Guards R1, R2 and R10 on one call: statuses have the length and the order of the descriptors.
#[tokio::test]
async fn statuses_have_the_length_and_the_order_of_the_descriptors() {
    let world = World::by(RULES).await;
    let kinds = ["bucket", "unheard-of", "free", "odd"];
    let entries: Vec<_> = kinds.iter().map(|kind| [("kind", *kind)]).collect();
    let descriptors: Vec<&[(&str, &str)]> = entries.iter().map(|entry| &entry[..]).collect();
    let reply = world.ask(question("shop", &descriptors)).await.unwrap();
    let (minute, unknown) = (Unit::Minute.into(), Unit::Unknown.into());
    let expected = vec![
        (Code::Ok, Some((60, minute)), 59),
        (Code::Ok, None, 0),
        (Code::Ok, None, u32::MAX),
        (Code::Ok, Some((5, unknown)), 4),
    ];
    assert_eq!(told(&reply), (Code::Ok, expected));
    let name = |place: usize| reply.statuses[place].current_limit.as_ref().unwrap().name.clone();
    assert_eq!((name(0), name(3)), ("my bucket".to_owned(), "odd/l".to_owned()));
}

/// Guards against `UNKNOWN`, which Envoy lets pass, and against a wait that is over too early.
#[tokio::test]
async fn a_refusal_is_over_limit_with_the_wait_in_whole_seconds() {
    let world = World::by(RULES).await;
    let ask = || question("shop", &[&[("user", "ada")]]);
    for remaining in [2, 1, 0] {
        let reply = world.ask(ask()).await.unwrap();
        let hour = Unit::Hour.into();
        assert_eq!(told(&reply), (Code::Ok, vec![(Code::Ok, Some((3, hour)), remaining)]));
    }
    let reply = world.ask(ask()).await.unwrap();
    assert_eq!(told(&reply).0, Code::OverLimit);
    let status = &reply.statuses[0];
    assert_eq!((status.code(), status.limit_remaining), (Code::OverLimit, 0));
    let wait = status.duration_until_reset.unwrap();
    assert!((1..=3_600).contains(&wait.seconds) && wait.nanos == 0, "{wait:?}");
    let after: i64 = super::world::added(&reply, "retry-after").unwrap().parse().unwrap();
    assert!(wait.seconds >= after, "{wait:?} {after}");
    // Somebody else's.
    assert_eq!(world.ask(question("shop", &[&[("user", "bob")]])).await.unwrap().overall_code(), Code::Ok);
}

/// Guards against a descriptor that is charged although another one of its call is refused.
#[tokio::test]
async fn a_call_that_is_refused_has_taken_nothing() {
    let world = World::by(RULES).await;
    let both = || question("shop", &[&[("user", "eve")], &[("kind", "odd")]]);
    for _ in 0..3 {
        assert_eq!(world.ask(both()).await.unwrap().overall_code(), Code::Ok);
    }
    for _ in 0..3 {
        let reply = world.ask(both()).await.unwrap();
        let codes: Vec<_> = reply.statuses.iter().map(DescriptorStatus::code).collect();
        assert_eq!((reply.overall_code(), codes), (Code::OverLimit, vec![Code::OverLimit, Code::Ok]));
    }
    let left = world.ask(question("shop", &[&[("kind", "odd")]])).await.unwrap();
    assert_eq!(left.statuses[0].limit_remaining, 1);
}

/// Guards against Envoy showing a limit that its rule hides: it makes headers of what stands in a status.
#[tokio::test]
async fn a_rule_that_clients_see_nothing_of_is_told_to_envoy_without_its_numbers() {
    let world = World::by(RULES).await;
    let ask = || question("shop", &[&[("kind", "quiet")]]);
    for code in [Code::Ok, Code::OverLimit] {
        let reply = world.ask(ask()).await.unwrap();
        assert_eq!(told(&reply), (code, vec![(code, None, 0)]));
        assert_eq!(reply.statuses[0].duration_until_reset, None);
        let names: Vec<_> = reply.response_headers_to_add.iter().map(|it| it.key.as_str()).collect();
        let shown = names.iter().any(|name| name.contains("ratelimit") || *name == "retry-after");
        assert!(!shown, "{names:?}");
    }
}

#[tokio::test]
async fn hits_are_taken_as_many_as_are_said_and_zero_of_a_descriptor_only_looks() {
    let world = World::by(RULES).await;
    let remaining = async |request| {
        let reply = world.ask(request).await.unwrap();
        (reply.overall_code(), reply.statuses[0].limit_remaining)
    };
    let odd = || question("shop", &[&[("kind", "odd")]]);
    let mut two = odd();
    two.hits_addend = 2;
    assert_eq!(remaining(two.clone()).await, (Code::Ok, 3));
    assert_eq!(remaining(with_hits(odd(), 0)).await, (Code::Ok, 3));
    // The descriptor's own win.
    assert_eq!(remaining(with_hits(two, 1)).await, (Code::Ok, 2));
    assert_eq!(remaining(with_hits(odd(), 3)).await, (Code::OverLimit, 0));
    assert_eq!(remaining(with_hits(odd(), 2)).await, (Code::Ok, 0));
    // Where nothing is left a look says so: what was charged when an answer was done could otherwise never refuse.
    assert_eq!(remaining(with_hits(odd(), 0)).await, (Code::OverLimit, 0));
}

/// Guards against hits that are charged where Envoy wants them back.
#[tokio::test]
async fn negative_hits_are_given_back() {
    let world = World::by(RULES).await;
    let odd = || question("shop", &[&[("kind", "odd")]]);
    assert_eq!(world.ask(with_hits(odd(), 5)).await.unwrap().statuses[0].limit_remaining, 0);
    let mut back = with_hits(odd(), 3);
    back.descriptors[0].is_negative_hits = true;
    let reply = world.ask(back).await.unwrap();
    assert_eq!((reply.overall_code(), reply.statuses[0].limit_remaining), (Code::Ok, 3));
    assert_eq!(world.ask(odd()).await.unwrap().statuses[0].limit_remaining, 2);
}

#[tokio::test]
async fn a_limit_that_comes_along_stands_in_for_the_policys() {
    let world = World::by(RULES).await;
    let ask = |requests_per_unit, unit| {
        let mut one = descriptor(&[("user", "grace")]);
        one.limit = Some(RateLimitOverride { requests_per_unit, unit });
        let mut request = question("shop", &[]);
        request.descriptors.push(one);
        request
    };
    let (day, hour) = (Unit::Day.into(), Unit::Hour.into());
    for remaining in [1, 0] {
        let reply = world.ask(ask(2, 4)).await.unwrap();
        assert_eq!(told(&reply), (Code::Ok, vec![(Code::Ok, Some((2, day)), remaining)]));
    }
    let reply = world.ask(ask(2, 4)).await.unwrap();
    assert_eq!(told(&reply), (Code::OverLimit, vec![(Code::OverLimit, Some((2, day)), 0)]));
    // Without it the policy's own is untouched.
    let own = world.ask(question("shop", &[&[("user", "grace")]])).await.unwrap();
    assert_eq!(told(&own).1, [(Code::Ok, Some((3, hour)), 2)]);
    // And no domain is made up by it.
    let mut elsewhere = ask(0, 1);
    elsewhere.domain = "unheard-of".to_owned();
    assert_eq!(told(&world.ask(elsewhere).await.unwrap()), (Code::Ok, vec![(Code::Ok, None, 0)]));
    assert_eq!(world.ask(ask(1, 0)).await.unwrap_err().code(), Grpc::InvalidArgument);
}

/// Guards what a call is charged when one of its descriptors is refused, and a reload that would leave that as it was.
#[tokio::test]
async fn how_descriptors_are_counted_is_as_the_policy_in_force_says() {
    let text = |counting: &str| {
        format!("tidegate: 1\nenvoy: {{ listen: 127.0.0.1:0, timeout: 10s, counting: {counting} }}\n{RULES}")
    };
    let served = Filed::by(Folder::new("envoy-counting"), &text("all_or_nothing")).await;
    let odd = || question("shop", &[&[("kind", "odd")]]);
    let both = || question("shop", &[&[("kind", "quiet")], &[("kind", "odd")]]);
    assert_eq!(served.ask(both()).await.unwrap().overall_code(), Code::Ok);
    assert_eq!(served.ask(both()).await.unwrap().overall_code(), Code::OverLimit);
    let looked = served.ask(with_hits(odd(), 0)).await.unwrap();
    assert_eq!(looked.statuses[0].limit_remaining, 4);
    served.folder.write("policy.yaml", text("each"));
    soon(served.reloader.reload()).await.unwrap();
    assert_eq!(served.ask(both()).await.unwrap().overall_code(), Code::OverLimit);
    let looked = served.ask(with_hits(odd(), 0)).await.unwrap();
    assert_eq!(looked.statuses[0].limit_remaining, 3);
}
