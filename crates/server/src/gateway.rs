//! The gateway: the limit layer before the forwarding service, and its settings read from the policy.

use std::convert::Infallible;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use tidegate::Limiter;
use tidegate_policy::{self as file, TrustedProxies};
use tidegate_tower::{AnswerBody, LimitLayer, LimitService, PeerAddr};
use tower_layer::Layer;
use tower_service::Service;

use crate::net::tls::{self, TlsError};
use crate::net::{PeerInfo, ProxyProtocol, RequestLimits, ServeOptions};
use crate::proxy::{Proxy, ProxyBody, ProxyOptions, UpstreamError};

/// What a library user mounts, before what only a gateway needs.
#[derive(Debug, Clone)]
pub struct Gateway(LimitService<Proxy>);

/// Builds the gateway's service: limit, then forward.
///
/// # Errors
/// When the upstream is not one that can be forwarded to.
pub fn service(
    limiter: &Limiter,
    face: &file::Gateway,
    trusted: &TrustedProxies,
) -> Result<Gateway, UpstreamError> {
    let options = ProxyOptions {
        upstream: face.upstream.clone(),
        http2: face.upstream_http2,
        upstream_timeout: face.upstream_timeout,
        max_requests: face.max_connections,
        client_header: Some(trusted.client_header()),
        ..ProxyOptions::default()
    };
    let forward = Proxy::new(&options)?;
    Ok(Gateway(LimitLayer::new(limiter.clone()).layer(forward)))
}

/// Returns the listener's settings.
///
/// # Errors
/// When the certificate or its key cannot be used.
pub fn options(face: &file::Gateway, trusted: &TrustedProxies) -> Result<ServeOptions, TlsError> {
    let tls = face.tls.as_ref().map(|files| tls::acceptor(&files.certificate, &files.key)).transpose()?;
    let proxy_protocol = face
        .proxy_protocol
        .then(|| ProxyProtocol { trusted: trusted.networks().to_vec(), ..ProxyProtocol::default() });
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

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Incoming>>::poll_ready(&mut self.0, context)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(peer) = request.extensions().get::<PeerInfo>().map(PeerInfo::ip) {
            request.extensions_mut().insert(PeerAddr(peer));
        }
        self.0.call(request)
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
        let said = options(policy.gateway.as_ref().unwrap(), &policy.trusted).unwrap();
        // What is compared here is compared by its words; TLS and the PROXY protocol are off in both.
        let default = ServeOptions::default();
        assert_eq!(format!("{said:?}"), format!("{default:?}"));
        assert_eq!((said.max_connections, said.request), (default.max_connections, default.request));
        assert_eq!((said.idle_timeout, said.drain_timeout), (default.idle_timeout, default.drain_timeout));
    }
}
