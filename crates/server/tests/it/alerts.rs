//! Alerts to webhooks: to a real Alertmanager, and to receivers that do what receivers do.

mod alertmanager;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use serde_json::Value;
use tidegate_server::alerts::{AlertOptions, Alerts};
use tidegate_server::net::ServeOptions;
use tokio::sync::mpsc;
use tower::service_fn;

use crate::support::{Gateway, RawServer, soon};
use alertmanager::Alertmanager;

/// Alerts that are told to webhooks in a task of its own, which ends with it.
struct Told {
    alerts: Alerts,
    task: tokio::task::JoinHandle<()>,
}

impl Told {
    fn to(webhooks: &[String], every: Duration) -> Self {
        let options = AlertOptions {
            webhooks: webhooks.iter().map(|webhook| webhook.parse().unwrap()).collect(),
            every,
            labels: vec![("instance".to_owned(), "test:1".to_owned())],
        };
        let alerts = Alerts::new(options).unwrap();
        let running = alerts.clone();
        let task = tokio::spawn(async move { running.run().await });
        Self { alerts, task }
    }

    /// Waits until the first webhook has been told, or not been told, so often.
    async fn until(&self, what: impl Fn((u64, u64)) -> bool) {
        soon(async {
            while !what(self.alerts.seen().webhooks[0]) {
                crate::support::moment().await;
            }
        })
        .await;
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A receiver that passes on what it is told, and answers as it is told to.
pub(crate) struct Receiver {
    server: Gateway,
    told: mpsc::UnboundedReceiver<Value>,
    status: Arc<AtomicU16>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let (sender, told) = mpsc::unbounded_channel();
        let status = Arc::new(AtomicU16::new(200));
        let answer = Arc::clone(&status);
        let service = service_fn(move |request: Request<Incoming>| {
            let (sender, status) = (sender.clone(), answer.load(Ordering::Relaxed));
            async move {
                assert_eq!(request.headers()["content-type"], "application/json");
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let _ = sender.send(serde_json::from_slice(&body).unwrap());
                let response = Response::builder().status(status).body(Empty::<Bytes>::new());
                Ok::<_, Infallible>(response.unwrap())
            }
        });
        Self { server: Gateway::around(service, ServeOptions::default()).await, told, status }
    }

    pub(crate) fn url(&self) -> String {
        url(self.server.address)
    }

    /// Waits for what it is told next.
    pub(crate) async fn next(&mut self) -> Value {
        soon(self.told.recv()).await.unwrap()
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/api/v2/alerts")
}

/// The pause of webhooks that tell nothing again within a test.
const NEVER: Duration = Duration::from_mins(10);

/// Guards the form against what the program that it is for takes: it refuses a whole telling for one wrong field, and shows
/// an alert as over only when its end was understood.
#[tokio::test]
async fn alertmanager_shows_the_alert_and_its_end() {
    let receiver = Alertmanager::start("alert").await;
    let told = Told::to(&[url(receiver.address)], NEVER);
    let since = SystemTime::now() - Duration::from_secs(90);
    told.alerts.store_lost(since, "connection refused");
    let shown = receiver.until(|alerts| alerts.len() == 1).await;
    assert_eq!(
        shown[0]["labels"],
        serde_json::json!({ "alertname": "TidegateStoreDown", "instance": "test:1", "severity": "critical" })
    );
    assert_eq!(shown[0]["status"]["state"], "active");
    assert!(
        shown[0]["annotations"]["description"].as_str().unwrap().contains("connection refused"),
        "{shown:?}"
    );
    told.alerts.store_found();
    receiver.until(<[Value]>::is_empty).await;
    told.until(|seen| seen == (2, 0)).await;
}

/// Guards against a pager that rings with every request of an outage, or never learns of its end.
#[tokio::test]
async fn each_change_is_told_once_and_what_goes_on_again() {
    let mut receiver = Receiver::start().await;
    let told = Told::to(&[receiver.url()], Duration::from_secs(2));
    told.alerts.store_found();
    told.alerts.store_lost(SystemTime::now(), "gone");
    let first = receiver.next().await;
    assert_eq!((first.as_array().map(Vec::len), first[0].get("endsAt")), (Some(1), None));
    let again = receiver.next().await;
    assert_eq!(again, first, "what goes on is told again, as it was");
    told.alerts.store_found();
    let end = receiver.next().await;
    assert_eq!((&end[0]["labels"], &end[0]["startsAt"]), (&first[0]["labels"], &first[0]["startsAt"]));
    assert!(end[0]["endsAt"].is_string(), "{end}");
    assert_eq!(receiver.next().await, end, "its end is told again, lest it was missed");
    assert_eq!(told.alerts.seen().firing, 0);
}

/// Guards the webhooks that work against one that hangs.
#[tokio::test]
async fn a_webhook_that_hangs_holds_up_no_other() {
    let silent = RawServer::new().await;
    let mut receiver = Receiver::start().await;
    let told = Told::to(&[url(silent.address), receiver.url()], NEVER);
    told.alerts.store_lost(SystemTime::now(), "gone");
    receiver.next().await;
    let mut held = silent.accept().await;
    assert!(held.read_head().await.starts_with("POST /api/v2/alerts HTTP/1.1\r\n"));
    told.alerts.store_found();
    assert!(receiver.next().await[0]["endsAt"].is_string());
    assert_eq!(told.alerts.seen().webhooks[0], (0, 0), "the one that hangs was neither told nor given up");
}

/// Guards against an alert that is lost since its webhook was away when it was raised.
#[tokio::test]
async fn what_a_webhook_refused_is_told_again_until_it_takes_it() {
    let mut receiver = Receiver::start().await;
    receiver.status.store(503, Ordering::Relaxed);
    let told = Told::to(&[receiver.url()], NEVER);
    told.alerts.store_lost(SystemTime::now(), "gone");
    let refused = receiver.next().await;
    told.until(|(_, failed)| failed > 0).await;
    receiver.status.store(200, Ordering::Relaxed);
    assert_eq!(receiver.next().await, refused);
    told.until(|(sent, _)| sent > 0).await;
}

/// Guards against telling somebody who only says who they are: a certificate that nobody trusts gets no alert.
#[tokio::test]
async fn a_webhook_whose_certificate_nobody_trusts_is_told_nothing() {
    let folder = crate::tls::Folder::new("webhook");
    let (_, certificate, key) = crate::tls::certify(&folder);
    let acceptor = tidegate_server::net::tls::acceptor(&certificate, &key).unwrap();
    let options = ServeOptions { tls: Some(acceptor), ..ServeOptions::default() };
    let server = Gateway::around(service_fn(unwanted), options).await;
    let told = Told::to(&[format!("https://localhost:{}/", server.address.port())], NEVER);
    told.alerts.store_lost(SystemTime::now(), "gone");
    told.until(|(_, failed)| failed > 0).await;
    assert_eq!(told.alerts.seen().webhooks[0].0, 0);
}

async fn unwanted(_: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    Ok(Response::new(Empty::new()))
}
