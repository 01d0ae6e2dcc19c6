//! What the tests share: a policy in a few lines, a service behind, and requests.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tidegate::{Limiter, MemoryOptions, MemoryStore, Store, policy_file};
use tidegate_tower::{LimitLayer, PeerAddr, ReplayedBody, ResolvedClient};
use tower::{Layer, Service, ServiceExt, service_fn};

/// A limiter by a policy that listens nowhere in particular.
pub(crate) fn by(policy: &str) -> Limiter {
    by_on(Arc::new(MemoryStore::new(MemoryOptions::default()).unwrap()), policy)
}

/// The same on a store of the test's.
pub(crate) fn by_on(store: Arc<dyn Store>, policy: &str) -> Limiter {
    let text =
        format!("tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }}\n{policy}");
    let policy = policy_file::parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    Limiter::from_policy_with(policy, store).unwrap()
}

/// A rule with one limit on everybody; `more` goes into the rule.
pub(crate) fn one_limit(algorithm: &str, more: &str) -> String {
    format!(
        "rules:\n  - name: r\n    class: api\n    match: {{ path: /** }}\n{more}    limits:\n      - name: l\n        \
         says: Just so, for everyone together.\n        key: global\n        {algorithm}\n"
    )
}

/// Sends a request through the layer to a service that echoes the body and what it learnt of the client.
pub(crate) async fn send<B>(limiter: &Limiter, request: Request<B>) -> Response<Bytes>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: std::fmt::Debug + Send,
{
    let mut service = LimitLayer::new(limiter.clone()).layer(service_fn(echo::<B>));
    let response = service.ready().await.unwrap().call(request).await.unwrap();
    let (head, body) = response.into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

async fn echo<B>(request: Request<ReplayedBody<B>>) -> Result<Response<Full<Bytes>>, Infallible>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    let client = request.extensions().get::<ResolvedClient>().copied();
    let collected = request.into_body().collect().await.unwrap();
    let trailers = collected.trailers().cloned().unwrap_or_default();
    let mut response = Response::new(Full::new(collected.to_bytes()));
    response.headers_mut().extend(trailers);
    if let Some(client) = client {
        response.headers_mut().insert("x-client", client.address.to_string().parse().unwrap());
    }
    Ok(response)
}

/// A request as the policy sees it, from nobody in particular.
pub(crate) fn anybody(headers: &HeaderMap) -> policy_file::Request<'_> {
    policy_file::Request {
        method: "GET",
        host: None,
        path: "/",
        query: None,
        headers,
        peer: None,
        body: None,
    }
}

pub(crate) fn get(path: &str) -> Request<Full<Bytes>> {
    request("GET", path, "")
}

pub(crate) fn post(path: &str, json: &str) -> Request<Full<Bytes>> {
    let mut request = request("POST", path, json);
    request.headers_mut().insert("content-type", "application/json".parse().unwrap());
    request
}

pub(crate) fn request(method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let peer = PeerAddr("192.0.2.7".parse::<IpAddr>().unwrap());
    Request::builder().method(method).uri(path).extension(peer).body(body).unwrap()
}

/// A field's value, `None` when it is not there.
pub(crate) fn field<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}
