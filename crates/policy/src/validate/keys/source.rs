//! Where keys are read, as the file writes it.

use http::HeaderName;

use super::PREFIXES;
use crate::file::{Fields, Node, Report, one_or_more};
use crate::key::{Entry, Pointer, SourceKind};

/// Reads the place of a request that a key names.
pub(super) fn kind(source: &str, node: &Node, report: &mut Report) -> Option<SourceKind> {
    if source == "client_ip" {
        return prefixes(node, report);
    }
    let text = node.text(source, report)?;
    match source {
        "header" => header(node, text, report).map(SourceKind::Header),
        "json" => {
            let pointer = Pointer::read(text);
            if pointer.is_none() {
                let remedy =
                    format!("begin each step with a slash, such as {}", crate::validate::pointer(text));
                report.add(node.place, format!("\"{text}\" is not a JSON pointer"), remedy);
            }
            pointer.map(SourceKind::Json)
        }
        "query" => Some(SourceKind::Query(text.to_owned())),
        "request" => node.choice("request", &[((), "path")], report).map(|()| SourceKind::RequestPath),
        "path" => Some(SourceKind::Path(text.to_owned())),
        "form" => Some(SourceKind::Form(text.to_owned())),
        "descriptor" => Some(SourceKind::Descriptor(Entry::new(text, false))),
        _ => Some(SourceKind::Cookie(text.to_owned())),
    }
}

/// Reads a header field's name.
pub(super) fn header(node: &Node, text: &str, report: &mut Report) -> Option<HeaderName> {
    let name = HeaderName::try_from(text).ok();
    if name.is_none() {
        let message = format!("\"{text}\" is not a header's name");
        let bare = text.trim_end_matches([':', ' ']);
        let example = if HeaderName::try_from(bare).is_ok() { bare } else { "x-api-key" };
        report.add(node.place, message, format!("write one such as {example}"));
    }
    name
}

fn prefixes(node: &Node, report: &mut Report) -> Option<SourceKind> {
    let mut fields = Fields::open(node, "client_ip", report)?;
    let mut prefix = |key, range, default: u8| match fields.get(key) {
        None => Some(default),
        Some(node) => node.integer_in(key, range, report).and_then(|bits| u8::try_from(bits).ok()),
    };
    let ipv4 = prefix("ipv4", 8..=32, PREFIXES.0);
    let ipv6 = prefix("ipv6", 16..=128, PREFIXES.1);
    fields.finish(&[], report);
    Some(SourceKind::ClientIp { ipv4: ipv4?, ipv6: ipv6? })
}

/// Reads what people call a key.
pub(super) fn called(node: Option<&Node>, report: &mut Report) -> Vec<String> {
    let items = node.map(one_or_more).unwrap_or_default();
    items.iter().filter_map(|item| item.text("called", report)).map(str::to_owned).collect()
}
