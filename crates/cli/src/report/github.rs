//! Findings as workflow commands, which GitHub shows beside the lines of a change.

use tidegate_review::Severity;

use super::Item;

/// Returns the command for one finding. One that is accepted is a notice with its reason.
pub(super) fn command(item: &Item) -> String {
    let level = match (&item.accepted, item.severity) {
        (Some(_), _) | (None, Severity::Note) => "notice",
        (None, Severity::Warning) => "warning",
        (None, Severity::Error) => "error",
    };
    let message = match &item.accepted {
        Some(because) => format!("{} (accepted: {because})", item.message),
        None => item.sentence(),
    };
    let Item { id, file, line, column, .. } = item;
    format!("::{level} file={},line={line},col={column},title={id}::{}", property(file), data(&message))
}

/// Escapes what stands behind the second pair of colons.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
