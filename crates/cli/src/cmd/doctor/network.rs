//! Who has to be reached besides the store: the upstream, and webhooks.

use std::time::Duration;

use http::Uri;
use tidegate::policy_file::Policy;
use tidegate_store_redis::Finding;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How long each may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// Connects to each at once, and sends nothing.
pub(super) async fn look(policy: &Policy) -> Vec<Finding> {
    let upstream = policy.gateway.iter().map(|face| ("upstream", face.upstream.clone()));
    let webhooks = policy.alerts.iter().flat_map(|alerts| &alerts.webhooks);
    let all = upstream.chain(webhooks.map(|webhook| ("webhook", webhook.clone())));
    let mut looks = JoinSet::new();
    for (place, (about, uri)) in all.enumerate() {
        looks.spawn(async move { (place, of(about, &uri).await) });
    }
    let mut findings = looks.join_all().await;
    findings.sort_by_key(|(place, _)| *place);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

async fn of(about: &'static str, uri: &Uri) -> Finding {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    let connected = TcpStream::connect((host.trim_matches(['[', ']']), port));
    let why = match tokio::time::timeout(PATIENCE, connected).await {
        Ok(Ok(_)) => return Finding::fine(about, format!("{host}:{port} takes connections")),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {PATIENCE:?}"),
    };
    // It may come later than this process does, which serves without it.
    Finding::doubtful(about, format!("{host}:{port}: {why}"), "start it, or mend its address in the policy")
}
