//! The PROXY protocol on the wire; the table of headers is beside the parser.

use std::time::Duration;

use tidegate_server::net::{ProxyProtocol, ServeOptions};

use crate::support::{Gateway, RawServer, field, proxy_to};

async fn gateway(upstream: &RawServer, trusted: &str, timeout: Duration) -> Gateway {
    let proxy_protocol = Some(ProxyProtocol { trusted: vec![trusted.parse().unwrap()].into(), timeout });
    let options = ServeOptions { proxy_protocol, ..ServeOptions::default() };
    Gateway::start(proxy_to(upstream.address), options).await
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const V1: &[u8] = b"PROXY TCP4 203.0.113.5 10.0.0.1 4711 443\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x05\x0a\0\0\x01\x12\x67\x01\xbb";
const V2_LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

#[tokio::test]
async fn the_source_named_by_a_trusted_balancer_is_the_client() {
    let upstream = RawServer::new().await;
    let gateway = gateway(&upstream, "127.0.0.0/8", Duration::from_secs(20)).await;
    for (header, expected) in [
        (V1, "203.0.113.5"),
        (V2, "203.0.113.5"),
        (V2_LOCAL, "127.0.0.1"),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    ] {
        // In one piece with the request, then byte by byte.
        let whole = [header, GET].concat();
        for piece in [whole.len(), 1] {
            let mut client = gateway.connect().await;
            for bytes in whole.chunks(piece) {
                client.send(bytes).await;
                tokio::task::yield_now().await;
            }
            let mut server = upstream.accept().await;
            let head = server.read_head().await;
            assert_eq!(field(&head, "x-forwarded-for"), Some(expected), "{header:?} in pieces of {piece}");
            server.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
            client.read_head().await;
        }
    }
}

#[tokio::test]
async fn a_connection_without_a_header_is_dropped_unanswered() {
    let upstream = RawServer::new().await;
    let gateway = gateway(&upstream, "127.0.0.0/8", Duration::from_secs(20)).await;
    for bytes in
        [GET, b"PROXY TCP4 203.0.113.5 10.0.0.1 4711 99999\r\n", b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c"]
    {
        let mut client = gateway.connect().await;
        client.send(bytes).await;
        assert_eq!(client.read_to_close().await, "", "{bytes:?}");
    }
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn a_header_from_somebody_not_trusted_is_dropped_unread() {
    let upstream = RawServer::new().await;
    let gateway = gateway(&upstream, "10.0.0.0/8", Duration::from_secs(20)).await;
    let mut client = gateway.connect().await;
    // It may be closed before this arrives.
    let _ = tokio::io::AsyncWriteExt::write_all(client.stream_mut(), V1).await;
    assert_eq!(client.read_to_close().await, "");
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn half_a_header_is_waited_for_only_so_long() {
    let upstream = RawServer::new().await;
    let gateway = gateway(&upstream, "127.0.0.0/8", Duration::from_millis(50)).await;
    let mut client = gateway.connect().await;
    client.send(&V2[..20]).await;
    assert_eq!(client.read_to_close().await, "");
}

#[tokio::test]
async fn without_the_setting_a_header_is_just_a_bad_request() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for header in [V1, V2] {
        let mut client = gateway.connect().await;
        client.send([header, GET].concat()).await;
        assert!(client.read_to_close().await.starts_with("HTTP/1.1 400 "));
    }
    assert!(upstream.is_untouched().await);
}
