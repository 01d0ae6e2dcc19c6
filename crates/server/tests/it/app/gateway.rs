//! The gateway: limit, then forward.

use tokio::net::TcpStream;

use super::world::{Running, get, post};
use crate::support::Raw;

const VERIFY: &str = "
keys:
  account: { json: /account, normalize: [trim, lowercase] }
rules:
  - name: edge
    class: edge
    match: { path: /** }
    limits:
      - { name: per-client, says: Up to 600 a minute per client., key: client_ip, sliding_counter: { limit: 600, window: 1m } }
  - name: verify
    class: verify
    client_sees: all
    match: { method: POST, path: /otp/verify }
    on_store_failure: deny
    limits:
      - name: per-account
        says: You can try four times quickly, then once every ten seconds, per account.
        key: account
        token_bucket: { capacity: 4, refill: 1 per 10s }
";

async fn connect(running: &Running) -> Raw<TcpStream> {
    Raw::new(TcpStream::connect(running.gateway()).await.unwrap())
}

#[tokio::test]
async fn four_guesses_pass_the_fifth_is_refused_with_words_and_another_account_is_untouched() {
    let running = Running::by(VERIFY).await;
    let mut client = connect(&running).await;
    for _ in 0..4 {
        client.send(post("/otp/verify", r#"{"account":"odalys"}"#)).await;
        let head = client.read_head().await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("ratelimit: \"verify/per-account\";r="), "{head}");
        assert_eq!(client.read_exact(20).await, br#"{"account":"odalys"}"#);
    }
    client.send(post("/otp/verify", r#"{"account":"Odalys "}"#)).await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(head.contains("\r\nretry-after: 10\r\n"), "{head}");
    assert!(head.contains("\r\nratelimit: \"verify/per-account\";r=0;t=10\r\n"), "{head}");
    let body = client.read_until("}").await;
    assert!(body.contains("then once every ten seconds, per account."), "{body}");
    client.send(post("/otp/verify", r#"{"account":"fenwick"}"#)).await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_refused_request_is_not_asked_for_its_body() {
    let running = Running::by(
        "
rules:
  - name: none
    class: api
    match: { path: /** }
    limits:
      - { name: zero, says: Nobody., key: global, fixed_window: { limit: 0, window: 1m } }
",
    )
    .await;
    let mut client = connect(&running).await;
    client
        .send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\nexpect: 100-continue\r\n\r\n")
        .await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
}

#[tokio::test]
async fn head_is_limited_as_get_is_and_has_no_body() {
    let running = Running::by(
        "
rules:
  - name: r
    class: api
    client_sees: all
    match: { method: [GET, HEAD], path: /** }
    limits:
      - { name: l, says: One an hour., key: global, token_bucket: { capacity: 1, refill: 1 per 1h } }
",
    )
    .await;
    let mut client = connect(&running).await;
    client.send(get("/", "")).await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 200"));
    client.send("HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 429") && head.contains("retry-after: 3600"), "{head}");
    assert_eq!(client.read_to_close().await, "");
}

#[tokio::test]
async fn held_requests_start_in_their_slots_and_none_is_lost_when_the_gateway_stops() {
    let running = Running::by(
        "
rules:
  - name: paced
    class: api
    match: { path: /** }
    limits:
      - name: even
        says: One every 50 milliseconds, with up to ten waiting.
        key: global
        leaky_bucket: { rate: 20 per 1s, queue: 10 }
",
    )
    .await;
    let begun = std::time::Instant::now();
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = connect(&running).await;
        client.send(get("/", "connection: close\r\n")).await;
        clients.push(client);
    }
    let mut answers = tokio::task::JoinSet::new();
    for mut client in clients {
        answers.spawn(async move {
            let head = client.read_head().await;
            (head.split(' ').nth(1).unwrap().to_owned(), begun.elapsed())
        });
    }
    let mut passed = Vec::new();
    let mut stop = Some(running);
    let mut report = None;
    while let Some(answer) = answers.join_next().await {
        let (status, after) = answer.unwrap();
        // At the first answer the others are still held.
        if let Some(running) = stop.take() {
            report = Some(tokio::spawn(running.stop()));
        }
        if status == "200" {
            passed.push(after);
        } else {
            assert_eq!(status, "429");
        }
    }
    assert!(passed.len() >= 11, "{passed:?}");
    passed.sort_unstable();
    for (slot, after) in (0_u32..).zip(&passed) {
        // A request may come late, never early.
        assert!(*after >= std::time::Duration::from_millis(50) * slot, "slot {slot}: {passed:?}");
    }
    let report = report.unwrap().await.unwrap();
    assert_eq!(report.gateway.unwrap().requests_cut, 0);
}

#[tokio::test]
async fn the_client_is_who_a_trusted_proxy_says_and_the_upstream_is_told() {
    let limits = "
rules:
  - name: r
    class: edge
    match: { path: /** }
    limits:
      - { name: l, says: One an hour per client., key: client_ip, token_bucket: { capacity: 1, refill: 1 per 1h } }
";
    let running = Running::by(&format!("trusted_proxies: [127.0.0.0/8]\n{limits}")).await;
    let mut client = connect(&running).await;
    for (forwarded, status) in [
        ("6.6.6.6, 203.0.113.5", "200"),
        ("7.7.7.7, 203.0.113.5:4711", "429"),
        ("7.7.7.7, ::ffff:203.0.113.5", "429"),
        ("203.0.113.6", "200"),
    ] {
        client.send(get("/", &format!("x-forwarded-for: {forwarded}\r\n"))).await;
        let head = client.read_head().await;
        assert_eq!(head.split(' ').nth(1), Some(status), "{forwarded}: {head}");
        if status == "200" {
            assert!(head.contains(&format!("x-saw-forwarded-for: {forwarded}, 127.0.0.1")), "{head}");
        } else {
            client.read_until("}").await;
        }
    }
    // Nobody is trusted unless said: then the field is the client's own invention.
    let running = Running::by(limits).await;
    let mut client = connect(&running).await;
    client.send(get("/", "x-forwarded-for: 1.2.3.4\r\n")).await;
    let head = client.read_head().await;
    assert!(head.contains("x-saw-forwarded-for: 127.0.0.1\r\n"), "{head}");
    client.send(get("/", "x-forwarded-for: 1.2.3.5\r\n")).await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 429"));
}

/// Guards against a header of the policy's own choice that the upstream believes, and that anybody may send.
#[tokio::test]
async fn the_policys_own_client_header_reaches_the_upstream_only_from_those_it_trusts() {
    let more = "client_header: cf-connecting-ip\nfallback: { limits: [{ name: l, says: Nine an hour per client., \
                key: client_ip, sliding_log: { limit: 9, window: 1h } }] }\n";
    for (trusted, seen) in [("[127.0.0.0/8]", "6.6.6.6"), ("[10.0.0.0/8]", "")] {
        let running = Running::by(&format!("trusted_proxies: {trusted}\n{more}")).await;
        let mut client = connect(&running).await;
        client.send(get("/", "CF-Connecting-IP: 6.6.6.6\r\nCF_Connecting_IP: 7.7.7.7\r\n")).await;
        let head = client.read_head().await;
        assert!(head.contains(&format!("x-saw-client: {seen}\r\n")), "{head}");
    }
}

/// Guards against a key in a field that `Connection` takes away: each value would be a fresh key, and the service behind
/// would see a request without one.
#[tokio::test]
async fn a_field_that_the_upstream_will_not_see_is_no_key() {
    let running = Running::by(
        "
keys:
  api_key: { header: x-api-key }
  caller: { first_of: [api_key, client_ip] }
rules:
  - name: r
    match: { path: /** }
    limits:
      - { name: l, says: Two a day per caller., key: caller, sliding_log: { limit: 2, window: 24h } }
",
    )
    .await;
    let mut statuses = Vec::new();
    for key in ["a", "b", "c"] {
        let mut client = connect(&running).await;
        let fields = format!("Connection: close, x-api-key\r\nX-Api-Key: {key}");
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n")).await;
        statuses.push(client.read_head().await[9..12].to_owned());
    }
    assert_eq!(statuses, ["200", "200", "429"]);
}
