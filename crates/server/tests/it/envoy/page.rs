//! `docs/envoy.md`: its policy and its Envoy are run as they stand.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use http::Method;
use tidegate_proxy_kit::envoy::Envoy;
use tidegate_server::app::App;
use tokio::sync::oneshot;

use super::world::{fetch, upstream};

/// Returns the blocks of a page in a language, in their order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = fs::read_to_string(path).unwrap();
    let opening = format!("```{language}\n");
    let blocks = text.split(opening.as_str()).skip(1);
    blocks.map(|rest| rest.split_once("\n```").unwrap().0.to_owned()).collect()
}

/// Serves the page's policy on free ports until what is returned beside Envoy's is dropped.
async fn served() -> (SocketAddr, oneshot::Sender<()>) {
    let policy = blocks("docs/envoy.md", "yaml").remove(0);
    assert!(policy.contains("listen: 127.0.0.1:8082"));
    let policy = policy.replace("127.0.0.1:8082", "127.0.0.1:0").replace("127.0.0.1:8084", "127.0.0.1:0");
    let policy = tidegate_policy::parse("policy.yaml", &policy).unwrap_or_else(|wrong| panic!("{wrong}"));
    let app = App::bind(policy).await.unwrap();
    let at = app.addresses().unwrap().envoy.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(app.run(async {
        let _ = stopped.await;
    }));
    (at, stop)
}

/// Guards the page against a configuration that does not start, or does not limit.
#[tokio::test]
async fn the_pages_policy_and_its_envoy_refuse_the_sixth_request_of_a_minute() {
    let bootstrap = &blocks("docs/envoy.md", "yaml other")[0];
    assert!(bootstrap.contains("port_value: 8000"));
    let (at, _stop) = served().await;
    let upstream = upstream().await;
    let mut bootstrap = bootstrap.clone();
    for (named, ours) in [
        ("9901", "0".to_owned()),
        ("8000", "0".to_owned()),
        ("3000", upstream.address.port().to_string()),
        ("8082", at.port().to_string()),
    ] {
        let (named, ours) = (format!("port_value: {named} "), format!("port_value: {ours} "));
        assert_eq!(bootstrap.matches(&named).count(), 1, "{named}");
        bootstrap = bootstrap.replace(&named, &ours);
    }
    let started = tokio::task::spawn_blocking(move || {
        let envoy = Envoy::start(&bootstrap);
        let front = envoy.listener("front");
        (envoy, front)
    });
    let (_envoy, front) = started.await.unwrap();
    for path in ["/checkout", "/checkout?a=1", "/checkout/pay", "/checkout", "/checkout"] {
        let answer = fetch(Method::GET, front, path, &[], "").await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, "hello"), "{answer:?}");
    }
    let refused = fetch(Method::GET, front, "/checkout", &[], "").await;
    assert_eq!(refused.status.as_u16(), 429);
    assert_eq!(refused.field("x-envoy-ratelimited"), "true");
    assert!(!refused.field("retry-after").is_empty());
    assert_eq!(refused.field("content-type"), "application/problem+json");
    assert_eq!(fetch(Method::GET, front, "/elsewhere", &[], "").await.status.as_u16(), 200);
}

/// Guards the page's call by JSON, which names the port of its policy.
#[tokio::test]
async fn the_pages_call_by_curl_is_one_that_is_answered() {
    let (at, _stop) = served().await;
    let shell = blocks("docs/envoy.md", "sh");
    let curl = shell.iter().find(|block| block.starts_with("curl")).unwrap();
    let body = curl.split('\'').nth(1).unwrap();
    assert!(curl.ends_with("http://127.0.0.1:8082/json"));
    let answer = fetch(Method::POST, at, "/json", &[("content-type", "application/json")], body).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["statuses"][0]["limitRemaining"]), (200, &4.into()));
}
