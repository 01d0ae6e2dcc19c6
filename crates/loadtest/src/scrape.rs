//! What Tidegate says of its own work: its metrics, before and after.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::Request;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::plan::Admin;

/// Metrics of many rules are long; of more than this something else is.
const MOST: usize = 64 << 20;

/// Counters, each summed over its labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scraped {
    /// Calls to a store outside of the process.
    pub(crate) store_calls: u64,
    /// Requests refused from the memory of a refusal.
    pub(crate) remembered: u64,
}

impl Scraped {
    /// Returns what came between two.
    pub(crate) fn since(after: &Self, before: &Self) -> Self {
        Self {
            store_calls: after.store_calls.saturating_sub(before.store_calls),
            remembered: after.remembered.saturating_sub(before.remembered),
        }
    }

    fn read(text: &str) -> Self {
        let mut scraped = Self::default();
        for line in text.lines() {
            let Some((series, value)) = line.split_once(' ') else { continue };
            let name = series.split('{').next().unwrap_or_default();
            let count = || value.split(' ').next().and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
            match name {
                "tidegate_store_calls_total" => scraped.store_calls += count(),
                "tidegate_denial_memory_hits_total" => scraped.remembered += count(),
                _ => {}
            }
        }
        scraped
    }
}

/// Reads the metrics of an operator's endpoint, which may take so long to tell them.
///
/// # Errors
/// In words with a remedy, when it does not tell them.
pub(crate) fn scrape(admin: &Admin, patience: Duration) -> Result<Scraped, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let scraped = match runtime {
        Ok(runtime) => runtime.block_on(async {
            let late = |_| format!("it does not tell its metrics within {patience:?}");
            timeout(patience, metrics(admin)).await.map_err(late)?
        }),
        Err(error) => Err(error.to_string()),
    };
    scraped.map_err(|why| format!("--admin {}: {why}; name where the policy's `admin` listens", admin.place))
}

async fn metrics(admin: &Admin) -> Result<Scraped, String> {
    let stream = TcpStream::connect(admin.place.address()).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let mut request = Request::builder().uri("/metrics").header(HOST, admin.place.host());
    if let Some(token) = &admin.token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    if !status.is_success() {
        let token = if status.as_u16() == 401 { ", so it wants a token (--admin-token-file)" } else { "" };
        return Err(format!("GET /metrics was answered {status}{token}"));
    }
    let body = Limited::new(response.into_body(), MOST).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    Ok(Scraped::read(&String::from_utf8_lossy(&body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_their_labels_and_others_left() {
        let text = "# HELP tidegate_store_calls Calls\n# TYPE tidegate_store_calls counter\n\
                    tidegate_store_calls_total{op=\"decide\"} 12\ntidegate_store_calls_total{op=\"ping\"} 3 1.5\n\
                    tidegate_store_calls_total_x 9\ntidegate_denial_memory_hits_total 4\n# EOF\n";
        assert_eq!(Scraped::read(text), Scraped { store_calls: 15, remembered: 4 });
    }

    /// Guards against a test that never begins.
    #[test]
    fn an_endpoint_that_says_nothing_is_not_waited_for() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let admin = Admin { place: tidegate_trials::Place::of(&url, None).unwrap(), token: None };
        let error = scrape(&admin, Duration::from_millis(50)).unwrap_err();
        assert!(
            error.starts_with(&format!("--admin {url}: it does not tell its metrics within 50ms; ")),
            "{error}"
        );
    }
}
