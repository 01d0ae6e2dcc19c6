//! A client nobody here wrote.

use std::convert::Infallible;
use std::process::Stdio;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tidegate_server::net::{RequestLimits, ServeOptions, tls};
use tokio::net::TcpListener;

use crate::support::{Gateway, proxy_to, soon};
use crate::tls::{Folder, certify};

/// Says how it was asked: version, method, target, bytes of the body.
async fn tell(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, mut body) = request.into_parts();
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
    let line = format!("{:?} {} {} {bytes}", parts.version, parts.method, parts.uri);
    Ok(Response::new(Full::from(line)))
}

async fn gateway(options: ServeOptions) -> Gateway {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = socket.accept().await.unwrap();
            let service = hyper::service::service_fn(tell);
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    Gateway::start(proxy_to(address), options).await
}

/// Runs curl and returns the answer's body, its status and its version.
async fn curl(arguments: &[&str]) -> String {
    let output = tokio::process::Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--write-out",
            " | %{http_code} %{http_version}",
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = soon(output).await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const SIZE: usize = 8 * 1024 * 1024;

#[tokio::test]
async fn curl_is_served_in_every_way_it_can_ask() {
    let folder = Folder::new("curl");
    let upload = folder.write("upload", vec![b'x'; SIZE]);
    let upload = format!("@{}", upload.display());
    let gateway = gateway(ServeOptions::default()).await;
    let url = format!("http://{}/a?b", gateway.address);
    let all = format!("HTTP/1.1 POST /a?b {SIZE}");
    for (arguments, expected) in [
        (vec![], "HTTP/1.1 GET /a?b 0 | 200 1.1".to_owned()),
        (vec!["--http1.0"], "HTTP/1.1 GET /a?b 0 | 200 1".to_owned()),
        (vec!["--http2-prior-knowledge"], "HTTP/1.1 GET /a?b 0 | 200 2".to_owned()),
        (vec!["--http2"], "HTTP/1.1 GET /a?b 0 | 200 1.1".to_owned()),
        (vec!["--head", "--output", "/dev/null"], " | 200 1.1".to_owned()),
        (vec!["--data-binary", &upload], format!("{all} | 200 1.1")),
        (vec!["--data-binary", &upload, "-H", "Expect: 100-continue"], format!("{all} | 200 1.1")),
        (vec!["--data-binary", &upload, "-H", "Transfer-Encoding: chunked"], format!("{all} | 200 1.1")),
        (vec!["--data-binary", &upload, "--http2-prior-knowledge"], format!("{all} | 200 2")),
    ] {
        assert_eq!(curl(&[arguments.as_slice(), &[&url]].concat()).await, expected, "{arguments:?}");
    }
}

#[tokio::test]
async fn curl_speaks_http2_over_tls() {
    let folder = Folder::new("curl-tls");
    let (_, certificate, key) = certify(&folder);
    let options =
        ServeOptions { tls: Some(tls::acceptor(&certificate, &key).unwrap()), ..ServeOptions::default() };
    let gateway = gateway(options).await;
    let url = format!("https://localhost:{}/s", gateway.address.port());
    let certificate = certificate.to_str().unwrap();
    let answer = curl(&["--cacert", certificate, "--ipv4", &url]).await;
    assert_eq!(answer, "HTTP/1.1 GET /s 0 | 200 2");
    let answer = curl(&["--cacert", certificate, "--ipv4", "--http1.1", "--data", "abc", &url]).await;
    assert_eq!(answer, "HTTP/1.1 POST /s 3 | 200 1.1");
}

#[tokio::test]
async fn curl_is_told_that_its_header_is_too_large() {
    let request = RequestLimits { max_header_bytes: 8192, ..RequestLimits::default() };
    let gateway = gateway(ServeOptions { request, ..ServeOptions::default() }).await;
    let url = format!("http://{}/", gateway.address);
    let header = format!("A: {}", "b".repeat(8192));
    for version in ["--http1.1", "--http2-prior-knowledge"] {
        let answer = curl(&[version, "--header", &header, &url]).await;
        assert!(answer.starts_with(" | 431"), "{version}: {answer}");
    }
}
