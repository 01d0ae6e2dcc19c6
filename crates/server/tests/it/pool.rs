//! The pool of connections to the upstream: which are taken up again, which are not, and which wait for whom.

use std::net::SocketAddr;
use std::time::Duration;

use tidegate_server::net::ServeOptions;
use tidegate_server::proxy::ProxyOptions;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::support::{Gateway, Raw, RawServer, moment, proxy_to, soon, status, under_way};

const ASK: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers a request that has reached the upstream, and has its client read it all.
async fn finish(client: &mut Raw<TcpStream>, server: &mut Raw<TcpStream>) {
    server.send(ANSWER).await;
    assert_eq!(status(&client.read_head().await), 200);
    assert_eq!(client.read_exact(2).await, b"ok");
}

/// Guards against a request that is carried out twice: what was sent on a connection that had served before may have been
/// read, so that only the client may try again.
#[tokio::test]
async fn a_request_sent_on_a_used_connection_that_breaks_off_is_not_asked_again() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut client, mut server) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut client, &mut server).await;
    client.send(ASK).await;
    server.read_head().await;
    drop(server);
    assert_eq!(status(&client.read_head().await), 502);
    assert!(upstream.is_untouched().await);
}

/// Guards against a connection for each request, and against one that is taken up before its answer has been read whole.
#[tokio::test]
async fn requests_one_after_the_other_share_a_connection_and_ones_at_once_do_not() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut one, mut first) = under_way(&gateway, ASK, &upstream).await;
    let (mut other, mut second) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut one, &mut first).await;
    for _ in 0..5 {
        one.send(ASK).await;
        first.read_head().await;
        finish(&mut one, &mut first).await;
    }
    finish(&mut other, &mut second).await;
    assert!(upstream.is_untouched().await);
}

/// Guards against connections that pile up at the upstream after a rush.
#[tokio::test]
async fn no_more_unused_connections_are_kept_than_allowed() {
    let upstream = RawServer::new().await;
    let options = ProxyOptions { pool_max_idle: 1, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    let (mut one, mut first) = under_way(&gateway, ASK, &upstream).await;
    let (mut other, mut second) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut one, &mut first).await;
    finish(&mut other, &mut second).await;
    let first_closed = tokio::select! {
        _ = first.read_to_close() => true,
        _ = second.read_to_close() => false,
    };
    let kept = if first_closed { &mut second } else { &mut first };
    one.send(ASK).await;
    kept.read_head().await;
    finish(&mut one, kept).await;
    assert!(upstream.is_untouched().await);
}

/// Guards against a connection that is kept until the upstream closes it, perhaps just as a request is sent on it.
#[tokio::test]
async fn a_connection_that_stays_unused_is_closed_and_the_next_request_opens_another() {
    let upstream = RawServer::new().await;
    let options = ProxyOptions { pool_idle_timeout: Duration::from_millis(1), ..proxy_to(upstream.address) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    let (mut client, mut server) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut client, &mut server).await;
    assert_eq!(server.read_to_close().await, "");
    client.send(ASK).await;
    let mut next = upstream.accept().await;
    next.read_head().await;
    finish(&mut client, &mut next).await;
}

/// Guards against a connection that goes back with the rest of an answer in it, which the next client would be given, and
/// against a place at the upstream that is never free again.
#[tokio::test]
async fn a_client_that_leaves_amid_an_answer_takes_the_connection_along_and_frees_its_place() {
    let upstream = RawServer::new().await;
    let options = ProxyOptions { max_requests: 1, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    for _ in 0..3 {
        let (mut client, mut server) = under_way(&gateway, ASK, &upstream).await;
        server.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome").await;
        assert_eq!(status(&client.read_head().await), 200);
        drop(client);
        assert_eq!(server.read_to_close().await, "");
    }
    let (mut client, mut server) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut client, &mut server).await;
}

/// Asks for an upload of nine bytes and sends four.
const BEGINS: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome";

/// Guards against connections whose requests are answered and go on, which would take the room of those that can be used.
#[tokio::test]
async fn a_connection_whose_request_goes_on_after_its_answer_takes_no_room_until_it_is_free() {
    let upstream = RawServer::new().await;
    let options = ProxyOptions { pool_max_idle: 1, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    let (mut uploading, mut early) = under_way(&gateway, BEGINS, &upstream).await;
    finish(&mut uploading, &mut early).await;
    let (mut client, mut server) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut client, &mut server).await;
    client.send(ASK).await;
    server.read_head().await;
    uploading.send("thing").await;
    assert_eq!(early.read_exact(9).await, b"something");
    // The other is under way, so that this one is the one that is kept.
    uploading.send(ASK).await;
    early.read_head().await;
    finish(&mut uploading, &mut early).await;
    finish(&mut client, &mut server).await;
    assert!(upstream.is_untouched().await);
}

/// An upstream that takes no more than one connection, and whose kernel has another one waiting.
#[cfg(target_os = "linux")]
fn upstream_of_one() -> (TcpListener, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // One connection may wait to be accepted; whoever connects meanwhile gets no answer.
    let upstream = socket.listen(0).unwrap();
    let address = upstream.local_addr().unwrap();
    (upstream, address)
}

/// Sends a request by the one connection that an upstream takes, and makes the next one wait for another.
#[cfg(target_os = "linux")]
async fn the_only_one(
    gateway: &Gateway,
    request: &str,
    (upstream, address): &(TcpListener, SocketAddr),
) -> (Raw<TcpStream>, Raw<TcpStream>, TcpStream) {
    let mut client = gateway.connect().await;
    client.send(request).await;
    let mut server = Raw::new(soon(upstream.accept()).await.unwrap().0);
    server.read_head().await;
    (client, server, TcpStream::connect(address).await.unwrap())
}

/// Guards against a request that waits for a slow connect while a connection has long been free.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_comes_back_while_another_opens_is_taken() {
    let upstream = upstream_of_one();
    let gateway = Gateway::start(proxy_to(upstream.1), ServeOptions::default()).await;
    let (mut one, mut server, _waits) = the_only_one(&gateway, ASK, &upstream).await;
    let mut other = gateway.connect().await;
    other.send(ASK).await;
    until_connecting(upstream.1, 1).await;
    finish(&mut one, &mut server).await;
    server.read_head().await;
    finish(&mut other, &mut server).await;
}

/// Guards against a request that is told of a connection before it is free, and not when it is.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_free_some_time_after_its_answer_is_taken_then() {
    let upstream = upstream_of_one();
    let gateway = Gateway::start(proxy_to(upstream.1), ServeOptions::default()).await;
    let (mut one, mut server, _waits) = the_only_one(&gateway, BEGINS, &upstream).await;
    let mut other = gateway.connect().await;
    other.send(ASK).await;
    until_connecting(upstream.1, 1).await;
    finish(&mut one, &mut server).await;
    one.send("thing").await;
    assert_eq!(server.read_exact(9).await, b"something");
    server.read_head().await;
    finish(&mut other, &mut server).await;
}

/// Guards against a descriptor for each request at an upstream that is slow to take connections.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_more_connections_are_opened_for_nobody_than_are_kept() {
    let upstream = upstream_of_one();
    let options = ProxyOptions { pool_max_idle: 1, ..proxy_to(upstream.1) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    let (mut one, mut server, _waits) = the_only_one(&gateway, ASK, &upstream).await;
    let mut other = gateway.connect().await;
    for waiting in 1..=2 {
        other.send(ASK).await;
        until_connecting(upstream.1, waiting).await;
        finish(&mut one, &mut server).await;
        server.read_head().await;
        std::mem::swap(&mut one, &mut other);
    }
    assert!(connecting(upstream.1) <= 1);
}

/// Returns how many sockets of this machine have asked an address for a connection and have had no answer.
#[cfg(target_os = "linux")]
fn connecting(to: SocketAddr) -> usize {
    /// How the kernel's table writes the state of such a socket.
    const SYN_SENT: &str = "02";
    let remote = format!("0100007F:{:04X}", to.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let connects = |line: &&str| {
        let mut fields = line.split_whitespace().skip(2);
        fields.next() == Some(&remote) && fields.next() == Some(SYN_SENT)
    };
    table.lines().filter(connects).count()
}

/// Waits until so many sockets wait for an address to take them.
#[cfg(target_os = "linux")]
async fn until_connecting(to: SocketAddr, count: usize) {
    for _ in 0..2_000 {
        if connecting(to) == count {
            return;
        }
        moment().await;
    }
    panic!("not {count} but {} connect to {to}", connecting(to));
}

/// Guards against uploads that are answered early, stay open, and are counted by nobody: a client could have as many connections
/// opened to the upstream as it likes.
#[tokio::test]
async fn a_request_that_goes_on_after_its_answer_keeps_its_place_until_its_connection_is_free() {
    let upstream = RawServer::new().await;
    let options = ProxyOptions { max_requests: 1, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    let (mut uploading, mut early) = under_way(&gateway, BEGINS, &upstream).await;
    finish(&mut uploading, &mut early).await;
    let mut client = gateway.connect().await;
    client.send(ASK).await;
    assert!(upstream.is_untouched().await);
    uploading.send("thing").await;
    assert_eq!(early.read_exact(9).await, b"something");
    early.read_head().await;
    finish(&mut client, &mut early).await;
    assert!(upstream.is_untouched().await);
}

/// Guards against the same upload that never ends, and would keep its place for ever.
#[tokio::test]
async fn a_request_goes_on_after_its_answer_only_so_long() {
    let upstream = RawServer::new().await;
    let upstream_timeout = Duration::from_millis(200);
    let options = ProxyOptions { max_requests: 1, upstream_timeout, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(options, ServeOptions::default()).await;
    let (mut uploading, mut early) = under_way(&gateway, BEGINS, &upstream).await;
    finish(&mut uploading, &mut early).await;
    assert_eq!(early.read_to_close().await, "some");
    let (mut client, mut server) = under_way(&gateway, ASK, &upstream).await;
    finish(&mut client, &mut server).await;
}

/// Guards against the next request of whoever shares the connection, which would be lost with it: behind the rest of a body that
/// nobody reads the connection is closed.
#[tokio::test]
async fn an_answer_of_the_gateway_s_own_says_so_where_the_connection_cannot_go_on() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let gateway = Gateway::start(proxy_to(nobody), ServeOptions::default()).await;
    for (request, closes) in [(ASK, false), (BEGINS, true)] {
        let mut client = gateway.connect().await;
        client.send(request).await;
        let head = client.read_head().await;
        assert_eq!(status(&head), 502);
        assert_eq!(head.to_lowercase().contains("connection: close"), closes, "{head}");
    }
}
