//! How long a client may take over what, in paused time over a pipe: no machine is too slow for them.

use http_body_util::{Empty, Full};
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::*;

mod stalls;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A connection that is served in this test, by a service that takes as long as the path says, in seconds.
struct Served {
    client: DuplexStream,
    ends: JoinHandle<Outcome>,
    start: Instant,
}

impl Served {
    /// Has the listener's defaults: 30 s for a handshake or a header, 75 s for idling.
    fn start(http2: bool) -> Self {
        let service = tower::service_fn(|request: Request<Incoming>| async move {
            let seconds = request.uri().path().trim_start_matches('/').parse().unwrap_or(0);
            after(seconds).await;
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        });
        Self::by(service, http2)
    }

    fn by<S, B>(service: S, http2: bool) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (client, server) = duplex(1 << 16);
        let signals = Arc::new(Signals::default());
        let tunnels = Tunnels::new(&signals.cut);
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let info = PeerInfo { peer: address, local: address, tls: false };
        let options = ServeOptions::default();
        let context = Context::new(info, tunnels.scope(permit), options.request);
        let connector = Connector::new(options, Arc::clone(&signals), tunnels);
        let ends = tokio::spawn(async move {
            let signals = signals.child();
            connector.http(server, http2, (context, signals), service).await
        });
        Self { client, ends, start: Instant::now() }
    }

    async fn answer(&mut self) {
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\nok") {
            let count = self.client.read_buf(&mut answer).await.unwrap();
            assert!(
                count > 0,
                "closed after {:?}: {:?}",
                self.start.elapsed(),
                answer.escape_ascii().to_string()
            );
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", answer.escape_ascii());
    }

    /// Returns after how many seconds the connection ended.
    async fn end(self) -> u64 {
        assert_eq!(self.ends.await.unwrap(), Outcome::Ended);
        self.start.elapsed().as_secs()
    }
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_header_that_dribbles_in_is_cut_off_whatever_idling_allows() {
    let mut served = Served::start(false);
    served.client.write_all(GET).await.unwrap();
    served.answer().await;
    after(20).await;
    let (client, ends, start) = (&mut served.client, &mut served.ends, served.start);
    let dribble = async {
        for byte in b"GET / HTTP/1.1\r\nX-Long: ".iter().chain(std::iter::repeat(&b'x')) {
            client.write_all(&[*byte]).await.unwrap();
            after(7).await;
        }
    };
    tokio::select! {
        ended = ends => assert_eq!(ended.unwrap(), Outcome::Ended),
        () = dribble => {}
    }
    assert_eq!(start.elapsed().as_secs(), 20 + 30);
}

#[tokio::test(start_paused = true)]
async fn a_header_may_take_its_time_after_a_long_answer_that_it_was_sent_ahead_of() {
    let mut served = Served::start(false);
    served.client.write_all(b"GET /200 HTTP/1.1\r\nHost: a\r\n\r\nGET / HT").await.unwrap();
    served.answer().await;
    after(25).await;
    served.client.write_all(b"TP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    served.answer().await;
    assert_eq!(served.start.elapsed().as_secs(), 225);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_has_longer_than_a_header_and_a_busy_one_as_long_as_it_takes() {
    let mut served = Served::start(false);
    served.client.write_all(b"GET /500 HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    served.answer().await;
    after(70).await;
    served.client.write_all(GET).await.unwrap();
    served.answer().await;
    assert_eq!(served.end().await, 500 + 70 + 75);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_brings_no_request_is_closed() {
    assert_eq!(Served::start(false).end().await, 75);
}

#[tokio::test(start_paused = true)]
async fn empty_lines_are_no_request() {
    let mut served = Served::start(false);
    for _ in 0..2 {
        served.client.write_all(b"\r\n").await.unwrap();
        after(30).await;
    }
    assert_eq!(served.end().await, 75);
}

#[tokio::test(start_paused = true)]
async fn an_idle_http2_connection_is_closed_and_a_busy_one_is_not() {
    let Served { client, ends, start } = Served::start(true);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(client)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get("http://a/500").body(Empty::<Bytes>::new()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    connection.await.unwrap().unwrap();
    assert_eq!((ends.await.unwrap(), start.elapsed().as_secs()), (Outcome::Ended, 500 + 75));
}

/// Behind TLS the protocol is known before its first byte, and hyper neither pings nor ends a connection without one.
#[tokio::test(start_paused = true)]
async fn an_http2_client_that_never_says_anything_is_cut_off() {
    assert_eq!(Served::start(true).end().await, 75 + 30);
}

#[tokio::test(start_paused = true)]
async fn the_steps_before_http_share_one_time() {
    let start = Instant::now();
    let before = BeforeHttp { deadline: start + Duration::from_secs(30), draining: CancellationToken::new() };
    let first = async {
        after(20).await;
        Ok::<_, std::io::Error>(())
    };
    assert!(before.wait(first).await.is_some());
    // A client that sends what could become HTTP/2's preface, and no more.
    let (mut client, server) = duplex(64);
    client.write_all(b"PRI * HT").await.unwrap();
    assert!(before.wait(read_version(server)).await.is_none());
    assert_eq!(start.elapsed().as_secs(), 30);
}
