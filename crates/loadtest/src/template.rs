//! Texts that say who asks: `{key}` stands for his name, `{address}` for an address that is his.

use std::fmt;
use std::io::Write as _;

use crate::people::Who;

/// A text with places to be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Key,
    Address,
}

const PLACES: [(&str, Part); 2] = [("{key}", Part::Key), ("{address}", Part::Address)];

impl Template {
    /// Reads a text; whatever is no `{key}` and no `{address}` stands for itself.
    pub fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let found = PLACES.iter().filter_map(|(name, part)| Some((rest.find(name)?, *name, part)));
            let Some((at, name, part)) = found.min_by_key(|(at, ..)| *at) else { break };
            let (before, after) = rest.split_at(at);
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(part.clone());
            rest = after.get(name.len()..).unwrap_or_default();
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Self(parts)
    }

    /// Returns whether it says who asks.
    pub fn tells_apart(&self) -> bool {
        self.0.iter().any(|part| !matches!(part, Part::Text(_)))
    }

    /// Fills it in.
    pub(crate) fn of(&self, who: Who) -> Vec<u8> {
        let mut filled = Vec::new();
        for part in &self.0 {
            // Writing to memory does not fail.
            let _ = match part {
                Part::Text(text) => filled.write_all(text.as_bytes()),
                Part::Key => write!(filled, "{who}"),
                Part::Address => write!(filled, "{}", who.address()),
            };
        }
        filled
    }
}

/// As it was written.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Key => f.write_str("{key}"),
            Part::Address => f.write_str("{address}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, who: Who) -> String {
        String::from_utf8(Template::new(text).of(who)).unwrap()
    }

    #[test]
    fn places_are_filled_in_wherever_they_stand() {
        assert_eq!(filled("{key}", Who::User(7)), "user-7");
        assert_eq!(filled("a {key} b {address}{key}", Who::Flood), "a flood b 198.51.100.66flood");
        assert_eq!(filled("", Who::Flood), "");
        assert_eq!(filled(r#"{"a":"{keys}","b":{key"#, Who::Flood), r#"{"a":"{keys}","b":{key"#);
        assert!(!Template::new("{ key }").tells_apart() && Template::new("x{address}").tells_apart());
    }
}
