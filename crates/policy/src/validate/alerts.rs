//! Who is told when the store is lost, and when a limit's use rises.

use http::Uri;
use tidegate_algorithms::Span;

use super::span_within;
use crate::file::{Fields, Node, Report, one_or_more};
use crate::store::AlertsChoice;

/// Where Alertmanager takes alerts.
const PATH: &str = "/api/v2/alerts";
/// Well below the five minutes after which Alertmanager takes an alert that is not repeated for over.
const EVERY: Span = Span::from_secs(60);

/// Reads the alerts.
pub(super) fn read(node: &Node, report: &mut Report) -> Option<AlertsChoice> {
    let mut fields = Fields::open(node, "alerts", report)?;
    let webhook = fields.need("webhook", "http://127.0.0.1:9093");
    let bounds = (Span::from_secs(1), Span::from_secs(3_600));
    let every = fields.get("every").map(|node| span_within(node, "every", bounds, report));
    fields.finish(&["slack", "email", "labels"], report);
    let (nodes, mut webhooks) = (one_or_more(webhook?), Vec::new());
    if nodes.is_empty() {
        report.add(
            webhook?.place,
            "webhook is empty: nobody is told",
            "write one address, or leave alerts out",
        );
    }
    for node in nodes {
        match url(node, report) {
            Some(uri) if webhooks.contains(&uri) => {
                report.add(node.place, "this address is told already", "leave one of them out");
            }
            uri => webhooks.extend(uri),
        }
    }
    Some(AlertsChoice { webhooks, every: every.unwrap_or(Some(EVERY))? })
}

fn url(node: &Node, report: &mut Report) -> Option<Uri> {
    let text = node.text("webhook", report)?;
    if text.contains('@') {
        // What it holds is not repeated.
        report.add(
            node.place,
            "the address holds a user or a password",
            "put Alertmanager where none is needed",
        );
        return None;
    }
    let uri: Option<Uri> = text.parse().ok();
    let known = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && has_server(uri);
    let Some(uri) = uri.filter(known) else {
        let message = format!("{text:?} is no address to send alerts to");
        report.add(node.place, message, "write Alertmanager's: http://host:9093");
        return None;
    };
    if uri.path() != "/" || uri.query().is_some() {
        return Some(uri);
    }
    // Alertmanager's address alone means where it takes alerts.
    let mut parts = uri.into_parts();
    parts.path_and_query = Some(http::uri::PathAndQuery::from_static(PATH));
    Uri::from_parts(parts).ok()
}

/// Returns whether an address names a host, and a port that there can be if any.
fn has_server(uri: &Uri) -> bool {
    let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else { return false };
    let port = authority.as_str().strip_prefix(host).unwrap_or_default();
    let can_be = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    !host.is_empty() && (port.is_empty() || port.strip_prefix(':').is_some_and(can_be))
}
