//! A real Envoy before an upstream, which asks a real Tidegate.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::world::{Front, Told, World};
use crate::support::{Raw, moment, soon, status};
use crate::tls::Folder;

const RULES: &str = "
keys: { path: { descriptor: path }, user: { descriptor: user } }
headers: [ ietf ]
rules:
  - name: pages
    match: { domain: shop, descriptor: [ path ] }
    limits:
      - name: a-minute
        says: 20 in any minute, per path.
        key: path
        sliding_log: { limit: 20, window: 1m }
      - { name: hourly, says: \"Two per clock hour, per path.\", key: path, fixed_window: { limit: 2, window: 1h } }
  - name: per-user
    match: { domain: shop, descriptor: [ user ] }
    limits:
      - { name: l, says: \"One in any hour, per user.\", key: user, sliding_log: { limit: 1, window: 1h } }
  - name: tokens
    match: { domain: shop, descriptor: [ { key: generic_key, value: tokens } ] }
    limits:
      - { name: l, says: Two in any hour for everyone together., key: global, sliding_log: { limit: 2, window: 1h } }
";

/// Guards what it is all for: Envoy lets pass what is within the limit, and refuses the rest with what Tidegate says.
#[tokio::test]
async fn envoy_lets_pass_what_is_within_the_limit_and_refuses_the_rest() {
    let world = World::by(RULES).await;
    let front = Front::asking(world.envoy(), Told::default()).await;
    for left in ["1", "0"] {
        let answer = front.get("/a", &[]).await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, "hello"));
        assert!(
            answer.field("ratelimit").starts_with(&format!("\"pages/hourly\";r={left};t=")),
            "{answer:?}"
        );
        assert_eq!(answer.field("x-ratelimit-limit"), "", "{answer:?}");
    }
    let answer = front.get("/a", &[]).await;
    assert_eq!(answer.status.as_u16(), 429);
    assert_eq!(answer.field("x-envoy-ratelimited"), "true");
    assert_eq!(answer.field("content-type"), "application/problem+json");
    assert_eq!(answer.field("cache-control"), "no-store");
    assert_eq!(answer.json()["limit"], json!("pages/hourly"));
    let after: u64 = answer.field("retry-after").parse().unwrap();
    assert!((1..=3_600).contains(&after), "{after}");
    assert_eq!(front.get("/b", &[]).await.status.as_u16(), 200);
    assert_eq!(
        (front.stat("ok").await, front.stat("over_limit").await, front.stat("error").await),
        (3, 1, 0)
    );
}

/// Guards the numbers that Envoy makes headers of: the status with the least remaining, and every limit whose window is a
/// unit.
#[tokio::test]
async fn envoys_own_headers_tell_the_tightest_limit() {
    let world = World::by(RULES).await;
    let filter = "enable_x_ratelimit_headers: DRAFT_VERSION_03";
    let front = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    let answer = front.get("/a", &[]).await;
    assert_eq!(answer.field("x-ratelimit-limit"), "2, 2;w=3600;name=\"pages/hourly\"");
    assert_eq!(answer.field("x-ratelimit-remaining"), "1");
    let reset: u64 = answer.field("x-ratelimit-reset").parse().unwrap();
    assert!((1..=3_600).contains(&reset), "{reset}");
}

/// Guards against a `Retry-After` that comes twice, or of Envoy's making where the rule hides it.
#[tokio::test]
async fn envoys_retry_after_does_not_come_on_top_of_ours() {
    let world = World::by(RULES).await;
    let filter = "enable_retry_after_header: true";
    let front = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    for _ in 0..2 {
        assert_eq!(front.get("/a", &[]).await.field("retry-after"), "");
    }
    let refused = front.get("/a", &[]).await;
    let after: u64 = refused.field("retry-after").parse().unwrap();
    assert!((1..=3_600).contains(&after), "{refused:?}");
}

const BY_USER: &str = "[{ actions: [{ request_headers: { header_name: x-user, descriptor_key: user } }] }]";

/// Guards against a client who gets past his limit by a header that is no text: an answer that fails lets pass.
#[tokio::test]
async fn a_header_that_is_no_text_is_limited_as_any_other() {
    let world = World::by(RULES).await;
    let front = Front::asking(world.envoy(), Told { rate_limits: BY_USER, ..Told::default() }).await;
    let address = front.address().await;
    let ask = async || {
        let mut stream = soon(TcpStream::connect(address)).await.unwrap();
        let head = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-user: caf\xe9\r\n\r\n";
        soon(stream.write_all(head)).await.unwrap();
        status(&Raw::new(stream).read_to_close().await)
    };
    assert_eq!((ask().await, ask().await), (200, 429));
    assert_eq!(front.stat("error").await, 0);
}

/// Guards against an Envoy that is not let in by the token it has.
#[tokio::test]
async fn envoy_is_let_in_by_the_token_among_its_metadata() {
    let folder = Folder::new("envoy-behind-token");
    let file = folder.write("token", "0123456789abcdef0123456789abcdef\n");
    let world = World::with(&format!("timeout: 10s, token_file: {}", file.display()), RULES).await;
    let service =
        "initial_metadata: [{ key: authorization, value: Bearer 0123456789abcdef0123456789abcdef }]";
    let filter = "failure_mode_deny: true";
    let known = Front::asking(world.envoy(), Told { filter, service, ..Told::default() }).await;
    assert_eq!(known.get("/a", &[]).await.status.as_u16(), 200);
    let stranger = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    assert_eq!(stranger.get("/a", &[]).await.status.as_u16(), 500);
    assert_eq!((known.stat("ok").await, stranger.stat("error").await), (1, 1));
}

/// Guards E8, what an answer has cost: a look at the door, and the charge once the answer is done.
#[tokio::test]
async fn what_is_charged_when_an_answer_is_done_is_met_at_the_next_door() {
    let world = World::by(RULES).await;
    // Of the filter, not of the route: there Envoy takes no notice of `hits_addend`.
    let filter = "rate_limits: [
      { hits_addend: { number: 0 }, actions: [{ generic_key: { descriptor_value: tokens } }] },
      { hits_addend: { number: 1 }, apply_on_stream_done: true, actions: [{ generic_key: { descriptor_value: tokens } }] } ]";
    let front = Front::asking(world.envoy(), Told { filter, ..Told::default() }).await;
    for charged in 1..=2 {
        assert_eq!(front.get("/", &[]).await.status.as_u16(), 200);
        // Envoy tells of it when the answer has gone out, and waits for nothing.
        let told = async {
            while charges(&world).await != charged {
                moment().await;
            }
        };
        soon(told).await;
    }
    assert_eq!(front.get("/", &[]).await.status.as_u16(), 429);
}

/// Returns how many charges Tidegate has been told of.
async fn charges(world: &World) -> u64 {
    let metrics = world.metrics().await;
    let count = |result| super::world::hits(&metrics, "shop", "generic_key_tokens", result);
    count("within_limit") + count("near_limit")
}
