//! Bodies: streamed both ways, of every framing, with their trailers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use tidegate_server::proxy::Proxy;
use tokio::io::AsyncReadExt;
use tower::ServiceExt;

use crate::support::{Gateway, RawServer, field, proxy_to, soon, status, under_way};

#[tokio::test]
async fn a_request_and_its_answer_pass_through() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client
        .send("POST /a/b?c=%20d HTTP/1.1\r\nHost: shop\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 3\r\n\r\nabc")
        .await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert!(head.starts_with("POST /a/b?c=%20d HTTP/1.1\r\n"), "{head}");
    assert_eq!((field(&head, "host"), field(&head, "content-length")), (Some("shop"), Some("3")));
    assert_eq!(head.matches("x-a: ").count(), 2);
    assert_eq!(server.read_exact(3).await, b"abc");
    server
        .send("HTTP/1.1 201 Created\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok")
        .await;
    let head = client.read_head().await;
    assert_eq!((status(&head), head.matches("set-cookie: ").count()), (201, 2));
    assert_eq!(client.read_exact(2).await, b"ok");
}

#[tokio::test]
async fn pieces_arrive_before_the_next_is_sent_in_both_directions() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut client, mut server) = under_way(
        &gateway,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
        &upstream,
    )
    .await;
    server.read_until("one").await;
    client.send("3\r\ntwo\r\n").await;
    server.read_until("two").await;
    // The answer begins while the request is still on its way.
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nun..\r\n").await;
    client.read_until("un..").await;
    client.send("0\r\n\r\n").await;
    server.read_until("0\r\n\r\n").await;
    server.send("5\r\ndeux.\r\n0\r\n\r\n").await;
    client.read_until("deux.").await;
    client.read_until("0\r\n\r\n").await;
}

#[tokio::test]
async fn a_chunked_get_keeps_its_body() {
    // The HTTP client drops a body of unknown length from methods that seldom have one, unless told otherwise.
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for method in ["GET", "DELETE", "OPTIONS"] {
        let mut client = gateway.connect().await;
        client
            .send(format!(
                "{method} / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            ))
            .await;
        let mut server = upstream.accept().await;
        let head = server.read_head().await;
        assert_eq!(field(&head, "transfer-encoding"), Some("chunked"), "{method}");
        server.read_until("3\r\nabc\r\n0\r\n\r\n").await;
        server.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
        assert_eq!(status(&client.read_head().await), 204);
    }
}

#[tokio::test]
async fn answers_without_a_body_keep_their_length_and_the_connection() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut server = upstream.accept().await;
    assert!(server.read_head().await.starts_with("HEAD / "));
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n").await;
    let head = client.read_head().await;
    assert_eq!((status(&head), field(&head, "content-length")), (200, Some("1234")));
    client.send("GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: x\r\n\r\n").await;
    server.read_head().await;
    server.send("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 304);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    server.read_head().await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 200);
}

#[tokio::test]
async fn an_old_client_gets_a_body_it_can_read() {
    // HTTP/1.0 knows no chunks: the end of the body is the end of the connection.
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send("GET / HTTP/1.0\r\n\r\n").await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "host"), Some(upstream.address.to_string().as_str()));
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").await;
    let answer = client.read_to_close().await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("\r\n\r\nabc"), "{answer}");
}

#[tokio::test]
async fn trailers_pass_in_both_directions() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client
        .send(
            "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTrailer: x-sum, x-forwarded-for\r\n\
             Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 6\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n",
        )
        .await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert_eq!((field(&head, "te"), field(&head, "connection")), (Some("trailers"), Some("te")));
    let body = server.read_until("0\r\nx-sum: 6\r\n\r\n").await;
    assert!(!body.contains("1.1.1.1"), "{body}");
    server
        .send("HTTP/1.1 200 OK\r\nTrailer: x-time\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\nX-Time: 9\r\n\r\n")
        .await;
    assert_eq!(field(&client.read_head().await, "trailer"), Some("x-time"));
    client.read_until("0\r\nx-time: 9\r\n\r\n").await;
}

/// A body that makes up its bytes when asked, and notes how many.
struct Endless {
    left: usize,
    made: Arc<AtomicUsize>,
    piece: Bytes,
}

const PIECE: usize = 64 * 1024;

impl Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= PIECE;
        self.made.fetch_add(PIECE, Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(self.piece.clone()))))
    }
}

#[tokio::test]
async fn a_slow_upstream_slows_the_client_down_instead_of_filling_memory() {
    const WHOLE: usize = 1536 * PIECE;
    /// More than all the socket buffers between, and far less than the whole.
    const BETWEEN: usize = 512 * PIECE;
    let upstream = RawServer::new().await;
    let made = Arc::new(AtomicUsize::new(0));
    let body = Endless { left: WHOLE, made: Arc::clone(&made), piece: vec![b'x'; PIECE].into() };
    let proxy = Proxy::new(&proxy_to(upstream.address)).unwrap();
    let answer = tokio::spawn(proxy.oneshot(Request::post("/").body(body).unwrap()));
    let mut server = upstream.accept().await;
    server.read_head().await;
    let mut stream = server.into_stream();
    let (mut taken, mut most_between) = (0, 0);
    let mut piece = vec![0; PIECE];
    while taken < WHOLE {
        // Everything else gets a turn first, so that whoever would run ahead does.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        taken += soon(stream.read(&mut piece)).await.unwrap();
        most_between = most_between.max(made.load(Ordering::SeqCst).saturating_sub(taken));
    }
    drop(stream);
    soon(answer).await.unwrap().unwrap();
    assert!(most_between < BETWEEN, "{most_between} bytes were on their way at once");
}
