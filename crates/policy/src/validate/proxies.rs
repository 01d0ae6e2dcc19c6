//! Header fields that are taken from trusted proxies only: of costs, plans and keys.

use http::HeaderName;

use crate::file::{Entry, Fields, Node, Report};
use crate::key::{Origin, Part, Source, SourceKind};

const TRUSTED: &str = "trusted_proxies";
const ENVOY: &str = "envoy";

/// Reads `header` and `from` of `what`: a field that is read when a trusted peer sends it.
pub(super) fn header(fields: &mut Fields<'_>, what: &str, report: &mut Report) -> Option<Part> {
    let node = fields.get("header")?;
    let example = if what == "the plan" { "x-plan" } else { "x-cost" };
    let name = header_name(node, example, report);
    match fields.get("from") {
        None => {
            let message = format!("{what} comes in a header, which every client can send");
            let remedy = format!("write `from: {TRUSTED}`: then it is taken from them, and from nobody else");
            fields.lack(&["from"], message, remedy);
        }
        Some(from) if !is_trusted(from, report) => return None,
        Some(_) => {}
    }
    let name = name?;
    let from = Origin::One(Source { kind: SourceKind::Header(name.clone()), normalize: Vec::new() });
    Some(Part::new(format!("header {name}"), Vec::new(), from))
}

/// Reads `from` of a key: whether its source is taken from trusted proxies only, which only a header field can be, or found
/// out by Envoy, which only an entry can be.
pub(super) fn believes(from: &Entry, found: &[(&str, &Entry)], report: &mut Report) -> bool {
    let [(source, _)] = found else { return false };
    match *source {
        "header" => return is_trusted(&from.value, report),
        "descriptor" => return names(&from.value, ENVOY, report),
        _ => {}
    }
    let message = format!("`from` has no meaning beside `{source}`");
    report.add(from.place, message, "remove it: it says who is believed of a `header` or a `descriptor`");
    false
}

fn is_trusted(from: &Node, report: &mut Report) -> bool {
    names(from, TRUSTED, report)
}

/// Returns whether a `from` names those who are believed; anything else is reported.
fn names(from: &Node, believed: &str, report: &mut Report) -> bool {
    if from.scalar() == Some(believed) {
        return true;
    }
    let message = match from.scalar() {
        Some(given) => format!("from \"{given}\" is not known"),
        None => format!("from has to be a word, and this is {}", from.kind()),
    };
    report.add(from.place, message, format!("write `from: {believed}`: nobody else is believed"));
    false
}

/// Refuses members that mean nothing beside the one source that is there; of two, that is what there is to say.
pub(super) fn refuse_misplaced(
    fields: &mut Fields<'_>,
    sources: &[(&str, &Entry)],
    members: &[(&'static str, &[&str])],
    report: &mut Report,
) {
    for (member, of) in members {
        // Each is known, whatever it stands beside.
        let (Some(entry), [(source, _)]) = (fields.entry(member), sources) else { continue };
        if !of.contains(source) {
            let message = format!("`{member}` has no meaning beside `{source}`");
            report.add(entry.place, message, format!("remove it: it belongs to `{}`", of.join("` and `")));
        }
    }
}

/// Reads the name of a header field, such as `example`.
pub(super) fn header_name(node: &Node, example: &str, report: &mut Report) -> Option<HeaderName> {
    let text = node.text("header", report)?;
    let name = HeaderName::try_from(text).ok();
    if name.is_none() {
        let message = format!("\"{text}\" is not a header's name");
        report.add(node.place, message, format!("write one such as {example}"));
    }
    name
}
