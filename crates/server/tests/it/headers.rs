//! Header hygiene as seen on both wires.

use std::convert::Infallible;

use http::Request;
use hyper::body::Incoming;
use tidegate_server::net::{PeerInfo, ServeOptions};
use tidegate_server::proxy::Proxy;
use tidegate_tower::ResolvedClient;
use tower::util::MapRequest;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{Gateway, RawServer, field, proxy_to};

#[tokio::test]
async fn what_belongs_to_one_connection_stays_on_it() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client
        .send(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Hop, Host\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
             Proxy-Connection: x\r\nProxy-Authorization: secret\r\nTE: gzip\r\nUpgrade: websocket\r\nX-End: 1\r\n\r\n",
        )
        .await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    for gone in
        ["connection", "x-hop", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"]
    {
        assert_eq!(field(&head, gone), None, "{gone}: {head}");
    }
    assert_eq!((field(&head, "host"), field(&head, "x-end")), (Some("a"), Some("1")));
    assert_eq!(field(&head, "via"), Some("1.1 tidegate"));
    server
        .send(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
             Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-End: 1\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
    let head = client.read_head().await;
    for gone in ["connection", "x-hop", "keep-alive", "proxy-authenticate", "upgrade"] {
        assert_eq!(field(&head, gone), None, "{gone}: {head}");
    }
    assert_eq!(field(&head, "x-end"), Some("1"));
}

const FORGED: &str = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.7\r\nX_Forwarded_For: 6.6.6.6\r\n\
                      X-Real-IP: 6.6.6.6\r\nForwarded: for=198.51.100.7\r\nX-Forwarded-Proto: https\r\n\r\n";

#[tokio::test]
async fn a_client_cannot_name_its_own_address() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send(FORGED).await;
    let head = upstream.accept().await.read_head().await;
    assert_eq!(field(&head, "x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(field(&head, "x-real-ip"), Some("127.0.0.1"));
    assert_eq!(field(&head, "x-forwarded-proto"), Some("http"));
    assert_eq!(field(&head, "x-forwarded-host"), Some("a"));
    assert!(!head.contains("6.6.6.6") && !head.contains("198.51.100.7"), "{head}");
}

/// Says what a limiter's layer would say of a client behind a trusted balancer.
fn vouch(mut request: Request<Incoming>) -> Request<Incoming> {
    assert!(request.extensions().get::<PeerInfo>().unwrap().peer.ip().is_loopback());
    request
        .extensions_mut()
        .insert(ResolvedClient { address: "198.51.100.7".parse().unwrap(), peer_trusted: true });
    request
}

#[tokio::test]
async fn a_trusted_balancer_is_believed() {
    let upstream = RawServer::new().await;
    let proxy = Proxy::new(&proxy_to(upstream.address)).unwrap();
    let service: MapRequest<Proxy, _> = MapRequest::new(proxy, vouch);
    let gateway = Gateway::around(service, ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    client.send(FORGED).await;
    let head = upstream.accept().await.read_head().await;
    assert_eq!(field(&head, "x-forwarded-for"), Some("198.51.100.7, 127.0.0.1"));
    assert_eq!(field(&head, "x-real-ip"), Some("198.51.100.7"));
    assert_eq!(field(&head, "x-forwarded-proto"), Some("https"));
    assert_eq!(field(&head, "forwarded"), Some("for=198.51.100.7, for=127.0.0.1;host=\"a\";proto=http"));
    assert!(!head.contains("6.6.6.6"), "{head}");
}

#[tokio::test]
async fn the_service_may_be_any_tower_stack_that_is_not_sync() {
    // A boxed service is the usual end of a stack of layers, and it is not `Sync`.
    let upstream = RawServer::new().await;
    let proxy = Proxy::new(&proxy_to(upstream.address)).unwrap();
    let service = ServiceBuilder::new().service(proxy);
    let boxed: tower::util::BoxCloneService<Request<Incoming>, _, Infallible> =
        ServiceExt::<Request<Incoming>>::boxed_clone(service);
    let gateway = Gateway::around(boxed, ServeOptions::default()).await;
    let mut client = gateway.connect().await;
    client.send("GET /boxed HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(upstream.accept().await.read_head().await.starts_with("GET /boxed "));
}
