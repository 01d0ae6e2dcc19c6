//! The upstream and the pool of connections to it.

use std::collections::HashMap;
use std::fmt;
use std::mem::Discriminant;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::body::UpstreamBody;
use super::damper::Damper;
use super::error::ForwardError;
use super::pool::{Lease, Pool};

/// How often an upstream's HTTP/2 connection is asked whether it still lives; twice that and it is given up.
const HTTP2_PING: Duration = Duration::from_secs(20);
/// How long a silent tunnel or a silent answer may go without the kernel asking whether the upstream is still there.
const TCP_KEEPALIVE: Duration = Duration::from_mins(1);

/// Where to forward to, and with how much patience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyOptions {
    /// The upstream: `http://host:port`, no path. The default is `http://127.0.0.1:3000`.
    pub upstream: Uri,
    /// Speaks HTTP/2 to the upstream, by prior knowledge. Upgrades are then not forwarded. Default: HTTP/1.1.
    pub http2: bool,
    /// The longest a connection may take to open. Default 5 s.
    pub connect_timeout: Duration,
    /// The longest the upstream may take to begin its answer, from the last piece of the request's body; and the longest that a
    /// request may go on once its answer has ended. Default 30 s.
    pub upstream_timeout: Duration,
    /// The most requests under way at the upstream; further ones wait, at most the upstream's time. Default 10,000.
    pub max_requests: usize,
    /// The header in which trusted peers name the client, taken out where the peer is not trusted. The usual ones are
    /// in any case. Default: none but those.
    pub client_header: Option<HeaderName>,
    /// How long an unused connection is kept. Below what servers usually allow, so that they rarely close one just as
    /// it is taken up again. Default 50 s.
    pub pool_idle_timeout: Duration,
    /// The most unused connections kept. Default 1,024.
    pub pool_max_idle: usize,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            upstream: Uri::from_static("http://127.0.0.1:3000"),
            http2: false,
            connect_timeout: Duration::from_secs(5),
            upstream_timeout: Duration::from_secs(30),
            max_requests: 10_000,
            client_header: None,
            pool_idle_timeout: Duration::from_secs(50),
            pool_max_idle: 1024,
        }
    }
}

/// Why an upstream cannot be forwarded to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// The URL has no host, or no scheme before it.
    #[error("the upstream `{0}` is not a whole URL: write it as http://host:port")]
    NotAbsolute(Uri),
    /// The URL is of a scheme that is not spoken.
    #[error(
        "the upstream `{0}` is not of the scheme http, the only one spoken to upstreams: \
         use http://, with a TLS tunnel or sidecar where the way there is not trusted"
    )]
    Scheme(Uri),
    /// The URL has a path, a query, or a user in it.
    #[error(
        "the upstream `{0}` has more than a host and a port: paths are forwarded as they come, so leave the rest out"
    )]
    NotBare(Uri),
}

/// What sends requests to the upstream.
pub(crate) enum Client {
    Http1(Arc<Pool>),
    /// Boxed, since it is many times the other's size.
    Http2(Box<legacy::Client<HttpConnector, UpstreamBody>>),
}

impl Client {
    fn new(options: &ProxyOptions, connector: HttpConnector) -> Self {
        let (timeout, most) = (options.pool_idle_timeout, options.pool_max_idle);
        if !options.http2 {
            let (kept, upstream) = ((timeout, most), options.upstream.clone());
            return Self::Http1(Arc::new(Pool::new(connector, upstream, kept, options.upstream_timeout)));
        }
        let client = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(timeout)
            .pool_max_idle_per_host(most)
            // Only requests of which nothing was sent are tried again; anything else could be carried out twice.
            .retry_canceled_requests(true)
            .http2_only(true)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(HTTP2_PING)
            .http2_keep_alive_timeout(HTTP2_PING)
            .build(connector);
        Self::Http2(Box::new(client))
    }

    /// Sends a request and returns its answer, with the connection that it takes for itself as long as its body lasts.
    pub(crate) async fn send(
        &self,
        request: Request<UpstreamBody>,
    ) -> Result<(Response<Incoming>, Option<Lease>), ForwardError> {
        match self {
            Self::Http1(pool) => pool.send(request).await.map(|(response, lease)| (response, Some(lease))),
            Self::Http2(client) => Ok((client.request(request).await?, None)),
        }
    }
}

/// The upstream, ready to be sent requests.
pub(crate) struct Upstream {
    pub(crate) client: Client,
    pub(crate) authority: Authority,
    /// The host for a request that names none.
    pub(crate) host: Option<HeaderValue>,
    pub(crate) http2: bool,
    pub(crate) timeout: Duration,
    pub(crate) client_header: Option<HeaderName>,
    /// A place for each request under way: without a bound of their own, the streams of a few HTTP/2 clients would take
    /// every descriptor, and as many connections to the upstream.
    pub(crate) places: Arc<Semaphore>,
    /// What is logged while there is no answer, one for each kind of error.
    pub(crate) outages: Mutex<HashMap<Discriminant<ForwardError>, Damper>>,
}

impl Upstream {
    pub(crate) fn new(options: &ProxyOptions) -> Result<Self, UpstreamError> {
        let authority = check(&options.upstream)?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(TCP_KEEPALIVE));
        connector.set_connect_timeout(Some(options.connect_timeout));
        let client = Client::new(options, connector);
        Ok(Self {
            client,
            host: host_of(&authority),
            authority,
            http2: options.http2,
            timeout: options.upstream_timeout,
            client_header: options.client_header.clone(),
            places: Arc::new(Semaphore::new(options.max_requests.clamp(1, Semaphore::MAX_PERMITS))),
            outages: Mutex::default(),
        })
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("authority", &self.authority)
            .field("http2", &self.http2)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

fn check(upstream: &Uri) -> Result<Authority, UpstreamError> {
    let (Some(scheme), Some(authority)) = (upstream.scheme_str(), upstream.authority()) else {
        return Err(UpstreamError::NotAbsolute(upstream.clone()));
    };
    if scheme != "http" {
        return Err(UpstreamError::Scheme(upstream.clone()));
    }
    let bare = upstream.path_and_query().is_none_or(|path| path.as_str() == "/");
    if !bare || authority.as_str().contains('@') {
        return Err(UpstreamError::NotBare(upstream.clone()));
    }
    Ok(authority.clone())
}

/// Returns what `Host` says of an upstream.
fn host_of(authority: &Authority) -> Option<HeaderValue> {
    let host = match authority.port_u16() {
        Some(80) => authority.host(),
        _ => authority.as_str(),
    };
    HeaderValue::from_str(host).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_that_cannot_be_forwarded_to_are_refused_in_words() {
        for (upstream, words) in [
            ("/path", "whole URL"),
            ("host:80", "whole URL"),
            ("https://host", "scheme http"),
            ("http://host/base", "more than a host"),
            ("http://host/?q", "more than a host"),
            ("http://user@host", "more than a host"),
        ] {
            let options = ProxyOptions { upstream: upstream.parse().unwrap(), ..ProxyOptions::default() };
            let error = Upstream::new(&options).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(upstream), "{upstream}: {error}");
        }
    }
}
