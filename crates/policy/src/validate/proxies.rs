//! Header fields that are taken from trusted proxies only: costs and plans.

use http::HeaderName;

use crate::file::{Fields, Node, Report};
use crate::key::{Origin, Part, Source, SourceKind};

const TRUSTED: &str = "trusted_proxies";

/// Reads `header` and `from` of `what`: a field that is read when a trusted peer sends it.
pub(super) fn header(fields: &mut Fields<'_>, what: &str, report: &mut Report) -> Option<Part> {
    let node = fields.get("header")?;
    let name = header_name(node, report);
    match fields.get("from") {
        None => {
            let message = format!("{what} comes in a header, which every client can send");
            let remedy = format!("write `from: {TRUSTED}`: it is then taken from them, and from nobody else");
            fields.lack(&["from"], message, remedy);
        }
        Some(from) => {
            from.choice("from", &[((), TRUSTED)], report)?;
        }
    }
    let name = name?;
    let from = Origin::One(Source { kind: SourceKind::Header(name.clone()), normalize: Vec::new() });
    Some(Part { name: format!("header {name}"), called: Vec::new(), from })
}

/// Reads the name of a header field.
pub(super) fn header_name(node: &Node, report: &mut Report) -> Option<HeaderName> {
    let text = node.text("header", report)?;
    let name = HeaderName::try_from(text).ok();
    if name.is_none() {
        let message = format!("\"{text}\" is not a header's name");
        report.add(node.place, message, "write one such as x-plan");
    }
    name
}
