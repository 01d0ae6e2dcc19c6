//! Keys that are read from another key's phone number.

use super::{BUILT_IN, Table};
use crate::file::{Node, Report};
use crate::key::{Origin, Part};

impl Table<'_> {
    /// Reads the key that gives a phone number.
    pub(super) fn number(&self, source: &str, node: &Node, report: &mut Report) -> Option<Part> {
        if node.scalar().is_none() {
            let message = format!("{source} names another key, and this is {}", node.kind());
            report.add(node.place, message, "declare the phone number under `keys`, and write its name");
            return None;
        }
        let name = node.text(source, report)?;
        if name.starts_with('/') {
            let message = format!("{source} names another key, and this is a JSON pointer");
            let remedy = format!(
                "declare the phone number under `keys`, `phone: {{ json: {name}, normalize: [e164] }}`, and write its name"
            );
            report.add(node.place, message, remedy);
            return None;
        }
        let is_coming = self.find(name).is_none()
            && self.coming.iter().any(|coming| coming == name)
            && !self.broken.iter().any(|broken| broken == name);
        let part = if is_coming { None } else { Some(self.named(node, report)?) };
        if let Some(part) = part.filter(|part| part.is_phone_number()) {
            return Some(part.clone());
        }
        let message = format!("{source} is read from a phone number, and {name} is not known to be one");
        let remedy = match part.map(|part| &part.from) {
            Some(Origin::One(_)) if !BUILT_IN.contains(&name) => {
                format!(
                    "add `normalize: [e164]` to {name}, or `[{{ e164: US }}]` with the region of its national numbers"
                )
            }
            Some(Origin::FirstOf(_)) => format!("add `normalize: [e164]` to every key of {name}"),
            _ => "name a key with the step `e164`".to_owned(),
        };
        report.add(node.place, message, remedy);
        None
    }
}
