//! Rules that let nothing through.

use http::StatusCode;

use super::envoy::OF_LIMITING;
use crate::file::{Fields, Node, Report};
use crate::rule::Refuse;

/// Reads `refuse`, and reports what has no place beside it.
pub(super) fn read(node: &Node, rule: &mut Fields<'_>, name: &str, report: &mut Report) -> Option<Refuse> {
    if let Some(entry) = rule.entry("limits") {
        let message = format!("the rule {name} has both limits and refuse");
        report.add(entry.place, message, "keep one: what refuses everything has nothing to count");
    }
    for key in OF_LIMITING {
        if let Some(entry) = rule.entry(key) {
            let message = format!("`{key}` has no meaning in a rule that refuses everything");
            report.add(entry.place, message, "remove it");
        }
    }
    if node.scalar().is_some() {
        let message = "refuse has to be a mapping, and this is a single value";
        let status =
            node.scalar().and_then(|text| text.parse().ok()).filter(|status| (400..=599).contains(status));
        let status = status.filter(|status: &u16| *status != 429).unwrap_or(403);
        report.add(node.place, message, format!("write {{ status: {status}, because: not for the public }}"));
        return None;
    }
    let mut fields = Fields::open(node, "refuse", report)?;
    let status = fields.need("status", "403").and_then(|node| status(node, report));
    let because = fields.need("because", "not for the public").and_then(|node| node.text("because", report));
    fields.finish(&[], report);
    Some(Refuse { status: status?, because: because?.to_owned() })
}

fn status(node: &Node, report: &mut Report) -> Option<StatusCode> {
    let code = node.scalar().and_then(|text| text.parse::<u64>().ok());
    let code = code.map_or_else(|| node.integer_in("status", 400..=599, report), Some)?;
    if code == 429 {
        let remedy = "write `limit: 0` as a limit if that is meant, or a status such as 403";
        report.add(node.place, "status 429 says that somebody asked too often, which is for limits", remedy);
        return None;
    }
    let status = u16::try_from(code).ok().filter(|code| (400..=599).contains(code));
    let status = status.and_then(|code| StatusCode::from_u16(code).ok());
    if status.is_none() {
        let message = format!("status {code} does not say that a request was refused");
        report.add(node.place, message, "write one from 400 to 599, such as 403 or 404");
    }
    status
}
