//! The examples, run: a real service, and clients that are not ours.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[path = "../../examples/axum.rs"]
#[allow(dead_code, reason = "an example has a main of its own")]
mod axum_service;
#[path = "../../examples/reqwest.rs"]
#[allow(dead_code, reason = "an example has a main of its own")]
mod paced_client;
#[path = "../../examples/tonic.rs"]
#[allow(dead_code, reason = "an example has a main of its own")]
mod tonic_service;

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn sign_in(address: SocketAddr, body: &str) -> reqwest::Response {
    let request = reqwest::Client::new().post(format!("http://{address}/sign-in"));
    request.header("content-type", "application/json").body(body.to_owned()).send().await.unwrap()
}

/// Guards against an account that is guessed at from many places, and a limit that counts who signs in rightly.
#[tokio::test]
async fn the_axum_example_counts_wrong_passwords_by_account_and_all_sign_ins_by_client() {
    let (listener, address) = listener().await;
    tokio::spawn(async move { axum_service::run(listener).await.unwrap() });
    let right = r#"{"account":"odalys","password":"correct horse"}"#;
    for _ in 0..6 {
        assert_eq!(sign_in(address, right).await.status(), 200);
    }
    for spelling in ["odalys", "ODALYS", " odalys", "Odalys ", "odalys"] {
        let wrong = format!(r#"{{"account":"{spelling}","password":"?"}}"#);
        assert_eq!(sign_in(address, &wrong).await.status(), 401);
    }
    let refused = sign_in(address, right).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    assert!(refused.headers().contains_key("retry-after"));
    let body = refused.text().await.unwrap();
    assert!(body.contains("Never more than five wrong passwords in 15 minutes"), "{body}");
    // A refused request has used up nothing of the client's twenty: nine are left.
    let others = async |account: usize| {
        sign_in(address, &format!(r#"{{"account":"{account}","password":"?"}}"#)).await.status()
    };
    for account in 0..9 {
        assert_eq!(others(account).await, 401, "{account}");
    }
    // One comes back every six seconds, of which a slow machine may take some.
    let mut refused = false;
    for account in 9..30 {
        refused = refused || others(account).await == 429;
    }
    assert!(refused, "a client may try any number of accounts");
    assert_eq!(sign_in(address, "{}").await.status(), 400);
    assert_eq!(reqwest::get(format!("http://{address}/")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn the_tonic_example_refuses_a_client_as_grpc() {
    let (listener, address) = listener().await;
    tokio::spawn(async move { tonic_service::run(listener).await.unwrap() });
    let connect = async || {
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        HealthClient::new(channel)
    };
    let mut client = connect().await;
    for _ in 0..3 {
        client.check(HealthCheckRequest::default()).await.unwrap();
    }
    let refused = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    let words = "You can call three times at once, then once every ten seconds, per client. Try again in ";
    assert!(refused.message().starts_with(words), "{}", refused.message());
    let number = |name| refused.metadata().get(name).unwrap().to_str().unwrap().parse::<u64>().unwrap();
    let pushback = number("grpc-retry-pushback-ms");
    assert!((1..=10_000).contains(&pushback), "{pushback}");
    assert!(refused.metadata().contains_key("ratelimit"));
    // A second connection is the same client.
    let code = connect().await.check(HealthCheckRequest::default()).await.unwrap_err().code();
    assert_eq!(code, tonic::Code::ResourceExhausted);
}

/// Guards against a client that runs into a service's limit although it was told of it.
#[tokio::test]
async fn the_reqwest_example_keeps_to_the_limit_of_a_service() {
    use axum::{Router, routing};
    use tidegate::{Limit, Limiter, Quota, Rate, Span};
    use tidegate_tower::{Key, LimitLayer};

    let (listener, address) = listener().await;
    // Twenty at once: what left a client at even distances comes together where a machine stands still for a moment.
    let quota = Quota::token_bucket(20, Rate::new(30, Span::from_secs(1)).unwrap()).unwrap();
    let limiter = Limiter::in_memory([Limit::new("all", quota)]).unwrap();
    let limits = LimitLayer::keyed(limiter, "all", Key::global()).unwrap();
    let app = Router::new().route("/", routing::get(|| async { "hello" })).layer(limits);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let url = format!("http://{address}/");
    let statuses = paced_client::ask(&url, 30, 25).await.unwrap();
    assert_eq!(statuses, [200; 30]);
    let unpaced = paced_client::ask(&url, 100, 1_000_000).await.unwrap();
    assert!(unpaced.iter().any(|status| *status == 429), "the service has no limit: {unpaced:?}");
}
