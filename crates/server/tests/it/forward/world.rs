//! Tidegate's API in this process, a service behind the proxy, and a client that speaks for itself.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tidegate::Limiter;
use tidegate::policy_file::{self, Policy};
use tidegate_proxy_kit::proxies::{Place, Running};
use tidegate_server::api::{self, Token};
use tidegate_server::net::ServeOptions;
use tokio::net::{TcpSocket, TcpStream};
use tower::service_fn;

use super::page::{block, instead};
use crate::support::{Gateway, Raw, field, soon, status};

/// The policy of the page.
pub(super) fn policy() -> String {
    let blocks = super::page::blocks("yaml");
    blocks.into_iter().find(|block| block.starts_with("# policy.yaml")).unwrap()
}

/// The policy of the page, for one host: whoever could name another would go free.
pub(super) fn policy_of_host() -> String {
    instead(&policy(), "match: { path: /** }", "match: { host: site.test, path: /** }")
}

pub(super) fn parsed(text: &str) -> Policy {
    policy_file::parse("policy.yaml", text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The API by a policy.
pub(super) struct Api {
    pub(super) served: Gateway,
}

impl Api {
    pub(super) async fn by(text: &str, token: Option<Token>) -> Self {
        Self::of(Limiter::from_policy(parsed(text)).unwrap(), token).await
    }

    pub(super) async fn of(limiter: Limiter, token: Option<Token>) -> Self {
        let served = Gateway::around(api::service(limiter, token), ServeOptions::default()).await;
        Self { served }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.served.address
    }

    /// Ends the API, so that its port refuses connections.
    pub(super) async fn end(self) {
        let address = self.address();
        soon(self.served.stop()).await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}

/// A service that answers with what it was sent: the body, and the fields that a proxy may have passed on.
pub(super) async fn service() -> Gateway {
    Gateway::around(service_fn(echo), ServeOptions::default()).await
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let said = format!("{} {}\n", request.method(), request.uri());
    let token = request.headers().contains_key("x-tidegate-token");
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let body = [said.as_bytes(), &body.unwrap_or_default()].concat();
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert("x-saw-token", token.to_string().parse().unwrap());
    Ok(response)
}

/// Everything a proxy of the page stands between.
pub(super) struct World {
    pub(super) api: Api,
    pub(super) proxy: Running,
    pub(super) _service: Gateway,
}

/// What writes a configuration once its port is known.
type Config = Box<dyn Fn(&Place) -> String>;

/// What a configuration names.
pub(super) struct Addresses {
    pub(super) api: SocketAddr,
    pub(super) service: SocketAddr,
}

impl Addresses {
    /// Puts the test's addresses into a configuration of the page.
    pub(super) fn within(&self, place: &Place, text: &str) -> String {
        let text = instead(text, "8000", &place.port().to_string());
        let text = instead(&text, "127.0.0.1:8081", &self.api.to_string());
        text.replace("127.0.0.1:3000", &self.service.to_string())
    }
}

impl World {
    /// Starts a proxy before a service, with an API that it asks.
    pub(super) async fn start(
        api: Api,
        run: fn(Config) -> Running,
        config: impl Fn(&Place, &Addresses) -> String + Send + 'static,
    ) -> Self {
        let service = service().await;
        let addresses = Addresses { api: api.address(), service: service.address };
        // It waits for the proxy's port.
        let proxy =
            tokio::task::spawn_blocking(move || run(Box::new(move |place| config(place, &addresses)))).await;
        Self { api, proxy: proxy.unwrap(), _service: service }
    }

    pub(super) async fn client(&self) -> Client {
        Client::from([127, 0, 0, 1].into(), self.proxy.address()).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.client().await.get(path).await
    }
}

/// Starts nginx as the page has it, with some of it changed.
pub(super) async fn nginx(api: Api, change: fn(String) -> String) -> World {
    let config = change(block("nginx"));
    World::start(api, |it| tidegate_proxy_kit::proxies::nginx(it), move |place, at| at.within(place, &config))
        .await
}

/// An answer as it came, its fields in their spelling.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn status(&self) -> u16 {
        status(&self.head)
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// Returns the units that the only limit has left, as the answer tells.
    pub(super) fn remaining(&self) -> u32 {
        let standing = self.field("ratelimit").unwrap_or_else(|| panic!("no RateLimit: {self:?}"));
        let (_, rest) = standing.split_once(";r=").unwrap();
        rest.split(';').next().unwrap().parse().unwrap()
    }
}

/// A client with a connection of its own.
pub(super) struct Client {
    connection: Raw<TcpStream>,
    /// What it writes into `Host`.
    host: &'static str,
}

impl Client {
    /// Connects from an address of this machine.
    pub(super) async fn from(own: IpAddr, to: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(own, 0)).unwrap();
        Self { connection: Raw::new(soon(socket.connect(to)).await.unwrap()), host: "site.test" }
    }

    /// Asks for another host than `site.test`.
    pub(super) fn for_host(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    pub(super) async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "", "").await
    }

    /// Sends a request with more fields, each with its line's end, and returns the answer.
    pub(super) async fn send(&mut self, method: &str, path: &str, fields: &str, body: &str) -> Answer {
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let host = self.host;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{fields}{length}\r\n{body}");
        self.connection.send(head).await;
        let head = self.connection.read_head().await;
        let body = if method == "HEAD" || status(&head) == 204 {
            Vec::new()
        } else if field(&head, "transfer-encoding").is_some() {
            self.chunks().await
        } else {
            let length = field(&head, "content-length").unwrap_or_else(|| panic!("no length: {head}"));
            self.connection.read_exact(length.parse().unwrap()).await
        };
        Answer { head, body: String::from_utf8(body).unwrap() }
    }

    async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let size = self.connection.read_until("\r\n").await;
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            body.extend(self.connection.read_exact(size).await);
            self.connection.read_until("\r\n").await;
            if size == 0 {
                return body;
            }
        }
    }
}
