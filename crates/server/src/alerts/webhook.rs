//! One webhook: a POST on a connection of its own, in bounded time.
//!
//! There is one in a minute at most while something is wrong, and none otherwise: no connection is worth keeping, and none
//! that is kept can have died meanwhile. Redirects are not followed, since what is told is for the address the policy names.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long telling a webhook may take, from the name's resolution to the answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most of an answer that is read for what is wrong.
const MOST_READ: usize = 4 << 10;
/// The most characters of it that are told.
const MOST_TOLD: usize = 200;

/// A webhook.
#[derive(Debug, Clone)]
pub(super) struct Webhook {
    uri: Uri,
    /// The host, an address of version 6 without its brackets.
    host: String,
    port: u16,
    tls: Option<(TlsConnectorOf, ServerName<'static>)>,
}

#[derive(Clone)]
struct TlsConnectorOf(TlsConnector);

impl std::fmt::Debug for TlsConnectorOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsConnector")
    }
}

/// Why a webhook cannot be told anything at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The URL is not whole, or of another scheme.
    #[error(
        "`{0}` is no webhook: write it as http://host:port/path or https://host:port/path, such as \
         http://127.0.0.1:9093/api/v2/alerts"
    )]
    Url(Uri),
    /// The system trusts nobody.
    #[error(
        "this system has no certificates of authorities to trust, so no https webhook can be told anything ({0}); \
         install them (Debian: ca-certificates), or name a file of them in SSL_CERT_FILE"
    )]
    NoAuthorities(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Why a webhook was not told.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("there was no answer within {} s", TIMEOUT.as_secs())]
    Timeout,
    #[error("no connection: {0}")]
    Connect(#[source] std::io::Error),
    #[error("no TLS: {0}")]
    Tls(#[source] std::io::Error),
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    #[error("no request can be made of it: {0}")]
    Request(#[from] http::Error),
    #[error("it answered {0}{1}")]
    Refused(StatusCode, String),
}

impl Webhook {
    pub(super) fn new(uri: &Uri) -> Result<Self, WebhookError> {
        let wrong = || WebhookError::Url(uri.clone());
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (port, tls) = match uri.scheme_str() {
            Some("http") => (80, None),
            Some("https") => {
                let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
                (443, Some((TlsConnectorOf(connector()?), name)))
            }
            _ => return Err(wrong()),
        };
        Ok(Self { port: uri.port_u16().unwrap_or(port), uri: uri.clone(), host, tls })
    }

    /// Returns what a log may say of it: neither path nor user, which may hold a secret.
    pub(super) fn name(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Sends a body of JSON, and waits for the answer.
    pub(super) async fn post(&self, body: Vec<u8>) -> Result<(), SendError> {
        tokio::time::timeout(TIMEOUT, self.post_unbounded(body)).await.map_err(|_| SendError::Timeout)?
    }

    async fn post_unbounded(&self, body: Vec<u8>) -> Result<(), SendError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(SendError::Connect)?;
        match &self.tls {
            None => self.post_on(stream, body).await,
            Some((TlsConnectorOf(connector), name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(SendError::Tls)?;
                self.post_on(stream, body).await
            }
        }
    }

    async fn post_on<S>(&self, stream: S, body: Vec<u8>) -> Result<(), SendError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
        let exchange = async {
            let answer = sender.send_request(self.request(body)?).await?;
            let status = answer.status();
            if status.is_success() {
                return Ok(());
            }
            let rest = Limited::new(answer.into_body(), MOST_READ).collect().await;
            Err(SendError::Refused(
                status,
                said(&rest.map(http_body_util::Collected::to_bytes).unwrap_or_default()),
            ))
        };
        // Not a task of its own: the connection ends with the exchange, whoever gives that up.
        tokio::pin!(exchange, connection);
        tokio::select! {
            done = &mut exchange => done,
            // Its end is the exchange's, which says why.
            _ = &mut connection => exchange.await,
        }
    }

    fn request(&self, body: Vec<u8>) -> Result<Request<Full<Bytes>>, http::Error> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let authority = self.uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("tidegate/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::from(body)))
    }
}

/// Trusts the authorities that the system does.
fn connector() -> Result<TlsConnector, WebhookError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = rustls::RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or_else(|| "none were found".to_owned(), ToString::to_string);
        return Err(WebhookError::NoAuthorities(why));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Returns the beginning of an answer as the end of a sentence, in one line.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line: String =
        text.chars().map(|one| if one.is_control() { ' ' } else { one }).take(MOST_TOLD).collect();
    let line = line.trim();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a webhook that can never be told anything and is noticed in the outage.
    #[test]
    fn a_webhook_is_a_whole_url_and_its_secret_is_not_told() {
        for wrong in ["/api/v2/alerts", "ftp://host/", "host:9093"] {
            let error = Webhook::new(&wrong.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("http://host:port"), "{error}");
        }
        let webhook = Webhook::new(&"http://user:secret@[::1]:9093/secret?secret".parse().unwrap()).unwrap();
        assert_eq!(webhook.name(), "[::1]:9093");
        let request = webhook.request(Vec::new()).unwrap();
        assert_eq!(request.uri(), "/secret?secret");
        assert_eq!(request.headers()[HOST], "[::1]:9093");
        assert_eq!(Webhook::new(&"http://a".parse().unwrap()).unwrap().name(), "a:80");
    }
}
