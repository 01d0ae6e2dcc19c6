//! HTTP/2 on either side.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tidegate_server::net::{RequestLimits, ServeOptions};
use tidegate_server::proxy::ProxyOptions;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tower::service_fn;

use crate::support::{Gateway, RawServer, field, proxy_to, soon};

type Sender<B> = SendRequest<B>;

async fn connect<B>(address: SocketAddr) -> (Sender<B>, JoinHandle<hyper::Result<()>>)
where
    B: http_body::Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    (sender, tokio::spawn(connection))
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("http://shop{path}")).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn streams_share_a_connection_and_reach_an_http1_upstream() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let request = Request::get("http://shop/a?b")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("te", "trailers")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let (first, second) = (sender.send_request(request), sender.send_request(get("/second")));
    let (first, second) = (tokio::spawn(first), tokio::spawn(second));
    let (mut a, mut b) = (upstream.accept().await, upstream.accept().await);
    let (mut head, other) = (a.read_head().await, b.read_head().await);
    if head.starts_with("GET /second ") {
        std::mem::swap(&mut a, &mut b);
        head = other;
    }
    assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
    assert_eq!((field(&head, "host"), field(&head, "cookie")), (Some("shop"), Some("a=1; b=2")));
    assert_eq!((field(&head, "te"), field(&head, "via")), (Some("trailers"), Some("2.0 tidegate")));
    // Answered in the other order, and with fields HTTP/2 does not allow.
    b.send("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\nContent-Length: 1\r\n\r\n2").await;
    let second = soon(second).await.unwrap().unwrap();
    assert_eq!((second.status(), second.version()), (StatusCode::OK, Version::HTTP_2));
    a.send("HTTP/1.1 418 I'm a teapot\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n").await;
    let first = soon(first).await.unwrap().unwrap();
    assert_eq!(first.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(soon(first.into_body().collect()).await.unwrap().to_bytes(), "1");
}

/// An HTTP/2 upstream that sends back what it gets, trailers included.
async fn echo_upstream() -> SocketAddr {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = socket.accept().await.unwrap();
            let service = hyper::service::service_fn(|request: Request<Incoming>| async move {
                assert_eq!(request.version(), Version::HTTP_2);
                assert_eq!(request.headers()["host"], "shop");
                Ok::<_, Infallible>(Response::new(request.into_body()))
            });
            tokio::spawn(
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    address
}

#[tokio::test]
async fn bodies_and_trailers_stream_from_end_to_end() {
    // What gRPC needs: pieces both ways at once, and trailers after them.
    let proxy = ProxyOptions { http2: true, ..proxy_to(echo_upstream().await) };
    let gateway = Gateway::start(proxy, ServeOptions::default()).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let (mut up, body) = Channel::<Bytes>::new(1);
    let request = Request::post("http://shop/echo").header("te", "trailers").body(body).unwrap();
    let response = soon(sender.send_request(request)).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut down = response.into_body();
    for piece in ["one", "two", "three"] {
        soon(up.send_data(Bytes::from(piece))).await.unwrap();
        assert_eq!(soon(down.frame()).await.unwrap().unwrap().into_data().unwrap(), piece);
    }
    let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
    soon(up.send(Frame::trailers(trailers))).await.unwrap();
    drop(up);
    let last = soon(down.frame()).await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(last["grpc-status"], "0");
}

#[tokio::test]
async fn an_http1_client_reaches_an_http2_upstream() {
    let proxy = ProxyOptions { http2: true, ..proxy_to(echo_upstream().await) };
    let gateway = Gateway::start(proxy, ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    client
        .send(
            "POST / HTTP/1.1\r\nHost: shop\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        )
        .await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 200 OK\r\n"));
    client.read_until("abc").await;
}

#[tokio::test]
async fn too_many_fields_and_too_long_a_target_are_refused() {
    let upstream = RawServer::new().await;
    let request = RequestLimits { max_header_bytes: 8192, max_headers: 10, max_target_bytes: 100 };
    let options = ServeOptions { request, ..ServeOptions::default() };
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let mut many = get("/");
    for _ in 0..11 {
        many.headers_mut().append("a", "b".parse().unwrap());
    }
    let long = get(&format!("/{}", "a".repeat(100)));
    for (request, expected) in [(many, 431), (long, 414)] {
        let response = soon(sender.send_request(request)).await.unwrap();
        assert_eq!(response.status(), expected);
        assert!(!response.headers().contains_key("connection"));
    }
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn a_stream_reset_by_the_client_ends_the_upstreams_exchange() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let response = tokio::spawn(sender.send_request(get("/")));
    let mut server = upstream.accept().await;
    server.read_head().await;
    response.abort();
    assert_eq!(server.read_to_close().await, "");
}

#[tokio::test]
async fn draining_finishes_open_streams_and_then_closes() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut sender, connection) = connect(gateway.address).await;
    let response = tokio::spawn(sender.send_request(get("/")));
    let mut server = upstream.accept().await;
    server.read_head().await;
    let (mut idle, idle_connection) = connect::<Empty<Bytes>>(gateway.address).await;
    idle.ready().await.unwrap();
    let done = gateway.stop();
    // The idle connection's end shows that the other has been told as well.
    soon(idle_connection).await.unwrap().unwrap();
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let response = soon(response).await.unwrap().unwrap();
    assert_eq!(soon(response.into_body().collect()).await.unwrap().to_bytes(), "ok");
    soon(connection).await.unwrap().unwrap();
    let report = soon(done).await.unwrap();
    assert_eq!((report.requests_cut, report.connections_cut), (0, 0));
}

#[tokio::test]
async fn a_length_without_a_body_reaches_no_http1_upstream() {
    // The upstream would take the next request on its connection for the body.
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let mut request = get("/");
    request.headers_mut().insert("content-length", "9".parse().unwrap());
    if let Ok(response) = soon(sender.send_request(request)).await {
        assert_eq!(response.status(), 400);
    }
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_no_whole_request() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let frames = [Ok::<_, Infallible>(Frame::data(Bytes::from("abc")))];
    let body = StreamBody::new(futures_util::stream::iter(frames));
    let request = Request::post("http://shop/").header("content-length", "9").body(body).unwrap();
    let response = tokio::spawn(sender.send_request(request));
    let mut server = upstream.accept().await;
    let seen = server.read_to_close().await;
    assert!(seen.len() < seen.find("\r\n\r\n").map_or(usize::MAX, |at| at + 4 + 9), "{seen}");
    // Reset or answered 400: either way not taken for sound.
    if let Ok(response) = soon(response).await.unwrap() {
        assert_eq!(response.status(), 400);
    }
}

/// Guards against a few connections whose streams, given no window, hold every place for good.
#[tokio::test]
async fn an_answer_that_is_not_taken_gives_its_place_back() {
    let upstream = RawServer::new().await;
    let proxy = ProxyOptions { max_requests: 1, ..proxy_to(upstream.address) };
    let options = ServeOptions { send_timeout: Duration::from_millis(200), ..ServeOptions::default() };
    let gateway = Gateway::start(proxy, options).await;
    let stream = TokioIo::new(TcpStream::connect(gateway.address).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(stream)
        .await
        .unwrap();
    let _connection = tokio::spawn(connection);
    let answer = tokio::spawn(sender.send_request(get("/stalls")));
    let mut first = upstream.accept().await;
    first.read_head().await;
    first.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").await;
    let stalled = soon(answer).await.unwrap().unwrap();
    let _next = tokio::spawn(sender.send_request(get("/next")));
    assert!(upstream.accept().await.read_head().await.starts_with("GET /next "));
    assert_eq!(first.read_to_close().await, "", "nobody waits for the rest");
    assert!(soon(stalled.into_body().collect()).await.is_err());
}

/// Guards against a few connections whose streams take every descriptor: requests have the bound that connections have.
#[tokio::test]
async fn streams_beyond_the_bound_wait_for_those_under_way() {
    let upstream = RawServer::new().await;
    let proxy = ProxyOptions { max_requests: 2, ..proxy_to(upstream.address) };
    let gateway = Gateway::start(proxy, ServeOptions::default()).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    let mut answers: Vec<_> =
        ["/1", "/2", "/3"].map(|path| tokio::spawn(sender.send_request(get(path)))).into();
    let (mut first, mut second) = (upstream.accept().await, upstream.accept().await);
    assert!(first.read_head().await.starts_with("GET /1 "));
    assert!(second.read_head().await.starts_with("GET /2 "));
    assert!(upstream.is_untouched().await, "the third waits");
    second.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(soon(answers.remove(1)).await.unwrap().unwrap().status(), StatusCode::OK);
    assert!(second.read_head().await.starts_with("GET /3 "), "on the connection that is free again");
}

/// Guards against a body where there can be none, for which a client resets the stream.
#[tokio::test]
async fn an_answer_to_head_tells_the_length_of_its_body_and_has_none() {
    let denied = |_| async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("denied")))) };
    let gateway = Gateway::around(service_fn(denied), ServeOptions::default()).await;
    let (mut sender, _connection) = connect(gateway.address).await;
    for (method, body) in [(Method::HEAD, ""), (Method::GET, "denied")] {
        let request = Request::builder().method(method).uri("http://shop/");
        let response = soon(sender.send_request(request.body(Empty::<Bytes>::new()).unwrap())).await.unwrap();
        assert_eq!(response.headers()["content-length"], "6");
        assert_eq!(soon(response.into_body().collect()).await.unwrap().to_bytes(), body);
    }
}

/// Answers at once, after others had their turn, once it has the whole body, with more than is taken at once, or not at all.
async fn answer_in_its_way(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = match path.as_str() {
        "/later" => {
            tokio::task::yield_now().await;
            Bytes::from("later")
        }
        "/echo" => request.into_body().collect().await.unwrap().to_bytes(),
        "/large" => Bytes::from(vec![b'x'; 1 << 20]),
        "/fails" => panic!("this one fails, as is wanted"),
        _ => Bytes::from("now"),
    };
    Ok(Response::new(Full::new(body)))
}

/// Guards against a stream that is lost, or mixed up with another, where a connection polls its streams together.
#[tokio::test]
async fn streams_that_are_answered_together_are_answered_as_by_tasks_of_their_own() {
    for answers_at_once in [false, true] {
        let options = ServeOptions { answers_at_once, ..ServeOptions::default() };
        let gateway = Gateway::around(service_fn(answer_in_its_way), options).await;
        let (sender, _connection) = connect(gateway.address).await;
        let paths = ["/now", "/later", "/echo", "/large", "/fails"].repeat(10);
        let asked = paths.iter().map(|path| {
            let request = Request::post(format!("http://shop{path}")).body(Full::new(Bytes::from("sent")));
            let mut sender = sender.clone();
            async move {
                let response = sender.send_request(request.unwrap()).await.ok()?;
                Some(response.into_body().collect().await.unwrap().to_bytes().len())
            }
        });
        let lengths = soon(futures_util::future::join_all(asked)).await;
        let each = [Some(3), Some(5), Some(4), Some(1 << 20), None];
        assert_eq!(lengths, each.repeat(10), "{answers_at_once}");
    }
}
