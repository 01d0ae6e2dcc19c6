//! What answers look like: header styles and the body of a refusal.

use serde_json::Value as Json;

use crate::answer::{HeaderStyle, ProblemTemplate, ResetUnit, Template};
use crate::file::{Fields, Node, Report, Value, is_null, one_or_more};
use crate::problem::Place;

const RESETS: [(ResetUnit, &str); 4] = [
    (ResetUnit::Delta, "delta"),
    (ResetUnit::EpochSeconds, "epoch-seconds"),
    (ResetUnit::EpochMilliseconds, "epoch-milliseconds"),
    (ResetUnit::ResetOn, "reset-on"),
];

/// Members of a problem that are ours to write.
const OWN_MEMBERS: [&str; 6] = ["type", "title", "status", "detail", "instance", "violated-policies"];

pub(super) fn headers(node: Option<&Node>, report: &mut Report) -> Vec<HeaderStyle> {
    let Some(node) = node else { return vec![HeaderStyle::Ietf] };
    let mut styles: Vec<HeaderStyle> = Vec::new();
    let items = one_or_more(node);
    for item in items {
        match style(item, report) {
            Style::One(style) => {
                let kind = std::mem::discriminant(&style);
                if styles.iter().any(|before| std::mem::discriminant(before) == kind) {
                    report.add(
                        item.place,
                        "the same header fields are asked for twice",
                        "keep one style of them",
                    );
                }
                styles.push(style);
            }
            Style::None if items.len() > 1 => {
                report.add(item.place, "`none` stands beside other styles", "remove it, or the others");
            }
            Style::None | Style::Unread => {}
        }
    }
    styles
}

enum Style {
    One(HeaderStyle),
    None,
    Unread,
}

fn style(node: &Node, report: &mut Report) -> Style {
    const WORDS: [(Option<HeaderStyle>, &str); 3] =
        [(Some(HeaderStyle::Ietf), "ietf"), (Some(HeaderStyle::Draft03), "draft-03"), (None, "none")];
    if node.scalar() == Some("x-ratelimit") {
        let remedy = "write { x-ratelimit: delta }, epoch-seconds or epoch-milliseconds";
        report.add(node.place, "x-ratelimit does not say what its reset counts in", remedy);
        return Style::Unread;
    }
    if matches!(node.value, Value::Map(_)) {
        let Some(mut fields) = Fields::open(node, "headers", report) else { return Style::Unread };
        let unit = fields.need("x-ratelimit", "delta");
        let unit = unit.and_then(|node| node.choice("x-ratelimit", &RESETS, report));
        fields.finish(&[], report);
        return unit.map_or(Style::Unread, |unit| Style::One(HeaderStyle::XRateLimit(unit)));
    }
    match node.choice("the header style", &WORDS, report) {
        Some(Some(style)) => Style::One(style),
        Some(None) => Style::None,
        None => Style::Unread,
    }
}

pub(super) fn problem(node: Option<&Node>, report: &mut Report) -> ProblemTemplate {
    node.and_then(|node| read_problem(node, report)).unwrap_or_default()
}

fn read_problem(node: &Node, report: &mut Report) -> Option<ProblemTemplate> {
    let mut fields = Fields::open(node, "problem", report)?;
    let content_type = fields.get("content_type");
    let body = fields.get("body");
    if content_type.is_some() || body.is_some() {
        let content_type = fields.need("content_type", "application/json");
        let body = fields.need("body", "'{\"error\": \"slow down\"}'");
        for own in ["type", "title", "detail", "members"] {
            if let Some(entry) = fields.entry(own) {
                report.add(
                    entry.place,
                    format!("`{own}` has no place in a body of your own"),
                    "remove it, or the body",
                );
            }
        }
        fields.finish(&[], report);
        return own_body(content_type?, body?, report);
    }
    let type_uri = fields.get("type").and_then(|node| node.text("type", report)).map(str::to_owned);
    let title = fields.get("title").and_then(|node| template(node, "title", report));
    let detail = fields.get("detail").and_then(|node| template(node, "detail", report));
    let members = fields.get("members").map(|node| members(node, report)).unwrap_or_default();
    fields.finish(&[], report);
    Some(ProblemTemplate::Problem { type_uri, title, detail, members })
}

fn own_body(content_type: &Node, body: &Node, report: &mut Report) -> Option<ProblemTemplate> {
    let kind = content_type.text("content_type", report)?;
    if http::HeaderValue::from_str(kind).is_err() || !kind.contains('/') {
        report.add(
            content_type.place,
            format!("\"{kind}\" is not a content type"),
            "write one such as application/json",
        );
        return None;
    }
    let text = template(body, "body", report)?;
    Some(ProblemTemplate::Own { content_type: kind.to_owned(), text })
}

fn template(node: &Node, what: &str, report: &mut Report) -> Option<Template> {
    let text = node.text(what, report)?;
    match Template::read(text) {
        Ok(template) => Some(template),
        Err(name) => {
            let message = format!("{{{name}}} in {what} is not known");
            report.add(node.place, message, "write one of {rule}, {limit}, {says}, {retry_after}");
            None
        }
    }
}

fn members(node: &Node, report: &mut Report) -> Vec<(String, Json)> {
    let Value::Map(entries) = &node.value else {
        report.add(
            node.place,
            format!("members has to be a mapping, and this is {}", node.kind()),
            "write `name: value`",
        );
        return Vec::new();
    };
    let mut members = Vec::new();
    for entry in entries {
        if OWN_MEMBERS.contains(&entry.key.as_str()) {
            report_own_member(&entry.key, entry.place, report);
        }
        members.push((entry.key.clone(), json(&entry.value)));
    }
    members
}

fn report_own_member(key: &str, place: Place, report: &mut Report) {
    let remedy = match key {
        "type" | "title" | "detail" => format!("write `{key}` directly under `problem`"),
        _ => "choose another name".to_owned(),
    };
    report.add(place, format!("the member {key} is written by the limiter"), remedy);
}

/// Converts a value as JSON's own readers would take it; the tree's depth is bounded.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Scalar { text, plain: true } => match text.as_str() {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            text if is_null(text) => Json::Null,
            text => text.parse::<i64>().map_or_else(|_| Json::from(text), Json::from),
        },
        Value::Scalar { text, .. } => Json::from(text.as_str()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|e| (e.key.clone(), json(&e.value))).collect())
        }
    }
}
