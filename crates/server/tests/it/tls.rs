//! TLS: negotiation, and files that will not do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tidegate_server::net::{ServeOptions, tls};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Gateway, Raw, RawServer, field, proxy_to, soon};

/// A folder of this test's own, removed with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes a certificate for `localhost`; returns it, and both files.
pub(crate) fn certify(folder: &Folder) -> (CertificateDer<'static>, PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = folder.write("cert.pem", made.cert.pem());
    let key = folder.write("key.pem", made.signing_key.serialize_pem());
    (made.cert.der().clone(), certificate, key)
}

/// Connects by TLS and believes one certificate.
pub(crate) async fn connect(
    gateway: SocketAddr,
    root: &CertificateDer<'static>,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(gateway).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

#[tokio::test]
async fn alpn_chooses_between_http1_and_http2() {
    let folder = Folder::new("alpn");
    let (root, certificate, key) = certify(&folder);
    let options =
        ServeOptions { tls: Some(tls::acceptor(&certificate, &key).unwrap()), ..ServeOptions::default() };
    let upstream = RawServer::new().await;
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    for (alpn, chosen) in [(&["http/1.1"][..], Some("http/1.1")), (&[], None)] {
        let stream = connect(gateway.address, &root, alpn).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen.map(str::as_bytes));
        let mut client = Raw::new(stream);
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        let mut server = upstream.accept().await;
        assert_eq!(field(&server.read_head().await, "x-forwarded-proto"), Some("https"));
        server.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await;
        client.read_until("ok").await;
    }
    let stream = connect(gateway.address, &root, &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://localhost/two").body(Empty::<Bytes>::new()).unwrap();
    let response = tokio::spawn(sender.send_request(request));
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert!(head.starts_with("GET /two ") && field(&head, "host") == Some("localhost"), "{head}");
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(soon(response).await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn cleartext_on_a_tls_listener_is_closed_and_others_are_served() {
    let folder = Folder::new("cleartext");
    let (root, certificate, key) = certify(&folder);
    let options =
        ServeOptions { tls: Some(tls::acceptor(&certificate, &key).unwrap()), ..ServeOptions::default() };
    let upstream = RawServer::new().await;
    let gateway = Gateway::start(proxy_to(upstream.address), options).await;
    let mut clear = gateway.connect().await;
    clear.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(!clear.read_to_close().await.contains("HTTP"));
    let mut client = Raw::new(connect(gateway.address, &root, &[]).await.unwrap());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    upstream.accept().await.read_head().await;
}

#[test]
fn files_that_will_not_do_are_named_with_the_remedy() {
    let folder = Folder::new("files");
    let (_, certificate, key) = certify(&folder);
    let other = folder.write("other.pem", rcgen::KeyPair::generate().unwrap().serialize_pem());
    let empty = folder.write("empty.pem", "");
    let broken = folder.write("broken.pem", "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n");
    let missing = folder.0.join("missing.pem");
    for (certificate, key, words) in [
        (&missing, &key, ["cannot read certificate", "missing.pem"]),
        (&certificate, &missing, ["cannot read private key", "this process may read"]),
        (&empty, &key, ["empty.pem holds no certificate", "BEGIN CERTIFICATE"]),
        (&key, &key, ["key.pem holds no certificate", "BEGIN CERTIFICATE"]),
        (&certificate, &empty, ["empty.pem holds no private key", "BEGIN PRIVATE KEY"]),
        (&certificate, &certificate, ["cert.pem holds no private key", "BEGIN PRIVATE KEY"]),
        (&broken, &key, ["broken.pem", "; it must be a PEM file"]),
        (&certificate, &other, ["cannot be used with the key", "other.pem"]),
    ] {
        let error = tls::acceptor(certificate, key).err().unwrap().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}
