//! What nobody should send: each gets its documented answer, and the next request is served.

use tokio::net::TcpStream;

use super::world::{Running, get, post};
use crate::support::Raw;

const POLICY: &str = "
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  api_key: { header: x-api-key }
  who: { query: who }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    on_store_failure: deny
    limits:
      - { name: l, says: A million an hour per account., key: account, sliding_counter: { limit: 1000000, window: 1h } }
  - name: keyed
    class: api
    match: { path: /keyed }
    limits:
      - { name: l, says: A million an hour per key., key: api_key, sliding_counter: { limit: 1000000, window: 1h } }
  - name: asked
    class: api
    match: { path: /asked }
    limits:
      - { name: l, says: A million an hour per asker., key: who, sliding_counter: { limit: 1000000, window: 1h } }
";

/// Sends bytes on a connection of their own and returns the status of the answer.
async fn status_of(running: &Running, bytes: impl AsRef<[u8]>) -> String {
    let mut client = Raw::new(TcpStream::connect(running.gateway()).await.unwrap());
    client.send(bytes).await;
    let head = client.read_head().await;
    head.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn every_bad_input_has_its_answer_and_the_next_request_is_served() {
    let running = Running::by(POLICY).await;
    let verify = |body: &[u8]| post("/otp/verify", body);
    let long_key = format!(r#"{{"account":"{}"}}"#, "k".repeat(65_000));
    let too_long = format!(r#"{{"account":"{}"}}"#, "k".repeat(70_000));
    let hops = (0..1_000).map(|n| format!("10.0.{}.{}", n / 256, n % 256)).collect::<Vec<_>>().join(", ");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a body that is not JSON", verify(b"account=a"), "400"),
        ("a duplicate member", verify(br#"{"account":"a","account":"b"}"#), "400"),
        ("a case-variant member", verify(br#"{"account":"a","ACCOUNT":"b"}"#), "400"),
        ("a missing key", verify(br#"{"code":"1"}"#), "400"),
        ("an empty body", verify(b""), "400"),
        ("nested brackets", verify("[".repeat(20_000).as_bytes()), "400"),
        ("nested objects", verify(r#"{"a":"#.repeat(10_000).as_bytes()), "400"),
        ("a body that is not UTF-8", verify(b"{\"account\":\"\xff\xfe\"}"), "400"),
        ("a NUL in a key", verify(br#"{"account":"a\u0000b"}"#), "400"),
        ("a long key that fits", verify(long_key.as_bytes()), "200"),
        ("a 70,000-byte key", verify(too_long.as_bytes()), "413"),
        ("a header key given twice", get("/keyed", "x-api-key: a\r\nx-api-key: b\r\n").into(), "400"),
        (
            "a header key that is not UTF-8",
            b"GET /keyed HTTP/1.1\r\nhost: a\r\nx-api-key: \xff\r\n\r\n".to_vec(),
            "400",
        ),
        ("a NUL in a header", b"GET /keyed HTTP/1.1\r\nhost: a\r\nx-api-key: a\0b\r\n\r\n".to_vec(), "400"),
        ("a query key given twice", get("/asked?who=a&who=b", "").into(), "400"),
        ("an encoding that is none", get("/asked?who=%zz", "").into(), "400"),
        ("line ends in a query key", get("/asked?who=a%0d%0ab", "").into(), "400"),
        ("an encoded NUL in the path", get("/a%00b", "").into(), "400"),
        ("doubled slashes", post("//otp//verify", r#"{"account":"a"}"#), "200"),
        ("dots that lead to a rule", post("/x/%2e%2e/otp/verify", "{}"), "400"),
        ("dots that lead above the root", get("/../../etc/passwd", "").into(), "200"),
        ("absolute form", b"GET http://example.test/free HTTP/1.1\r\nhost: other\r\n\r\n".to_vec(), "200"),
        ("a thousand hops", get("/free", &format!("x-forwarded-for: {hops}\r\n")).into(), "200"),
        (
            "a header section that is too long",
            get("/free", &format!("x: {}\r\n", "y".repeat(70_000))).into(),
            "431",
        ),
    ];
    for (what, bytes, expected) in cases {
        assert_eq!(status_of(&running, bytes).await, expected, "{what}");
        assert_eq!(
            status_of(&running, post("/otp/verify", r#"{"account":"next"}"#)).await,
            "200",
            "after {what}"
        );
    }
}
