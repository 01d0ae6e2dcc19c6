//! gRPC's health and reflection, and the health of the JSON door.

use futures_util::StreamExt as _;
use http::Method;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use super::world::{World, fetch};
use crate::support::soon;

const RULES: &str = "
rules:
  - name: all
    match: { domain: shop }
    limits:
      - { name: l, says: Ten in any hour for everyone together., key: global, sliding_log: { limit: 10, window: 1h } }
";

async fn channel(world: &World) -> Channel {
    let endpoint = Channel::from_shared(format!("http://{}", world.envoy())).unwrap();
    soon(endpoint.connect()).await.unwrap()
}

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

/// Guards against load balancers that go on sending calls to a process that ends, and against a watcher who holds its end up.
#[tokio::test]
async fn the_service_says_that_it_serves_until_a_stop_is_asked_for() {
    let world = World::by(RULES).await;
    let mut health = HealthClient::new(channel(&world).await);
    for service in ["", "envoy.service.ratelimit.v3.RateLimitService", "ratelimit"] {
        let said = soon(health.check(about(service))).await.unwrap().into_inner();
        assert_eq!(said.status(), ServingStatus::Serving, "{service}");
    }
    let unknown = soon(health.check(about("elsewhere"))).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    assert_eq!(fetch(Method::GET, world.envoy(), "/healthcheck", &[], "").await.body, "OK");
    // Whoever looks for metrics here has to see which listener this is.
    let elsewhere = fetch(Method::GET, world.envoy(), "/metrics", &[], "").await;
    assert_eq!(elsewhere.status.as_u16(), 404);
    assert!(elsewhere.body.contains("/json and /healthcheck (envoy)"), "{}", elsewhere.body);

    let mut watch = soon(health.watch(about("ratelimit"))).await.unwrap().into_inner();
    let mut elsewhere = soon(health.watch(about("elsewhere"))).await.unwrap().into_inner();
    let first = soon(watch.next()).await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    let first = soon(elsewhere.next()).await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::ServiceUnknown);
    let ended = world.stop();
    let last = soon(watch.next()).await.unwrap().unwrap();
    assert_eq!(last.status(), ServingStatus::NotServing);
    assert!(soon(watch.next()).await.is_none());
    assert!(soon(elsewhere.next()).await.is_none());
    // Long before the time a drain may take.
    let report = soon(ended).await.unwrap();
    assert_eq!(report.envoy.unwrap().connections_cut, 0);
}

/// Guards tools that ask what can be called, and then for the files that this refers to.
#[tokio::test]
async fn reflection_names_the_services_and_has_every_file_that_they_refer_to() {
    let world = World::by(RULES).await;
    let mut client = ServerReflectionClient::new(channel(&world).await);
    let mut ask = async |what: MessageRequest| {
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(what) };
        let stream = futures_util::stream::iter([request]);
        let mut replies = soon(client.server_reflection_info(stream)).await.unwrap().into_inner();
        soon(replies.next()).await.unwrap().unwrap().message_response.unwrap()
    };
    let MessageResponse::ListServicesResponse(list) = ask(MessageRequest::ListServices(String::new())).await
    else {
        panic!("no list")
    };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let symbol = "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit".to_owned();
    let MessageResponse::FileDescriptorResponse(file) =
        ask(MessageRequest::FileContainingSymbol(symbol)).await
    else {
        panic!("no file")
    };
    let text = String::from_utf8_lossy(&file.file_descriptor_proto[0]).into_owned();
    for import in ["envoy/extensions/common/ratelimit/v3/ratelimit.proto", "google/protobuf/duration.proto"] {
        assert!(text.contains(import));
        let answer = ask(MessageRequest::FileByFilename(import.to_owned())).await;
        assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)), "{answer:?}");
    }
}
