//! The upstream and the pool of connections to it.

use std::collections::HashMap;
use std::fmt;
use std::mem::Discriminant;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use http::{HeaderName, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::body::UpstreamBody;
use super::damper::Damper;
use super::error::ForwardError;

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
    /// The longest the upstream may take to begin its answer, from the last piece of the request's body. Default 30 s.
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

/// The upstream, ready to be sent requests.
pub(crate) struct Upstream {
    pub(crate) client: Client<HttpConnector, UpstreamBody>,
    pub(crate) authority: Authority,
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
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.pool_idle_timeout)
            .pool_max_idle_per_host(options.pool_max_idle)
            // Only requests of which nothing was sent are tried again; anything else could be carried out twice.
            .retry_canceled_requests(true)
            .http2_only(options.http2)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(options.http2.then_some(HTTP2_PING))
            .http2_keep_alive_timeout(HTTP2_PING)
            .build(connector);
        Ok(Self {
            client,
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
