//! Shutting down: what was let in is finished, what is idle is closed, what takes too long is cut and counted.

use std::time::Duration;

use tidegate_server::net::{DrainReport, ServeOptions};
use tokio::net::TcpStream;

use crate::support::{Gateway, Raw, RawServer, field, proxy_to, soon, status, under_way};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const EMPTY_200: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn a_request_under_way_is_finished_and_its_connection_told_to_close() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let address = gateway.address;
    let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
    let (mut idle, mut other) = under_way(&gateway, GET, &upstream).await;
    other.send(EMPTY_200).await;
    idle.read_head().await;
    let done = gateway.stop();
    assert_eq!(idle.read_to_close().await, "", "an idle connection is closed");
    assert!(TcpStream::connect(address).await.is_err(), "nobody new is let in");
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndo").await;
    let head = client.read_head().await;
    assert_eq!((status(&head), field(&head, "connection")), (200, Some("close")));
    server.send("ne").await;
    assert_eq!(client.read_to_close().await, "done");
    assert_eq!(soon(done).await.unwrap(), DrainReport { accepted: 2, ..DrainReport::default() });
}

#[tokio::test]
async fn a_request_on_its_way_to_an_idle_connection_is_answered_and_closes_it() {
    // Its client cannot know that the gateway is about to close, and would lose the request.
    let upstream = RawServer::new().await;
    let options = ServeOptions { last_request: Duration::from_secs(20), ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
    server.send(EMPTY_200).await;
    client.read_head().await;
    let done = gateway.stop();
    tokio::task::yield_now().await;
    client.send(GET).await;
    server.read_head().await;
    server.send(EMPTY_200).await;
    let head = client.read_head().await;
    assert_eq!((status(&head), field(&head, "connection")), (200, Some("close")));
    assert_eq!(client.read_to_close().await, "");
    assert_eq!(soon(done).await.unwrap(), DrainReport { accepted: 1, ..DrainReport::default() });
}

#[tokio::test]
async fn a_request_waiting_to_be_accepted_is_served() {
    // Its client sent it in good faith; a closed socket would answer with a reset.
    let upstream = RawServer::new().await;
    let options = ServeOptions { max_connections: 2, ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    // Nothing is awaited between the requests and the stop, so that on this single thread none is accepted before it.
    let waiting = std::net::TcpStream::connect(gateway.address).unwrap();
    std::io::Write::write_all(&mut &waiting, GET.as_bytes()).unwrap();
    let done = gateway.stop();
    let mut server = upstream.accept().await;
    server.read_head().await;
    server.send(EMPTY_200).await;
    waiting.set_nonblocking(true).unwrap();
    let mut client = Raw::new(TcpStream::from_std(waiting).unwrap());
    assert_eq!(status(&client.read_to_close().await), 200);
    assert_eq!(soon(done).await.unwrap(), DrainReport { accepted: 1, ..DrainReport::default() });
}

#[tokio::test]
async fn a_connection_that_never_said_anything_holds_nobody_up() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut silent = gateway.connect().await;
    // Another's answer shows that the first has been accepted too.
    let mut client = gateway.connect().await;
    client.send("GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 400);
    let done = gateway.stop();
    assert_eq!(silent.read_to_close().await, "");
    drop(client);
    assert_eq!(soon(done).await.unwrap().connections_cut, 0);
}

#[tokio::test]
async fn what_is_not_done_by_the_deadline_is_cut_and_counted() {
    let upstream = RawServer::new().await;
    let options = ServeOptions { drain_timeout: Duration::from_millis(50), ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let (mut client, mut server) = under_way(&gateway, GET, &upstream).await;
    let report = soon(gateway.stop()).await.unwrap();
    assert_eq!(report, DrainReport { accepted: 1, connections_cut: 1, requests_cut: 1, tunnels_closed: 0 });
    assert_eq!(client.read_to_close().await, "");
    assert_eq!(server.read_to_close().await, "", "the upstream's exchange ends with it");
}

#[tokio::test]
async fn a_body_still_arriving_is_waited_for() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab").await;
    let mut server = upstream.accept().await;
    server.read_until("ab").await;
    let done = gateway.stop();
    client.send("cd").await;
    assert_eq!(server.read_exact(2).await, b"cd");
    server.send(EMPTY_200).await;
    assert_eq!(status(&client.read_to_close().await), 200);
    assert_eq!(soon(done).await.unwrap().requests_cut, 0);
}
