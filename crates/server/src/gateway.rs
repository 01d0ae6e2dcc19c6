//! The gateway: the limit layer before the forwarding service, and its settings read from the policy.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use http::{Request, Response};
use hyper::body::Incoming;
use tidegate::Limiter;
use tidegate_policy::{self as file, TrustedProxies};
use tidegate_tower::{AnswerBody, LimitLayer, LimitService};
use tower_layer::Layer;
use tower_service::Service;

use crate::net::tls::{Shown, TlsError};
use crate::net::{Networks, PeerInfo, ProxyProtocol, RequestLimits, ServeOptions};
use crate::proxy::{Proxy, ProxyBody, ProxyOptions, UpstreamError};

/// What a library user mounts, before what only a gateway needs. Clones share it, and the upstream may be replaced: a
/// request that has begun ends at the one it began with.
#[derive(Debug, Clone)]
pub struct Gateway {
    in_force: Arc<ArcSwap<InForce>>,
}

/// A service, and what it was built by.
#[derive(Debug)]
struct InForce {
    service: LimitService<Proxy>,
    options: ProxyOptions,
}

/// A forwarding service that may take the place of another, found to be possible.
#[derive(Debug)]
pub struct Prepared(Option<InForce>);

/// Builds the gateway's service: limit, then forward.
///
/// # Errors
/// When the upstream is not one that can be forwarded to.
pub fn service(
    limiter: &Limiter,
    face: &file::Gateway,
    trusted: &TrustedProxies,
) -> Result<Gateway, UpstreamError> {
    let in_force = InForce::new(limiter, forwarding(face, trusted))?;
    Ok(Gateway { in_force: Arc::new(ArcSwap::from_pointee(in_force)) })
}

/// Returns the forwarding service's settings.
fn forwarding(face: &file::Gateway, trusted: &TrustedProxies) -> ProxyOptions {
    ProxyOptions {
        upstream: face.upstream.clone(),
        http2: face.upstream_http2,
        upstream_timeout: face.upstream_timeout,
        max_requests: face.max_connections,
        client_header: Some(trusted.client_header()),
        ..ProxyOptions::default()
    }
}

impl InForce {
    fn new(limiter: &Limiter, options: ProxyOptions) -> Result<Self, UpstreamError> {
        let layer = LimitLayer::new(limiter.clone())
            .with_peer(|head| head.extensions.get::<PeerInfo>().map(PeerInfo::ip));
        let service = layer.layer(Proxy::new(&options)?);
        Ok(Self { service, options })
    }
}

impl Gateway {
    /// Prepares to forward as another policy says. Where that is as before, the connections to the upstream stay.
    ///
    /// # Errors
    /// When the upstream is not one that can be forwarded to.
    pub fn prepare(
        &self,
        limiter: &Limiter,
        face: &file::Gateway,
        trusted: &TrustedProxies,
    ) -> Result<Prepared, UpstreamError> {
        let options = forwarding(face, trusted);
        if options == self.in_force.load().options {
            return Ok(Prepared(None));
        }
        InForce::new(limiter, options).map(|in_force| Prepared(Some(in_force)))
    }

    /// Forwards requests that come from now on as prepared.
    pub fn replace(&self, prepared: Prepared) {
        if let Prepared(Some(in_force)) = prepared {
            self.in_force.store(Arc::new(in_force));
        }
    }
}

/// Returns the listener's settings; its certificate and whom it takes the PROXY protocol from can be replaced through what
/// is handed in.
///
/// # Errors
/// When TLS cannot be set up.
pub fn options(
    face: &file::Gateway,
    trusted: &Networks,
    certificate: Option<&Shown>,
) -> Result<ServeOptions, TlsError> {
    let tls = certificate.map(Shown::acceptor).transpose()?;
    let proxy_protocol =
        face.proxy_protocol.then(|| ProxyProtocol { trusted: trusted.clone(), ..ProxyProtocol::default() });
    Ok(ServeOptions {
        tls,
        proxy_protocol,
        max_connections: face.max_connections,
        request: RequestLimits { max_header_bytes: face.max_header_bytes, ..RequestLimits::default() },
        idle_timeout: face.idle_timeout,
        drain_timeout: face.drain_timeout,
        ..ServeOptions::default()
    })
}

impl Service<Request<Incoming>> for Gateway {
    type Response = Response<AnswerBody<ProxyBody>>;
    type Error = Infallible;
    type Future = <LimitService<Proxy> as Service<Request<Incoming>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The forwarding service is ready at all times; what is full makes a request wait, not the service.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let mut service = self.in_force.load().service.clone();
        service.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listeners_defaults_are_those_of_a_policy_that_says_nothing() {
        let text = "tidegate: 1\ngateway: { listen: 127.0.0.1:8080, upstream: \"http://127.0.0.1:3000\" }\n\
                    fallback: { limits: [{ name: l, says: Ten a minute per client., key: client_ip, \
                    sliding_counter: { limit: 10, window: 1m } }] }\n";
        let policy = tidegate_policy::parse("policy.yaml", text).unwrap();
        let said = options(policy.gateway.as_ref().unwrap(), &Networks::default(), None).unwrap();
        // What is compared here is compared by its words; TLS and the PROXY protocol are off in both.
        let default = ServeOptions::default();
        assert_eq!(format!("{said:?}"), format!("{default:?}"));
        assert_eq!((said.max_connections, said.request), (default.max_connections, default.request));
        assert_eq!((said.idle_timeout, said.drain_timeout), (default.idle_timeout, default.drain_timeout));
    }
}
