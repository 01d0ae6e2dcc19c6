//! Upstreams and clients that fail, stall, or are not there.

use std::time::Duration;

use tidegate_server::net::ServeOptions;
use tidegate_server::proxy::ProxyOptions;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::support::{Gateway, RawServer, field, proxy_to, soon, status, under_way};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn an_upstream_that_is_not_there_is_a_502_in_words() {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let gateway = Gateway::start(proxy_to(address), ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    client.send(GET).await;
    let head = client.read_head().await;
    assert_eq!((status(&head), field(&head, "content-type")), (502, Some("application/problem+json")));
    let length = field(&head, "content-length").unwrap().parse().unwrap();
    let body = String::from_utf8(client.read_exact(length).await).unwrap();
    assert!(body.contains("\"status\":502") && !body.contains("127.0.0.1"), "{body}");
}

#[tokio::test]
async fn an_upstream_that_breaks_off_before_its_answer_is_a_502_and_is_not_asked_again() {
    // Once a byte was sent the request may have been carried out; a second try could carry it out twice.
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 200);
    client.send("POST /once HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").await;
    assert!(server.read_head().await.starts_with("POST /once "));
    drop(server);
    assert_eq!(status(&client.read_head().await), 502);
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn nonsense_from_the_upstream_is_a_502() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for nonsense in [
        "SMTP ready\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    ] {
        let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
        server.send(nonsense).await;
        assert_eq!(status(&client.read_head().await), 502, "{nonsense}");
    }
}

#[tokio::test]
async fn a_connection_the_upstream_closed_while_idle_costs_no_request() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    for _ in 0..5 {
        client.send(GET).await;
        let mut server = upstream.accept().await;
        server.read_head().await;
        server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        drop(server);
        assert_eq!(status(&client.read_head().await), 200);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_made_to_look_whole() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for framing in ["Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "Content-Length: 9\r\n\r\nabc"] {
        let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
        server.send(format!("HTTP/1.1 200 OK\r\n{framing}")).await;
        client.read_until("abc").await;
        drop(server);
        let rest = client.read_to_close().await;
        assert!(!rest.contains('0'), "{framing:?}: {rest:?}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_exchange_with_the_upstream_along() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    // While the upstream thinks.
    let (client, mut server) = under_way(&gateway, GET, &upstream).await;
    drop(client);
    assert_eq!(server.read_to_close().await, "");
    // While the upstream answers.
    let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    client.read_until("abc").await;
    drop(client);
    assert_eq!(server.read_to_close().await, "");
    // While the client sends: the upstream must not take the part for the whole.
    let mut client = gateway.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    let mut server = upstream.accept().await;
    server.read_until("abc\r\n").await;
    drop(client);
    assert_eq!(server.read_to_close().await, "");
}

fn impatient(upstream: &RawServer) -> ProxyOptions {
    ProxyOptions { upstream_timeout: Duration::from_millis(50), ..proxy_to(upstream.address) }
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_is_a_504_and_is_let_go() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::start(impatient(&upstream), ServeOptions::default()).await;
    for request in [GET, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"] {
        let (mut client, mut server) = under_way(&gateway, request, &upstream).await;
        assert_eq!(status(&client.read_head().await), 504);
        assert!(["", "x"].contains(&server.read_to_close().await.as_str()));
    }
}

#[tokio::test]
async fn a_client_that_stops_sending_is_a_408_and_no_fault_of_the_upstream() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::start(impatient(&upstream), ServeOptions::default()).await;
    let (mut client, mut server) =
        under_way(&gateway, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc", &upstream).await;
    assert_eq!(status(&client.read_to_close().await), 408);
    assert_eq!(server.read_to_close().await, "abc");
}

#[tokio::test]
async fn an_answer_that_takes_its_time_after_the_header_is_let_be() {
    let upstream = RawServer::new().await;
    let patience = Duration::from_secs(5);
    let proxy = ProxyOptions { upstream_timeout: patience, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(proxy, ServeOptions::default()).await;
    let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na").await;
    client.read_until("\r\n\r\na").await;
    // From here on time passes when there is nothing else to do.
    tokio::time::pause();
    // A later request that waits for its header in vain shows that the time is over.
    let mut other = gateway.connect().await;
    other.send(GET).await;
    assert_eq!(status(&other.read_head().await), 504);
    server.send("b").await;
    assert_eq!(client.read_exact(1).await, b"b");
}

/// Guards against clients that ask for much and read nothing: each would hold two connections for ever.
#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let upstream = RawServer::new().await;
    let options = ServeOptions { send_timeout: Duration::from_millis(100), ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let (_client, mut server) = under_way(&gateway, GET, &upstream).await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n").await;
    let endless = async { while server.stream_mut().write_all(&[0; 16_000]).await.is_ok() {} };
    soon(endless).await;
}
