//! The forwarding service: a request in, the upstream's answer out, or a problem that says why there is none.
//!
//! [`Proxy`] is an ordinary tower service and never fails. It knows nothing of limits: those are a layer around it,
//! and whoever is refused there never gets this far. Bodies are streamed both ways with the slower side setting the
//! pace; when the client goes away the answer's body is dropped, and with it the exchange with the upstream.

mod body;
mod client;
mod damper;
mod error;
mod forwarded;
pub(crate) mod headers;
mod pool;
mod upgrade;

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri, Version};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use tidegate_tower::{BodyRead, NeverForwarded, ResolvedClient, problem_response};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tower_service::Service;

use self::body::{Progress, UpstreamBody};
use self::client::Upstream;
use self::error::ForwardError;
use crate::net::{BoxError, PeerInfo, TunnelScope};

pub use self::body::ProxyBody;
pub use self::client::{ProxyOptions, UpstreamError};

/// Forwards requests to one upstream. Cheap to clone; clones share the pool of connections.
#[derive(Clone, Debug)]
pub struct Proxy {
    upstream: Arc<Upstream>,
}

impl Proxy {
    /// Builds the service. No connection is opened yet.
    ///
    /// # Errors
    /// Fails when the upstream is not an `http://` URL of just a host and a port.
    pub fn new(options: &ProxyOptions) -> Result<Self, UpstreamError> {
        Ok(Self { upstream: Arc::new(Upstream::new(options)?) })
    }
}

impl<B> Service<Request<B>> for Proxy
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<ProxyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let upstream = Arc::clone(&self.upstream);
        let is_http1 = request.version() < Version::HTTP_2;
        let is_on_its_way =
            !request.body().is_end_stream() && request.extensions().get::<BodyRead>().is_none();
        // Here, so that the future holds the request once and not at every step.
        let outgoing = upstream.prepare(request);
        let progress = outgoing.as_ref().ok().and_then(|outgoing| outgoing.progress.clone());
        Box::pin(async move {
            let response = upstream.forward(outgoing).await.unwrap_or_else(|error| {
                let mut response = problem_response::<Full<Bytes>>(error.status(), error.detail());
                // Behind the rest of a body the server closes the connection, and whoever shares it has to know.
                if is_http1 && is_on_its_way && !progress.is_some_and(|progress| progress.has_ended()) {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                if error.is_never_forwarded() {
                    response.extensions_mut().insert(NeverForwarded);
                }
                upstream.log(error);
                response.map(ProxyBody::from)
            });
            Ok(response)
        })
    }
}

/// A client's request made into ours, and what its answer needs.
struct Outgoing {
    request: Request<UpstreamBody>,
    progress: Option<Arc<Progress>>,
    /// The client's side of a tunnel, where it asks for one.
    client_side: Option<OnUpgrade>,
    scope: Option<TunnelScope>,
}

impl Upstream {
    async fn forward(
        &self,
        outgoing: Result<Outgoing, ForwardError>,
    ) -> Result<Response<ProxyBody>, ForwardError> {
        let Outgoing { request, progress, client_side, scope } = outgoing?;
        let place = self.place().await?;
        let answer = self.client.send(request);
        let (mut response, lease) = wait(answer, progress.as_deref(), self.timeout).await?;
        let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if switches {
            let client_side = client_side.ok_or(ForwardError::UnaskedUpgrade)?;
            upgrade::open(client_side, hyper::upgrade::on(&mut response), scope, place);
            headers::prepare_response(response.headers_mut(), switches);
            return Ok(pass_on(response, |_| ProxyBody::empty()));
        }
        headers::prepare_response(response.headers_mut(), switches);
        Ok(pass_on(response, |body| ProxyBody::passed(body, place, lease)))
    }

    /// Waits for a place among the requests under way, as long as for the upstream itself.
    async fn place(&self) -> Result<OwnedSemaphorePermit, ForwardError> {
        // Nearly always there is room, and then no timer is made.
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let place = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout(self.timeout, place).await {
            Ok(Ok(place)) => Ok(place),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(ForwardError::NoPlace),
        }
    }

    /// Makes the client's request into ours.
    fn prepare<B>(&self, mut request: Request<B>) -> Result<Outgoing, ForwardError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let protocol = headers::wanted_upgrade(request.method(), request.version(), request.headers())
            .filter(|_| !self.http2);
        let client_side = protocol.as_ref().map(|_| hyper::upgrade::on(&mut request));
        let (mut parts, body) = request.into_parts();
        let (body, progress) = body::from_client(body);
        headers::prepare_request(&mut parts.headers, protocol, self.http2);
        let (peer, resolved) = (parts.extensions.get::<PeerInfo>(), parts.extensions.get::<ResolvedClient>());
        let vouched = resolved.is_some_and(|client| client.peer_trusted);
        forwarded::drop_forged(&mut parts.headers, vouched, self.client_header.as_ref());
        forwarded::set_forwarding(&mut parts.headers, peer, resolved);
        headers::add_via(&mut parts.headers, parts.version);
        if !headers::frame_body(&mut parts.headers, progress.is_some(), self.http2) {
            return Err(ForwardError::Length);
        }
        let scope = client_side.as_ref().and_then(|_| parts.extensions.get::<TunnelScope>().cloned());
        // What is known about the client's request means nothing to the upstream's connection.
        parts.extensions.clear();
        parts.version = if self.http2 { Version::HTTP_2 } else { Version::HTTP_11 };
        parts.uri = self.target(&parts.uri).map_err(ForwardError::Target)?;
        if !self.http2
            && !parts.headers.contains_key(HOST)
            && let Some(host) = &self.host
        {
            parts.headers.insert(HOST, host.clone());
        }
        Ok(Outgoing { request: Request::from_parts(parts, body), progress, client_side, scope })
    }

    /// Logs why there is no answer; of what is not the client's doing, each kind by itself and not without bound.
    fn log(&self, error: ForwardError) {
        if !error.status().is_server_error() {
            tracing::debug!(%error, cause = error.cause(), "a client failed");
            return;
        }
        let damper = self.outages.lock().entry(std::mem::discriminant(&error)).or_default().clone();
        let upstream = self.authority.clone();
        damper.tell(move |more| match more {
            0 => tracing::warn!(%error, cause = error.cause(), %upstream, "no answer to pass on"),
            more => tracing::warn!(%error, cause = error.cause(), %upstream, more, "no answer to pass on, {more} times more"),
        });
    }

    fn target(&self, uri: &Uri) -> Result<Uri, http::Error> {
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        if !self.http2 {
            return Ok(Uri::from(path));
        }
        Uri::builder().scheme("http").authority(self.authority.clone()).path_and_query(path).build()
    }
}

/// Waits for the answer's header. The time starts anew with each piece of the client's body, so that a long upload is
/// no slow upstream; when it is the client that has stopped, the error says so.
async fn wait<T>(
    answer: impl Future<Output = Result<T, ForwardError>>,
    progress: Option<&Progress>,
    timeout: Duration,
) -> Result<T, ForwardError> {
    let mut answer = pin!(answer);
    let mut patience = pin!(tokio::time::sleep(timeout));
    loop {
        tokio::select! {
            biased;
            answered = &mut answer => return answered,
            () = &mut patience => {}
        }
        let Some(progress) = progress else {
            return Err(ForwardError::UpstreamTimeout);
        };
        let until = progress.last() + timeout;
        if until > Instant::now() {
            patience.as_mut().reset(until);
        } else if progress.waits_for_client() {
            return Err(ForwardError::ClientTimeout);
        } else {
            return Err(ForwardError::UpstreamTimeout);
        }
    }
}

/// Makes the upstream's answer into ours.
fn pass_on(response: Response<Incoming>, body_of: impl FnOnce(Incoming) -> ProxyBody) -> Response<ProxyBody> {
    let (mut parts, body) = response.into_parts();
    parts.extensions.clear();
    // The upstream's version is its own; the client is answered in the one it spoke.
    parts.version = Version::default();
    Response::from_parts(parts, body_of(body))
}

#[cfg(test)]
mod tests;
