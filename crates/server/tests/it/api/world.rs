//! An API to start and stop, and a client for it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tidegate::policy_file::{self, Policy};
use tidegate::{Limiter, MemoryOptions, MemoryStore, Store};
use tidegate_server::api;
use tidegate_server::net::{BoxError, ServeOptions, serve};
use tidegate_store::faulty::Faulty;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower_service::Service;

use crate::support::soon;

/// Reads a policy whose faces nobody binds.
pub(crate) fn policy(rules: &str) -> Policy {
    let text = format!("tidegate: 1\napi: {{ listen: 127.0.0.1:0 }}\n{rules}");
    policy_file::parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn limiter(rules: &str) -> Limiter {
    Limiter::from_policy(policy(rules)).unwrap()
}

pub(crate) fn limiter_on(store: Arc<dyn Store>, rules: &str) -> Limiter {
    Limiter::from_policy_with(policy(rules), store).unwrap()
}

/// A store that fails on command.
pub(crate) fn faulty() -> Arc<Faulty<MemoryStore>> {
    Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()))
}

/// A router on a socket, until it is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    _stop: DropGuard,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the problem document of a call at fault.
    pub(crate) fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        problem
    }
}

impl Served {
    /// Starts the decision API by a policy.
    pub(crate) async fn api(rules: &str) -> Self {
        Self::start(api::service(limiter(rules), None)).await
    }

    pub(crate) async fn start<S, B>(service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve(socket, service, ServeOptions::default(), stop.clone().cancelled_owned()));
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { address, client, _stop: stop.drop_guard() }
    }

    pub(crate) async fn send(&self, mut request: Request<Full<Bytes>>) -> Answer {
        let path = request.uri().path_and_query().unwrap().clone();
        *request.uri_mut() = format!("http://{}{path}", self.address).parse().unwrap();
        let response = soon(self.client.request(request)).await.unwrap();
        let (head, body) = response.into_parts();
        let body = soon(body.collect()).await.unwrap().to_bytes();
        Answer { status: head.status, headers: head.headers, body }
    }

    pub(crate) async fn call(&self, method: Method, path: &str) -> Answer {
        let request = Request::builder().method(method).uri(path);
        self.send(request.body(Full::default()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let request = Request::post(path).header("content-type", "application/json");
        let body = Bytes::copy_from_slice(body.as_ref());
        self.send(request.body(Full::new(body)).unwrap()).await
    }

    /// Asks for a verdict, which there must be.
    pub(crate) async fn check(&self, call: Value) -> Value {
        let answer = self.post("/v1/check", call.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        answer.json()
    }

    pub(crate) async fn refund(&self, receipt: &Value) -> Answer {
        self.post("/v1/refund", serde_json::json!({ "receipt": receipt }).to_string()).await
    }
}
