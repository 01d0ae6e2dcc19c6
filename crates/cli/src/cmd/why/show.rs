//! An explanation on a terminal, and as JSON.

use http::StatusCode;
use serde_json::{Map, Value, json};
use tidegate::policy_file::HeaderStyle;
use tidegate::why::{KeyWhy, LimitWhy, Looked, RuleWhy, Why};
use tidegate::{LimitDecision, Retry, Span, Verdict, readable};

use super::request::Asked;
use crate::cmd::test::status;

/// Returns the lines that explain a request.
pub(super) fn lines(asked: &Asked, why: &Why, styles: &[HeaderStyle]) -> Vec<String> {
    let mut lines = vec![title(asked, why)];
    match &why.path {
        Ok(path) if path != asked.request().path => lines.push(format!("  its path is compared as {path}")),
        Ok(_) => {}
        Err(bad) => lines.push(format!("  no rule is asked: {bad}")),
    }
    for rule in &why.rules {
        lines.push(String::new());
        lines.extend(rule_lines(rule));
    }
    lines.push(String::new());
    lines.push(why.verdict.explain());
    let status = StatusCode::from_u16(status(&why.verdict, StatusCode::OK)).unwrap_or_default();
    lines.push(if why.verdict.is_allowed() {
        "it passes".to_owned()
    } else {
        format!("the client gets {status}")
    });
    for (name, value) in fields(&why.verdict, styles) {
        lines.push(format!("  {name}: {value}"));
    }
    lines
}

fn title(asked: &Asked, why: &Why) -> String {
    let request = asked.request();
    let query = request.query.map(|query| format!("?{query}")).unwrap_or_default();
    let host = request.host.map(|host| format!(" at {host}")).unwrap_or_default();
    let client = match (why.client, request.peer) {
        (Some(client), Some(peer)) if client.address != peer => {
            format!(" from {}, by the word of {peer}", client.address)
        }
        (_, Some(peer)) => format!(" from {peer}"),
        (_, None) => " from nobody known (see --client)".to_owned(),
    };
    format!("{} {}{query}{host}{client}", request.method, request.path)
}

/// Returns the lines of a rule and its limits.
pub(super) fn rule_lines(rule: &RuleWhy) -> Vec<String> {
    let mark = if rule.applies { "+" } else { "-" };
    let mut lines = vec![format!("{mark} {} {}", rule.name, rule.because)];
    for limit in &rule.limits {
        // Of a key that cannot be read there is nothing to show but why.
        if let (Looked::Unreadable(bad), []) = (&limit.looked, limit.key.as_slice()) {
            lines.push(format!("    {}: cannot look: {bad}", limit.name));
            continue;
        }
        lines.push(format!(
            "    {}: {}",
            limit.name,
            limit.key.iter().map(shown_key).collect::<Vec<_>>().join(", ")
        ));
        lines.extend(limit_lines(limit).into_iter().map(|line| format!("      {line}")));
    }
    lines
}

fn limit_lines(limit: &LimitWhy) -> Vec<String> {
    let (units, terms, decision) = match &limit.looked {
        Looked::Skipped => return vec!["does not look, for want of its key".to_owned()],
        Looked::Unreadable(bad) => return vec![format!("cannot look: {bad}")],
        Looked::Asked { units, terms, decision } => (units, terms, decision),
    };
    let mut lines = Vec::new();
    if let Some(terms) = terms {
        lines.push(format!("{} {}", terms.name, terms.because));
    }
    lines.extend(limit.notes.iter().cloned());
    let Some(decision) = decision else {
        lines.push("is not asked, since the request is turned away before".to_owned());
        return lines;
    };
    let asked = if *units == 1 { "1 unit".to_owned() } else { format!("{units} units") };
    lines.push(format!("for {asked}: {}", answer(decision)));
    if !decision.limit.words().is_empty() {
        lines.push(format!("\u{201c}{}\u{201d}", decision.limit.words()));
    }
    lines
}

/// Says what a limit answers, and how it stands.
fn answer(of: &LimitDecision) -> String {
    let decision = &of.decision;
    let shadow = if of.limit.is_shadow() { " (shadow: it never refuses)" } else { "" };
    let answer = match decision.retry() {
        None if decision.delay() > Span::ZERO => format!("passes after {}", readable(decision.delay())),
        None => "passes".to_owned(),
        Some(Retry::After(wait)) => format!("refuses for {}", readable(wait)),
        Some(Retry::Never) => "refuses, however long one waits".to_owned(),
    };
    let whole = match decision.reset_after {
        Span::ZERO => String::new(),
        Span::MAX => ", never whole again".to_owned(),
        span => format!(", whole again in {}", readable(span)),
    };
    format!("{answer}{shadow}; {} of {} left{whole}", decision.remaining, decision.limit)
}

/// Says what was read for a part of a key, and where.
pub(crate) fn shown_key(part: &KeyWhy) -> String {
    match &part.value {
        Some(value) => format!("{} = {value:?} ({})", part.name, part.source),
        None if part.source == part.name || part.name == "global" => part.source.clone(),
        None => format!("{} is missing ({})", part.name, part.source),
    }
}

/// Returns the header fields that tell of a verdict.
pub(super) fn fields(verdict: &Verdict, styles: &[HeaderStyle]) -> Vec<(String, String)> {
    let fields = tidegate_tower::answer_fields(verdict, styles);
    fields
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}

/// Returns the explanation as one JSON value.
pub(super) fn json(asked: &Asked, why: &Why, styles: &[HeaderStyle]) -> Value {
    let request = asked.request();
    let rules: Vec<_> = why.rules.iter().map(rule_json).collect();
    let fields: Map<String, Value> =
        fields(&why.verdict, styles).into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    json!({
        "method": request.method,
        "host": request.host,
        "path": why.path.as_ref().ok(),
        "client": why.client.map(|client| client.address.to_string()),
        "at_micros": asked.at.as_micros(),
        "rules": rules,
        "allowed": why.verdict.is_allowed(),
        "status": status(&why.verdict, StatusCode::OK),
        "limit": why.verdict.deciding().map(|by| by.limit.name()),
        "explain": why.verdict.explain(),
        "headers": fields,
    })
}

/// Returns a rule and its limits as JSON.
pub(super) fn rule_json(rule: &RuleWhy) -> Value {
    let limits: Vec<_> = rule.limits.iter().map(limit_json).collect();
    json!({ "rule": rule.name, "applies": rule.applies, "because": rule.because, "limits": limits })
}

fn limit_json(limit: &LimitWhy) -> Value {
    let key: Vec<_> = limit
        .key
        .iter()
        .map(|part| json!({ "name": part.name, "source": part.source, "value": part.value }))
        .collect();
    let (units, terms, problem) = match &limit.looked {
        Looked::Asked { units, terms, .. } => (Some(units), terms.as_ref(), None),
        Looked::Skipped => (None, None, None),
        Looked::Unreadable(bad) => (None, None, Some(bad.to_string())),
    };
    let state = limit.decision().map(|of| {
        let decision = &of.decision;
        json!({
            "allowed": decision.is_admitted(),
            "shadow": of.limit.is_shadow(),
            "says": of.limit.words(),
            "capacity": decision.limit,
            "remaining": decision.remaining,
            "retry_after_micros": decision.retry().and_then(Retry::wait).map(Span::as_micros),
            "never": decision.retry() == Some(Retry::Never),
            "delay_micros": decision.delay().as_micros(),
            "reset_micros": (decision.reset_after != Span::MAX).then(|| decision.reset_after.as_micros()),
        })
    });
    json!({
        "limit": limit.name,
        "key": key,
        "skipped": matches!(limit.looked, Looked::Skipped),
        "problem": problem,
        "units": units,
        "plan": terms.map(|terms| &terms.name),
        "plan_because": terms.map(|terms| &terms.because),
        "notes": limit.notes,
        "state": state,
    })
}
