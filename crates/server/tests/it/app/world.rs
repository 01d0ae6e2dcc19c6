//! An application to start and stop, and an upstream that echoes.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tidegate::Limiter;
use tidegate_server::app::{Addresses, App, Report, StartError};
use tidegate_server::net::ServeOptions;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::service_fn;

use crate::support::{Gateway, soon};

/// A running application.
pub(crate) struct Running {
    pub(crate) at: Addresses,
    pub(crate) limiter: Limiter,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Report>,
    _upstream: Gateway,
}

impl Running {
    /// Starts an application by a policy whose upstream echoes; `more` is the rest of the policy.
    pub(crate) async fn by(more: &str) -> Self {
        Self::before(Gateway::around(service_fn(echo), ServeOptions::default()).await, more).await
    }

    /// Starts an application before an upstream of the test's.
    pub(crate) async fn before(upstream: Gateway, more: &str) -> Self {
        let app = bind(upstream.address, more).await.unwrap();
        let at = app.addresses().unwrap();
        let limiter = app.limiter().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let done = tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, limiter, stop, done, _upstream: upstream }
    }

    pub(crate) fn gateway(&self) -> SocketAddr {
        self.at.gateway.unwrap()
    }

    /// Asks for the end; what became of everything follows when all is done.
    pub(crate) fn stop(self) -> impl Future<Output = Report> {
        let Self { stop, done, _upstream: upstream, .. } = self;
        stop.send(()).unwrap();
        async move {
            let report = soon(done).await.unwrap();
            drop(upstream);
            report
        }
    }
}

pub(crate) async fn bind(upstream: SocketAddr, more: &str) -> Result<App, StartError> {
    let text = format!(
        "tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: \"http://{upstream}\" }}\n\
         api: {{ listen: 127.0.0.1:0 }}\nhealth: {{ listen: 127.0.0.1:0 }}\n{more}"
    );
    let policy = tidegate_policy::parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    App::bind(policy).await
}

/// Answers with the body, and says which path and which fields about the client arrived.
async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let forwarded = request.headers().get("x-forwarded-for").cloned();
    let client: Vec<String> = ["cf-connecting-ip", "cf_connecting_ip"]
        .iter()
        .filter_map(|name| request.headers().get(*name)?.to_str().ok().map(str::to_owned))
        .collect();
    let body =
        request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert("x-path", path.parse().unwrap());
    response.headers_mut().insert("x-saw-client", client.join(", ").parse().unwrap());
    if let Some(forwarded) = forwarded {
        response.headers_mut().insert("x-saw-forwarded-for", forwarded);
    }
    Ok(response)
}

/// A request for a raw socket, with a body of known length.
pub(crate) fn post(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: example.test\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: example.test\r\n{headers}\r\n")
}
