//! A key of a limit as it is typed: one bare value, or values by their names.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use tidegate::policy_file::ReadyKeys;

use crate::exit::Failure;

/// How a command takes a key: what stands before each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `--key account=ada`.
    Option,
    /// `account=ada`.
    Bare,
}

/// A part of a limit's key.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// The values there are, where that is known: the patterns of a route.
    pub(crate) values: Vec<String>,
}

/// Returns the members of a call that name the key; none for everybody.
///
/// # Errors
/// When several are given and one has no name, or one is given twice.
pub(crate) fn members(words: &[String], style: Style) -> Result<Map<String, Value>, Failure> {
    let mut call = Map::new();
    match words {
        [] => {}
        [value] if !value.contains('=') => {
            call.insert("key".to_owned(), value.as_str().into());
        }
        pairs => {
            call.insert("keys".to_owned(), json!(named(pairs, style)?));
        }
    }
    Ok(call)
}

/// Returns the values by the names that a limit reads.
///
/// # Errors
/// When a value has no name and the limit reads several, or one is given twice.
pub(crate) fn ready(words: &[String], parts: &[Part], style: Style) -> Result<ReadyKeys, Failure> {
    match (words, parts) {
        ([value], [part]) if !value.contains('=') => {
            Ok(ReadyKeys::from([(part.name.clone(), value.clone())]))
        }
        _ => named(words, style).map_err(|failure| advised(failure, words, parts, style)),
    }
}

/// Reads values by their names.
fn named(pairs: &[String], style: Style) -> Result<ReadyKeys, Failure> {
    let mut keys = ReadyKeys::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            let about =
                format!("{}{pair} has no name, and several values are told by their names", style.before());
            return Err(
                Failure::unusable(about).advise(format!("write {}NAME=VALUE for each", style.before()))
            );
        };
        if keys.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::unusable(format!("{name} is given twice; give it once")));
        }
    }
    Ok(keys)
}

/// Adds to a failure about a key how to write it, where its parts are known.
pub(crate) fn advised(failure: Failure, words: &[String], parts: &[Part], style: Style) -> Failure {
    if parts.is_empty() { failure } else { failure.advise(advice(words, parts, style)) }
}

/// Says what to type: each part by its name, with the values that were given, or that there are.
fn advice(words: &[String], parts: &[Part], style: Style) -> String {
    let mut bare = words.iter().filter(|word| !word.contains('='));
    let mut typed = Vec::new();
    for part in parts {
        let mut given = words.iter().filter_map(|word| word.split_once('='));
        let given = given.find_map(|(name, value)| (name == part.name).then_some(value));
        let value = match (given, part.values.first()) {
            (Some(value), _) => value,
            (None, Some(value)) => value.as_str(),
            (None, None) => bare.next().map_or("VALUE", String::as_str),
        };
        typed.push(quoted(&format!("{}={value}", part.name)));
    }
    let typed = typed.into_iter().map(|word| format!("{}{word}", style.before()));
    let mut advice = format!("write `{}`", typed.collect::<Vec<_>>().join(" "));
    for part in parts.iter().filter(|part| !part.values.is_empty()) {
        let values = part.values.join(", ");
        // Writing to a string cannot fail.
        let _ = write!(advice, "; a {} is a pattern of the rule's match: {values}", part.name);
    }
    advice
}

/// Quotes a word that a shell would take apart.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=/.:_-@+,%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

impl Style {
    fn before(self) -> &'static str {
        match self {
            Self::Option => "--key ",
            Self::Bare => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// What is to be typed has to be what can be typed, with nothing lost of what was.
    #[test]
    fn the_advice_is_what_to_type() {
        let part = |name: &str, values: &[&str]| Part { name: name.to_owned(), values: words(values) };
        let parts = [part("client", &[]), part("route", &["/login", "/otp/*"])];
        for (given, style, expected) in [
            (&["10.0.0.66"][..], Style::Option, "write `--key client=10.0.0.66 --key route=/login`"),
            (&["10.0.0.66"], Style::Bare, "write `client=10.0.0.66 route=/login`"),
            (&["client=a b"], Style::Bare, "write `'client=a b' route=/login`"),
            (&["user=1", "route=/x"], Style::Option, "write `--key client=VALUE --key route=/x`"),
        ] {
            let told = advice(&words(given), &parts, style);
            assert!(told.starts_with(expected), "{told}");
            assert!(told.ends_with("a route is a pattern of the rule's match: /login, /otp/*"), "{told}");
        }
        assert_eq!(advice(&words(&["x=1"]), &[part("ada", &[])], Style::Bare), "write `ada=VALUE`");
    }

    #[test]
    fn a_bare_value_is_enough_for_one_part() {
        let part = Part { name: "user".to_owned(), values: Vec::new() };
        let ready = |given: &[&str]| ready(&words(given), std::slice::from_ref(&part), Style::Bare);
        for given in ["ada", "user=ada"] {
            assert_eq!(ready(&[given]).unwrap()["user"], "ada");
        }
        assert!(ready(&["user=a", "user=b"]).unwrap_err().message().contains("twice"));
        assert!(ready(&["a", "b"]).unwrap_err().message().contains("write `user=a`"));
    }
}
