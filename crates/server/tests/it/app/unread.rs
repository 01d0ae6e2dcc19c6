//! Refusals of requests whose body nobody reads: the connection goes on, or says that it does not.

use tokio::net::TcpStream;

use super::world::{Running, get, post};
use crate::support::{Raw, field};

/// Nothing is ever admitted, and no limit reads a body.
const POLICY: &str = "
rules:
  - name: none
    match: { path: /none }
    limits:
      - { name: l, says: None at all., key: client_ip, sliding_counter: { limit: 0, window: 1h } }
";

async fn connect(running: &Running) -> Raw<TcpStream> {
    Raw::new(TcpStream::connect(running.gateway()).await.unwrap())
}

/// Guards a proxy's other clients, whose requests come next on the connection of one that was refused.
#[tokio::test]
async fn a_short_body_that_is_there_leaves_the_connection_open() {
    let running = Running::by(POLICY).await;
    let mut client = connect(&running).await;
    for _ in 0..3 {
        client.send(post("/none", "a short body")).await;
        let head = client.read_head().await;
        assert!(head.starts_with("HTTP/1.1 429"), "{head}");
        assert_eq!(field(&head, "connection"), None, "{head}");
        let length = field(&head, "content-length").unwrap().parse().unwrap();
        client.read_exact(length).await;
    }
    client.send(get("/", "connection: close\r\n")).await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 200"));
    running.stop().await;
}

/// Guards against a connection that ends without a word: whoever shares it has to know before the next request.
#[tokio::test]
async fn a_body_that_is_not_there_ends_the_connection_and_the_answer_says_so() {
    let running = Running::by(POLICY).await;
    let cases = [
        ("a body to come", "POST /none HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n"),
        ("a body too long to wait for", "POST /none HTTP/1.1\r\nhost: a\r\ncontent-length: 50000000\r\n\r\n"),
        ("chunks to come", "POST /none HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"),
        (
            "a client that asks first",
            "POST /none HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n",
        ),
    ];
    for (fault, head) in cases {
        let mut client = connect(&running).await;
        client.send(head).await;
        let answer = client.read_head().await;
        assert!(answer.starts_with("HTTP/1.1 429"), "{fault}: {answer}");
        assert_eq!(field(&answer, "connection"), Some("close"), "{fault}: {answer}");
    }
    running.stop().await;
}
