//! The faces together: starting, being watched, stopping.

use tokio::net::{TcpListener, TcpStream};

use super::world::{Running, bind, get};
use crate::support::Raw;

const FREE: &str = "
rules:
  - name: r
    class: edge
    match: { path: /** }
    limits:
      - { name: l, says: A thousand a minute per client., key: client_ip, sliding_counter: { limit: 1000, window: 1m } }
";

#[tokio::test]
async fn an_occupied_port_is_an_error_that_names_the_face_and_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!(
        "tidegate: 1\ngateway: {{ listen: \"{address}\", upstream: \"http://127.0.0.1:1\" }}\n{FREE}"
    );
    let error = match tidegate_server::app::App::bind(tidegate_policy::parse("t.yaml", &text).unwrap()).await
    {
        Err(error) if error.is_address_in_use() => error.to_string(),
        other => panic!("{:?}", other.map(|_| "bound")),
    };
    assert_eq!(
        error,
        format!("gateway: {address} is in use; stop what listens there, or choose another `listen`")
    );
}

#[tokio::test]
async fn an_address_of_another_machine_is_an_error_that_says_what_to_write() {
    let text = format!("tidegate: 1\nhealth: {{ listen: \"192.0.2.1:8084\" }}\n{FREE}");
    let bound = tidegate_server::app::App::bind(tidegate_policy::parse("t.yaml", &text).unwrap()).await;
    let error = bound.err().unwrap();
    assert!(error.is_bind() && !error.is_address_in_use(), "{error:?}");
    let error = error.to_string();
    assert!(error.starts_with("health: cannot listen on 192.0.2.1:8084: "), "{error}");
    assert!(error.contains("`listen` has to be an address of this machine"), "{error}");
}

#[tokio::test]
async fn health_answers_while_the_gateway_drains_and_then_everything_ends() {
    let running = Running::by(FREE).await;
    let health = running.at.health.unwrap();
    let mut watcher = Raw::new(TcpStream::connect(health).await.unwrap());
    watcher.send(get("/readyz", "")).await;
    assert!(watcher.read_head().await.starts_with("HTTP/1.1 200"));
    let report = running.stop().await;
    assert_eq!(report.gateway.unwrap().requests_cut, 0);
    assert!(TcpStream::connect(health).await.is_err());
}

#[tokio::test]
async fn faces_that_are_not_named_are_not_there() {
    let policy = format!("tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\n{FREE}");
    let app =
        tidegate_server::app::App::bind(tidegate_policy::parse("t.yaml", &policy).unwrap()).await.unwrap();
    let at = app.addresses().unwrap();
    assert!(at.gateway.is_none() && at.api.is_none() && at.health.is_some());
    drop(bind("127.0.0.1:9".parse().unwrap(), FREE).await.unwrap());
}
