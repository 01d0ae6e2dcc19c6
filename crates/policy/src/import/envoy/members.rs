//! Values of a configuration file of envoyproxy/ratelimit, read as that service reads them.

use crate::file::{Entry, Node, Report, Value, nearest};
use crate::problem::{Place, Problem};

/// Every word of the language. That service knows each of them everywhere, and heeds it where it belongs.
const WORDS: [&str; 16] = [
    "domain",
    "descriptors",
    "key",
    "value",
    "rate_limit",
    "unit",
    "requests_per_unit",
    "unlimited",
    "name",
    "replaces",
    "shadow_mode",
    "quota_mode",
    "metadata",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
];

/// Where what is wrong and what is worth a remark is collected.
pub(super) struct Notes<'r> {
    pub(super) report: &'r mut Report,
    pub(super) remarks: &'r mut Vec<Problem>,
}

impl Notes<'_> {
    /// Adds something that makes the file unusable.
    pub(super) fn wrong(&mut self, place: Place, message: impl Into<String>, remedy: impl Into<String>) {
        self.report.add(place, message, remedy);
    }

    /// Adds something that is not as it seems.
    pub(super) fn remark(&mut self, place: Place, message: impl Into<String>, remedy: impl Into<String>) {
        self.remarks.push(Problem { place, message: message.into(), remedy: remedy.into() });
    }

    /// Returns the members of a mapping; reports what is none, and members that do not belong there.
    pub(super) fn members<'n>(&mut self, node: &'n Node, what: &str, heeds: &[&str]) -> Option<&'n [Entry]> {
        let Value::Map(entries) = &node.value else {
            let message = format!("{what} has to be a mapping, and this is {}", node.kind());
            self.wrong(node.place, message, format!("write members such as `{}: …`", heeds.first()?));
            return None;
        };
        for entry in entries.iter().filter(|entry| !heeds.contains(&entry.key.as_str())) {
            self.foreign(entry, what, heeds);
        }
        Some(entries)
    }

    /// Tells of a member that does not belong there.
    fn foreign(&mut self, entry: &Entry, what: &str, heeds: &[&str]) {
        let key = entry.key.as_str();
        if WORDS.contains(&key) {
            let message = format!("{what} does not heed `{key}`, and nothing comes of it");
            self.remark(entry.place, message, "move it to where it belongs, or remove it");
            return;
        }
        let near = nearest(key, heeds.iter().copied());
        let near = near.or_else(|| nearest(key, WORDS));
        let remedy = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("it knows {}", heeds.join(", ")),
        };
        self.wrong(entry.place, format!("unknown key \"{key}\" in {what}"), remedy);
    }

    /// Returns the items of a list; nothing stands for an empty one.
    pub(super) fn items<'n>(&mut self, node: Option<&'n Node>, what: &str, example: &str) -> &'n [Node] {
        match node.map(|node| (node, &node.value)) {
            None => &[],
            Some((_, Value::List(items))) => items,
            Some((node, _)) if node.kind() == "nothing" => &[],
            Some((node, _)) => {
                let message = format!("{what} has to be a list, and this is {}", node.kind());
                self.wrong(node.place, message, format!("begin each with a hyphen: `- {example}`"));
                &[]
            }
        }
    }

    /// Reads a text, whatever YAML takes it for; nothing stands for an empty one.
    pub(super) fn text(&mut self, node: Option<&Node>, what: &str) -> String {
        let Some(node) = node else { return String::new() };
        if !matches!(node.value, Value::Scalar { .. }) {
            let message = format!("{what} has to be text, and this is {}", node.kind());
            self.wrong(node.place, message, "write one text");
        }
        node.scalar().unwrap_or_default().to_owned()
    }

    /// Reads yes or no; nothing stands for no.
    pub(super) fn flag(&mut self, node: Option<&Node>, what: &str) -> bool {
        let Some(node) = node else { return false };
        let said = node.scalar().unwrap_or_default().to_ascii_lowercase();
        match said.as_str() {
            "true" | "yes" | "on" | "y" => true,
            "false" | "no" | "off" | "n" => false,
            _ if node.kind() == "nothing" => false,
            _ => {
                let given =
                    node.scalar().map_or_else(|| node.kind().to_owned(), |text| format!("\"{text}\""));
                self.wrong(node.place, format!("{what} is {given}"), "write true or false");
                false
            }
        }
    }

    /// Reads a number of requests.
    pub(super) fn number(&mut self, node: &Node, what: &str) -> Option<u32> {
        let given = node.scalar().unwrap_or_default();
        let is_digits = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
        let remedy = match given.parse::<u64>() {
            _ if given.len() > 1 && given.starts_with('0') && is_digits => {
                "a leading zero makes it octal; write the number without it".to_owned()
            }
            Ok(number) if is_digits => match u32::try_from(number) {
                Ok(number) => return Some(number),
                Err(_) => format!("the most is {}; write `unlimited: true` for no limit", u32::MAX),
            },
            Err(_) if is_digits => format!("the most is {}", u32::MAX),
            _ => "write digits only, such as 100".to_owned(),
        };
        let given = node.scalar().map_or_else(|| node.kind().to_owned(), |text| format!("\"{text}\""));
        self.wrong(node.place, format!("{what} cannot be {given}"), remedy);
        None
    }
}
