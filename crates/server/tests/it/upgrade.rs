//! Tunnels: WebSocket and any other protocol, and those that must never become one.

use futures_util::{SinkExt, StreamExt};
use tidegate_server::net::ServeOptions;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Gateway, RawServer, field, proxy_to, soon, status, under_way};

const UPGRADE: &str =
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: foo/2\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: foo/2\r\n\r\n";

#[tokio::test]
async fn web_sockets_work_through_the_gateway() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let server = tokio::spawn(async move {
        let stream = upstream.accept().await.into_stream();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            if !message.is_close() {
                socket.send(message).await.unwrap();
            }
        }
    });
    let stream = gateway.connect().await.into_stream();
    let (mut socket, _) = soon(tokio_tungstenite::client_async("ws://shop/chat", stream)).await.unwrap();
    for message in [Message::text("hello"), Message::binary(vec![7; 300_000])] {
        soon(socket.send(message.clone())).await.unwrap();
        assert_eq!(soon(socket.next()).await.unwrap().unwrap(), message);
    }
    soon(socket.close(None)).await.unwrap();
    assert!(soon(socket.next()).await.unwrap().unwrap().is_close());
    soon(server).await.unwrap();
}

#[tokio::test]
async fn any_protocol_is_tunnelled_with_what_was_sent_ahead() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send(format!("{UPGRADE}ahead")).await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert_eq!((field(&head, "connection"), field(&head, "upgrade")), (Some("upgrade"), Some("foo/2")));
    server.send(format!("{SWITCH}early")).await;
    let head = client.read_head().await;
    assert_eq!((status(&head), field(&head, "upgrade")), (101, Some("foo/2")));
    assert_eq!(client.read_exact(5).await, b"early");
    assert_eq!(server.read_exact(5).await, b"ahead");
    client.send("ping").await;
    assert_eq!(server.read_exact(4).await, b"ping");
    // One side's end reaches the other, and then the other's the first.
    drop(server);
    assert_eq!(client.read_to_close().await, "");
}

#[tokio::test]
async fn an_upgrade_the_upstream_declines_is_an_ordinary_exchange() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut client, mut server) = under_way(&gateway, UPGRADE, &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno").await;
    assert_eq!(status(&client.read_head().await), 200);
    assert_eq!(client.read_exact(2).await, b"no");
    client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(server.read_head().await.starts_with("GET /next "), "the connection must still be HTTP");
}

#[tokio::test]
async fn http2_is_never_tunnelled_past_the_limits() {
    // Within an h2c tunnel a client could send requests that no limit ever sees.
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for protocol in ["h2c", "H2C", "HTTP/2.0", "TLS/1.2"] {
        let mut client = gateway.connect().await;
        client
            .send(format!(
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\n\
                 HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
            ))
            .await;
        let mut server = upstream.accept().await;
        let head = server.read_head().await;
        assert_eq!((field(&head, "upgrade"), field(&head, "http2-settings")), (None, None), "{head}");
        // An upstream that switches all the same is not followed.
        server
            .send(format!(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: {protocol}\r\n\r\n"
            ))
            .await;
        assert_eq!(status(&client.read_head().await), 502);
    }
}

#[tokio::test]
async fn a_tunnel_keeps_its_place_among_the_connections() {
    let upstream = RawServer::new().await;
    let options = ServeOptions { max_connections: 1, ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let (mut tunnel, mut server) = under_way(&gateway, UPGRADE, &upstream).await;
    server.send(SWITCH).await;
    tunnel.read_head().await;
    let mut second = gateway.connect().await;
    second.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n").await;
    tunnel.send("still alone").await;
    server.read_until("still alone").await;
    assert!(upstream.is_untouched().await);
    drop((tunnel, server));
    assert!(upstream.accept().await.read_head().await.starts_with("GET /second "));
}

#[tokio::test]
async fn draining_closes_tunnels_after_the_requests() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut tunnel, mut tunnel_server) = under_way(&gateway, UPGRADE, &upstream).await;
    tunnel_server.send(SWITCH).await;
    tunnel.read_head().await;
    let (mut client, mut server) = under_way(&gateway, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", &upstream).await;
    let done = gateway.stop();
    tunnel.send("still open").await;
    tunnel_server.read_until("still open").await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 200);
    assert_eq!(tunnel.read_to_close().await, "");
    assert_eq!(tunnel_server.read_to_close().await, "");
    let report = soon(done).await.unwrap();
    assert_eq!((report.tunnels_closed, report.requests_cut), (1, 0));
}
