//! Calls: what is refused as such, tokens, bodies, metadata.

use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::google::protobuf::value::Kind;
use http::Method;
use serde_json::{Value, json};
use tonic::Code as Grpc;
use tonic::Request;

use super::world::{World, added, client, fetch, question};
use crate::support::soon;
use crate::tls::Folder;

const RULES: &str = "
keys: { user: { descriptor: user } }
headers: [ ietf, { x-ratelimit: delta } ]
rules:
  - name: login
    match: { domain: shop, descriptor: [ { key: path, value: /login }, user ] }
    envoy: { metadata: { tier: { name: gold }, seen: [ 1, two ] } }
    limits:
      - name: per-user
        says: One in any hour, per user.
        key: user
        sliding_log: { limit: 1, window: 1h }
  - name: second
    match: { domain: shop, descriptor: [ { key: path, value: /login }, user ] }
    envoy: { metadata: { tier: { name: silver, rank: 2 } } }
    limits:
      - name: all
        says: 100 in any hour for everyone together.
        key: global
        sliding_log: { limit: 100, window: 1h }
  - name: closed
    match: { domain: shop, descriptor: [ { key: path, value: /closed } ] }
    refuse: { status: 403, because: Not for the public. }
";

fn login() -> RateLimitRequest {
    question("shop", &[&[("path", "/login"), ("user", "ada")]])
}

/// Guards R9: such a call is an error that says what is wrong, not a pass.
#[tokio::test]
async fn a_call_without_a_domain_or_descriptors_or_keys_is_an_invalid_argument() {
    let world = World::by(RULES).await;
    for (request, says) in [
        (question("", &[&[("path", "/login")]]), "domain must not be empty"),
        (question("shop", &[]), "descriptor list must not be empty"),
        (question("shop", &[&[("path", "/a")], &[("", "x")]]), "descriptors[1] has an entry without a key"),
        (question("shop", &[&[]]), "descriptors[0] has no entries"),
    ] {
        let status = world.ask(request).await.unwrap_err();
        assert_eq!(status.code(), Grpc::InvalidArgument, "{status}");
        assert!(status.message().contains(says), "{status}");
    }
}

#[tokio::test]
async fn an_answer_has_the_headers_of_the_gateway_and_a_refusal_its_body() {
    let world = World::by(RULES).await;
    let reply = world.ask(login()).await.unwrap();
    assert_eq!(reply.overall_code(), Code::Ok);
    assert_eq!(
        added(&reply, "ratelimit-policy"),
        Some("\"login/per-user\";q=1;w=3600, \"second/all\";q=100;w=3600")
    );
    assert_eq!(added(&reply, "x-ratelimit-remaining"), Some("0"));
    assert_eq!((added(&reply, "retry-after"), added(&reply, "content-type")), (None, None));
    assert!(reply.raw_body.is_empty());

    let reply = world.ask(login()).await.unwrap();
    assert_eq!(reply.overall_code(), Code::OverLimit);
    let body: Value = serde_json::from_slice(&reply.raw_body).unwrap();
    assert_eq!(
        (&body["limit"], &body["says"]),
        (&json!("login/per-user"), &json!("One in any hour, per user."))
    );
    assert_eq!(body["status"], json!(429));
    assert_eq!(added(&reply, "content-type"), Some("application/problem+json"));
    let after: u64 = added(&reply, "retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&after), "{after}");
    assert_eq!(body["retry-after"], json!(after));
}

/// Guards against an error, after which Envoy lets pass what a rule closes.
#[tokio::test]
async fn what_a_rule_refuses_is_over_limit_with_its_reason() {
    let world = World::by(RULES).await;
    let reply = world.ask(question("shop", &[&[("path", "/closed")]])).await.unwrap();
    assert_eq!((reply.overall_code(), reply.statuses[0].code()), (Code::OverLimit, Code::OverLimit));
    let body: Value = serde_json::from_slice(&reply.raw_body).unwrap();
    assert_eq!(body["detail"], json!("Not for the public."));
    // Envoy chooses the status: a document that names another one would contradict it.
    assert_eq!(body.get("status"), None);
}

/// Guards against a key that reads two ways letting a request pass: elsewhere it is a bad request.
#[tokio::test]
async fn a_key_that_reads_two_ways_is_over_limit_with_its_reason() {
    let rules = "
keys: { user: { descriptor: user } }
rules:
  - name: all
    match: { domain: shop }
    limits:
      - { name: l, says: \"Ten in any hour, per user.\", key: user, sliding_log: { limit: 10, window: 1h } }
";
    let world = World::by(rules).await;
    let reply = world.ask(question("shop", &[&[("user", "a"), ("user", "b")]])).await.unwrap();
    assert_eq!((reply.overall_code(), reply.statuses[0].code()), (Code::OverLimit, Code::OverLimit));
    let body: Value = serde_json::from_slice(&reply.raw_body).unwrap();
    assert!(body["detail"].as_str().unwrap().contains("user"), "{body}");
}

#[tokio::test]
async fn metadata_of_what_passed_is_put_together_and_the_first_value_wins() {
    let world = World::by(RULES).await;
    let reply = world.ask(login()).await.unwrap();
    let Some(Kind::StructValue(all)) = reply.dynamic_metadata.unwrap().fields["metadata"].kind.clone() else {
        panic!("no structure")
    };
    let Some(Kind::StructValue(tier)) = all.fields["tier"].kind.clone() else { panic!("no structure") };
    assert_eq!(tier.fields["name"].kind, Some(Kind::StringValue("gold".to_owned())));
    assert_eq!(tier.fields["rank"].kind, Some(Kind::NumberValue(2.0)));
    let refused = world.ask(login()).await.unwrap();
    assert_eq!((refused.overall_code(), refused.dynamic_metadata), (Code::OverLimit, None));
}

/// Guards against a service that anybody in the network can ask, and through it drain limits.
#[tokio::test]
async fn a_token_is_demanded_of_every_call_but_those_about_health() {
    let folder = Folder::new("envoy-token");
    let file = folder.write("token", "0123456789abcdef0123456789abcdef\n");
    let world = World::with(&format!("timeout: 10s, token_file: {}", file.display()), RULES).await;
    let mut client = client(world.envoy()).await;
    let mut with = async |value: Option<&'static str>| {
        let mut request = Request::new(login());
        if let Some(value) = value {
            request.metadata_mut().insert("authorization", value.parse().unwrap());
        }
        soon(client.should_rate_limit(request)).await.map(|reply| reply.into_inner().overall_code())
    };
    assert_eq!(with(None).await.unwrap_err().code(), Grpc::Unauthenticated);
    assert_eq!(
        with(Some("Bearer 0123456789abcdef0123456789abcdee")).await.unwrap_err().code(),
        Grpc::Unauthenticated
    );
    assert_eq!(with(Some("Bearer 0123456789abcdef0123456789abcdef")).await.unwrap(), Code::Ok);
    let json = fetch(Method::POST, world.envoy(), "/json", &[], "{}").await;
    assert_eq!(
        (json.status.as_u16(), json.field("www-authenticate").as_str()),
        (401, "Bearer realm=\"tidegate\"")
    );
    assert_eq!(fetch(Method::GET, world.envoy(), "/healthcheck", &[], "").await.status.as_u16(), 200);
    let elsewhere = fetch(Method::GET, world.envoy(), "/elsewhere", &[], "").await;
    assert_eq!(elsewhere.status.as_u16(), 401);
}

/// Guards against a client who fills a header so that the question becomes too long to be answered, and passes.
#[tokio::test]
async fn a_question_with_a_full_header_in_every_descriptor_is_answered() {
    let world = World::by(RULES).await;
    let long = "x".repeat(60 << 10);
    let entries = [("path", "/login"), ("user", long.as_str())];
    let question = || question("shop", &[&entries[..]; 128]);
    let reply = world.ask(question()).await.unwrap();
    assert_eq!((reply.overall_code(), reply.statuses.len()), (Code::OverLimit, 128));
}
