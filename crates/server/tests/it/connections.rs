//! Limits on connections and headers, and clients that sit on them.

use std::convert::Infallible;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tidegate_server::net::{RequestLimits, ServeOptions};
use tokio::net::TcpStream;
use tower::service_fn;

use crate::support::{Gateway, Raw, RawServer, answer_all, field, proxy_to, soon, status};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Answers everything by itself, without touching the body.
async fn refuse(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::from("no"));
    *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
    Ok(response)
}

#[tokio::test]
async fn headers_and_targets_past_the_limits_are_refused() {
    let upstream = RawServer::new().await;
    let request = RequestLimits { max_header_bytes: 8192, max_headers: 10, max_target_bytes: 100 };
    let options = ServeOptions { request, ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    answer_all(upstream);
    let with_fields = |count| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(count));
    let of_size = |size: usize| {
        let frame = "GET / HTTP/1.1\r\nHost: a\r\nA: \r\n\r\n".len();
        format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "a".repeat(size - frame))
    };
    let with_target = |size: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(size - 1));
    for (request, expected) in [
        (with_fields(9), 200),
        (with_fields(10), 431),
        (of_size(8192), 200),
        (of_size(8193), 431),
        (of_size(100_000), 431),
        (with_target(100), 200),
        (with_target(101), 414),
        (with_target(70_000), 431),
    ] {
        let mut client = gateway.connect().await;
        client.send(&request).await;
        assert_eq!(status(&client.read_head().await), expected, "{} bytes", request.len());
    }
}

#[tokio::test]
async fn the_default_limits_take_100_fields_and_32_kib() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    answer_all(upstream);
    for (fields, size, expected) in [(99, 4, 200), (100, 4, 431), (1, 32_700, 200), (1, 32_768, 431)] {
        let field = format!("A: {}\r\n", "b".repeat(size));
        let mut client = gateway.connect().await;
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", field.repeat(fields))).await;
        assert_eq!(status(&client.read_head().await), expected, "{fields} of {size}");
    }
}

#[tokio::test]
async fn a_refused_request_is_never_told_to_continue() {
    let gateway = Gateway::around(service_fn(refuse), ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n").await;
    let answer = client.read_to_close().await;
    assert!(answer.starts_with("HTTP/1.1 429 ") && !answer.contains("100 Continue"), "{answer}");
}

#[tokio::test]
async fn an_admitted_request_is_told_to_continue_when_the_upstream_takes_its_body() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n").await;
    let mut server = upstream.accept().await;
    assert_eq!(field(&server.read_head().await, "expect"), None, "it has been answered here");
    assert_eq!(client.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc").await;
    assert_eq!(server.read_exact(3).await, b"abc");
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 200);
}

#[tokio::test]
async fn a_client_refused_in_the_middle_of_an_upload_gets_to_read_why() {
    // A socket closed on unread bytes is reset, and a client that cannot send never gets to reading.
    let gateway = Gateway::around(service_fn(refuse), ServeOptions::default()).await;
    for framing in ["Content-Length: 3000000", "Transfer-Encoding: chunked"] {
        let mut client = gateway.connect().await;
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n2dc6c0\r\n")).await;
        assert_eq!(status(&client.read_head().await), 429, "{framing}");
        // Most clients look for an answer only when they have sent everything, or give up when they cannot.
        for _ in 0..40 {
            client.send(vec![b'x'; 64 * 1024]).await;
        }
        assert_eq!(client.read_to_close().await, "no");
    }
}

#[tokio::test]
async fn a_client_that_dawdles_over_its_header_is_closed() {
    let upstream = RawServer::new().await;
    let short = Duration::from_millis(50);
    let options = ServeOptions { handshake_timeout: short, header_timeout: short, ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    for start in ["", "G", "PRI * HT", "GET / HTTP/1.1\r\nHost"] {
        let mut client = gateway.connect().await;
        client.send(start).await;
        let answer = client.read_to_close().await;
        assert!(answer.is_empty() || status(&answer) == 408, "{start:?}: {answer}");
    }
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn connections_past_the_limit_wait_for_their_turn() {
    let upstream = RawServer::new().await;
    let options = ServeOptions { max_connections: 2, ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = gateway.connect().await;
        client.send(GET).await;
        clients.push(client);
    }
    let mut servers = [upstream.accept().await, upstream.accept().await];
    for server in &mut servers {
        server.read_head().await;
    }
    assert!(upstream.is_untouched().await, "the third must wait");
    clients.remove(0);
    let mut third = upstream.accept().await;
    third.read_head().await;
    third.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&clients[1].read_head().await), 200);
}

#[tokio::test]
async fn many_pipelined_requests_are_answered_in_their_order() {
    let echo = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(request.uri().path().to_owned())))
    });
    let gateway = Gateway::around(echo, ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    let requests: Vec<String> =
        (0..100).map(|n| format!("GET /{n:02} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    client.send(requests.concat()).await;
    for n in 0..100 {
        client.read_head().await;
        assert_eq!(client.read_exact(3).await, format!("/{n:02}").as_bytes());
    }
}

/// The variable that makes this test binary the child of the next test.
const CHILD: &str = "TIDEGATE_TEST_FEW_FILES";

#[tokio::test]
async fn running_out_of_file_descriptors_is_waited_out() {
    // In a process of its own, since the limit is the whole process's.
    let test = "connections::running_out_of_file_descriptors_is_waited_out";
    if std::env::var_os(CHILD).is_some() {
        return run_out_of_file_descriptors().await;
    }
    let binary = std::env::current_exe().unwrap();
    let script = format!("ulimit -n 64 && exec \"$0\" --exact {test} --nocapture");
    let output = tokio::process::Command::new("sh")
        .args(["-c", &script])
        .arg(binary)
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .output();
    let output = soon(output).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

async fn run_out_of_file_descriptors() {
    let gateway = Gateway::around(service_fn(refuse), ServeOptions::default()).await;
    // Connected by the kernel alone: nothing is awaited, so none is accepted before all descriptors are in use.
    let mut held = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect(gateway.address) {
        held.push(stream);
    }
    assert!(held.len() > 10);
    // Many turns of the runtime, in which the gateway tries to accept and fails.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let last = held.pop().unwrap();
    drop(held);
    last.set_nonblocking(true).unwrap();
    let mut last = Raw::new(TcpStream::from_std(last).unwrap());
    last.send(GET).await;
    assert_eq!(status(&last.read_head().await), 429);
}
