//! A gateway to start and stop, and raw sockets to hold against both of its sides.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tidegate_server::net::{BoxError, DrainReport, ServeOptions, serve};
use tidegate_server::proxy::{Proxy, ProxyOptions};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower_service::Service;

/// Far longer than anything here takes; only a hang reaches it.
const HANG: Duration = Duration::from_secs(20);

/// Pauses before what tells of nothing by itself is asked once more.
pub(crate) async fn moment() {
    tokio::task::spawn_blocking(tidegate_redis_kit::moment).await.unwrap();
}

/// Waits for something that must happen.
pub(crate) async fn soon<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(HANG, what).await.expect("should have happened by now")
}

/// A gateway in this process.
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    done: JoinHandle<DrainReport>,
}

impl Gateway {
    pub(crate) async fn before(upstream: &RawServer) -> Self {
        Self::start(proxy_to(upstream.address), ServeOptions::default()).await
    }

    pub(crate) async fn start(proxy: ProxyOptions, options: ServeOptions) -> Self {
        Self::around(Proxy::new(&proxy).unwrap(), options).await
    }

    pub(crate) async fn around<S, B>(service: S, options: ServeOptions) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let done = tokio::spawn(serve(socket, service, options, async {
            let _ = stopped.await;
        }));
        Self { address, stop, done }
    }

    pub(crate) async fn connect(&self) -> Raw<TcpStream> {
        Raw::new(TcpStream::connect(self.address).await.unwrap())
    }

    /// Begins to drain; the report follows when that is done.
    pub(crate) fn stop(self) -> JoinHandle<DrainReport> {
        self.stop.send(()).unwrap();
        self.done
    }
}

/// Sends a request on a new connection, and returns both ends once its header has reached the upstream.
pub(crate) async fn under_way(
    gateway: &Gateway,
    request: impl AsRef<[u8]>,
    upstream: &RawServer,
) -> (Raw<TcpStream>, Raw<TcpStream>) {
    let mut client = gateway.connect().await;
    client.send(request).await;
    let mut server = upstream.accept().await;
    server.read_head().await;
    (client, server)
}

pub(crate) fn proxy_to(upstream: SocketAddr) -> ProxyOptions {
    ProxyOptions { upstream: format!("http://{upstream}").parse().unwrap(), ..ProxyOptions::default() }
}

/// An upstream whose every byte is written by the test.
pub(crate) struct RawServer {
    pub(crate) address: SocketAddr,
    socket: TcpListener,
}

impl RawServer {
    pub(crate) async fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { address: socket.local_addr().unwrap(), socket }
    }

    pub(crate) async fn accept(&self) -> Raw<TcpStream> {
        Raw::new(soon(self.socket.accept()).await.unwrap().0)
    }

    /// Tells whether nobody has connected since the last `accept`: connections are accepted in their order, so the next
    /// one is then the one made here.
    pub(crate) async fn is_untouched(&self) -> bool {
        let own = TcpStream::connect(self.address).await.unwrap();
        let (_, next) = soon(self.socket.accept()).await.unwrap();
        next == own.local_addr().unwrap()
    }
}

/// One end of a connection, read and written as bytes.
pub(crate) struct Raw<T> {
    stream: T,
    buffer: Vec<u8>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Raw<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn into_stream(self) -> T {
        self.stream
    }

    pub(crate) fn stream_mut(&mut self) -> &mut T {
        &mut self.stream
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Reads up to and including the first occurrence of `mark`.
    pub(crate) async fn read_until(&mut self, mark: &str) -> String {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark.as_bytes()) {
                let rest = self.buffer.split_off(at + mark.len());
                return String::from_utf8(std::mem::replace(&mut self.buffer, rest)).unwrap();
            }
            let so_far = String::from_utf8_lossy(&self.buffer).into_owned();
            let count = soon(self.stream.read_buf(&mut self.buffer)).await.unwrap();
            assert!(count > 0, "closed before {mark:?}: {so_far:?}");
        }
    }

    /// Reads a header, up to its empty line.
    pub(crate) async fn read_head(&mut self) -> String {
        self.read_until("\r\n\r\n").await
    }

    pub(crate) async fn read_exact(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            let read = soon(self.stream.read_buf(&mut self.buffer)).await.unwrap();
            assert!(read > 0, "closed after {} of {count} bytes", self.buffer.len());
        }
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Reads what is left before the other side closes, or resets.
    pub(crate) async fn read_to_close(&mut self) -> String {
        let _ = soon(self.stream.read_to_end(&mut self.buffer)).await;
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }
}

/// Returns a header's field, by its name in lower case.
pub(crate) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Returns an answer's status, 0 when there is none.
pub(crate) fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Answers every request on an upstream's connections, one after the other, with an empty 200.
pub(crate) fn answer_all(upstream: RawServer) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let (stream, _) = upstream.socket.accept().await.unwrap();
            tokio::spawn(async move {
                let mut raw = Raw::new(stream);
                while raw.try_read_head().await {
                    raw.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
                }
            });
        }
    })
}

impl<T: AsyncRead + AsyncWrite + Unpin> Raw<T> {
    async fn try_read_head(&mut self) -> bool {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                self.buffer.drain(..at + 4);
                return true;
            }
            if !matches!(self.stream.read_buf(&mut self.buffer).await, Ok(1..)) {
                return false;
            }
        }
    }
}
