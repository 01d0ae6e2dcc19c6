//! Envoy's descriptors: what a rule asks of one, and what keys read from it.
//!
//! Envoy asks about a request by a domain and one or several descriptors, each an ordered list of entries (key and value).
//! Every descriptor is decided like a request of its own: a rule applies to it when its pattern has as many entries, in
//! the same order.

use std::fmt;
use std::net::IpAddr;

use crate::client::canonical;

/// The entry that Envoy fills with the client's address, as it has resolved it.
pub(crate) const REMOTE_ADDRESS: &str = "remote_address";

/// A descriptor, borrowed from whoever holds it.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor<'a> {
    /// The domain it is asked under.
    pub domain: &'a str,
    /// The entries in order, each a key and a value; keys may come again.
    pub entries: &'a [(&'a str, &'a str)],
}

/// What a descriptor has to be for a rule to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptorPattern {
    /// The domain.
    pub domain: String,
    /// The entries: as many, in this order. `None` for every descriptor of the domain.
    pub entries: Option<Vec<EntryPattern>>,
}

/// What an entry has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPattern {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: ValuePattern,
    /// Values that it must not have, since other rules are about these.
    pub except: Vec<ValuePattern>,
    /// The name by which limits read its value, where it is not its key.
    pub called: Option<String>,
}

/// What a value has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValuePattern {
    /// Anything, also nothing.
    Any,
    /// This text.
    Exact(String),
    /// This text, in which each `*` stands for any text, also none.
    Wild(String),
}

impl Descriptor<'_> {
    /// Returns the client's address, when Envoy was told to send it.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        let (_, value) = self.entries.iter().find(|(key, _)| *key == REMOTE_ADDRESS)?;
        value.parse().ok().map(canonical)
    }
}

impl DescriptorPattern {
    /// Returns whether a descriptor is such a one.
    pub fn matches(&self, descriptor: &Descriptor<'_>) -> bool {
        let Some(patterns) = &self.entries else { return self.domain == descriptor.domain };
        self.domain == descriptor.domain
            && patterns.len() == descriptor.entries.len()
            && patterns.iter().zip(descriptor.entries).all(|(pattern, entry)| pattern.matches(*entry))
    }

    /// Returns whether some descriptor may match both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.domain == other.domain && self.agrees(other, EntryPattern::meets).unwrap_or(true)
    }

    /// Returns whether every descriptor that matches another pattern certainly matches this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let entries = self.agrees(other, EntryPattern::covers);
        self.domain == other.domain && entries.unwrap_or(self.entries.is_none())
    }

    /// Returns whether the entries of both agree one by one; `None` where one of them names none.
    fn agrees(&self, other: &Self, agree: fn(&EntryPattern, &EntryPattern) -> bool) -> Option<bool> {
        let (own, others) = (self.entries.as_ref()?, other.entries.as_ref()?);
        Some(own.len() == others.len() && own.iter().zip(others).all(|(own, other)| agree(own, other)))
    }

    /// Returns what is otherwise in a descriptor that is not such a one, as the end of a sentence that begins with it.
    pub(crate) fn mismatch(&self, descriptor: &Descriptor<'_>) -> String {
        let Some(patterns) = self.entries.as_ref().filter(|_| self.domain == descriptor.domain) else {
            return format!("is of domain {}", descriptor.domain);
        };
        let (wanted, found) = (patterns.len(), descriptor.entries.len());
        if wanted != found {
            let entries = if found == 1 { "entry" } else { "entries" };
            return format!("has {found} {entries}, not {wanted}");
        }
        let sorted = |keys: &mut Vec<&str>| keys.sort_unstable();
        let mut keys: Vec<&str> = patterns.iter().map(|entry| entry.key.as_str()).collect();
        let mut others: Vec<&str> = descriptor.entries.iter().map(|(key, _)| *key).collect();
        let in_order = keys == others;
        sorted(&mut keys);
        sorted(&mut others);
        if !in_order && keys == others {
            return "has the entries in another order".to_owned();
        }
        let mut pairs = patterns.iter().zip(descriptor.entries);
        let differing = pairs.find(|(pattern, entry)| !pattern.matches(**entry));
        differing.map_or_else(String::new, |(pattern, (key, value))| {
            if pattern.key == *key {
                format!("has {key}={value}")
            } else {
                format!("has {key} where {} should be", pattern.key)
            }
        })
    }

    /// Returns the place of the entry that goes by a name here.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.entries.as_ref()?.iter().position(|entry| entry.name() == name)
    }
}

impl EntryPattern {
    /// Returns the name by which limits read its value.
    pub fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(&self.key)
    }

    fn matches(&self, (key, value): (&str, &str)) -> bool {
        self.key == key && self.takes(value)
    }

    /// Returns whether an entry may be what both ask for: certainly not where one asks for a value that the other does not
    /// take.
    fn meets(&self, other: &Self) -> bool {
        let refuses = |one: &Self, other: &Self| matches!(&one.value, ValuePattern::Exact(value) if !other.takes(value));
        self.key == other.key && !refuses(self, other) && !refuses(other, self)
    }

    /// Returns whether it certainly takes what another one takes.
    fn covers(&self, other: &Self) -> bool {
        let takes = match &other.value {
            ValuePattern::Exact(value) => self.takes(value),
            value => {
                let left_out = self.except.iter().all(|one| other.except.contains(one));
                left_out && (self.value == ValuePattern::Any || self.value == *value)
            }
        };
        self.key == other.key && takes
    }

    /// Returns whether it takes a value.
    pub(crate) fn takes(&self, value: &str) -> bool {
        self.value.matches(value) && !self.except.iter().any(|other| other.matches(value))
    }
}

impl ValuePattern {
    /// Reads a value as a file writes it: one with a star is a pattern.
    pub fn of(text: &str) -> Self {
        if text.contains('*') { Self::Wild(text.to_owned()) } else { Self::Exact(text.to_owned()) }
    }

    /// Returns whether a value is such a one.
    pub fn matches(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(text) => text == value,
            Self::Wild(pattern) => is_wild_match(pattern, value),
        }
    }
}

/// Compares a value with a pattern whose stars stand for any text: its first and last literals are held to the ends, and
/// those between are found from the left, which finds a match wherever there is one.
fn is_wild_match(pattern: &str, value: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == value };
    let Some(mut left) = value.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for literal in middle.split('*') {
        let Some(at) = left.find(literal) else { return false };
        left = left.get(at.saturating_add(literal.len())..).unwrap_or_default();
    }
    left.ends_with(last)
}

impl fmt::Display for ValuePattern {
    /// Writes the value as a file does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(text) | Self::Wild(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for EntryPattern {
    /// Writes `path=/login`, and the key alone where any value will do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if self.value != ValuePattern::Any {
            write!(f, "={}", self.value)?;
        }
        for (index, other) in self.except.iter().enumerate() {
            f.write_str(if index == 0 { " but not " } else { ", " })?;
            other.fmt(f)?;
        }
        if let Some(name) = &self.called {
            write!(f, " as {name}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Descriptor<'_> {
    /// Writes `domain shop, descriptor (path=/login, remote_address=192.0.2.7)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "domain {}, descriptor (", self.domain)?;
        for (index, (key, value)) in self.entries.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for DescriptorPattern {
    /// Writes `domain shop, descriptor (path=/login, remote_address)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "domain {}", self.domain)?;
        match &self.entries {
            Some(entries) => write!(f, ", descriptor ({})", crate::matcher::joined(entries)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards the ends of a pattern: `*b` is not found in `ba`, and a literal is not counted twice.
    #[test]
    fn a_star_stands_for_any_text_and_literals_keep_their_order() {
        let is = |pattern: &str, value: &str| ValuePattern::of(pattern).matches(value);
        for (pattern, value) in
            [("*", ""), ("a*", "a"), ("*a", "aa"), ("a*b*c", "a1b2c"), ("a**c", "ac"), ("a*ba*", "aba")]
        {
            assert!(is(pattern, value), "{pattern} {value}");
        }
        for (pattern, value) in
            [("a*", ""), ("*b", "ba"), ("aba*aba", "aba"), ("a*b*c", "acb"), ("a*a", "a"), ("a", "ab")]
        {
            assert!(!is(pattern, value), "{pattern} {value}");
        }
    }

    /// Guards the review against calling a rule covered by one for other descriptors, and queues against meeting unseen.
    #[test]
    fn patterns_meet_and_cover_as_their_values_do() {
        let pattern = |domain: &str, value: Option<(&str, &[&str])>| DescriptorPattern {
            domain: domain.to_owned(),
            entries: value.map(|(value, except)| {
                let value = if value == "any" { ValuePattern::Any } else { ValuePattern::of(value) };
                let except = except.iter().map(|value| ValuePattern::of(value)).collect();
                vec![EntryPattern { key: "path".to_owned(), value, except, called: None }]
            }),
        };
        for (outer, inner, meets, covers) in [
            (("d", None), ("d", Some(("/a", &[][..]))), true, true),
            (("d", Some(("/a", &[][..]))), ("d", None), true, false),
            (("d", None), ("e", None), false, false),
            (("d", Some(("/a*", &[]))), ("d", Some(("/ab", &[]))), true, true),
            (("d", Some(("/a*", &["/ab"]))), ("d", Some(("/ab", &[]))), false, false),
            (("d", Some(("/a", &[]))), ("d", Some(("/b", &[]))), false, false),
            (("d", Some(("any", &["/b"]))), ("d", Some(("/a*", &[]))), true, false),
            (("d", Some(("any", &["/b"]))), ("d", Some(("any", &["/b", "/c"]))), true, true),
            (("d", Some(("/a*", &[]))), ("d", Some(("any", &[]))), true, false),
        ] {
            let (one, other) = (pattern(outer.0, outer.1), pattern(inner.0, inner.1));
            assert_eq!(one.meets(&other), meets, "{one} and {other}");
            assert_eq!(one.covers(&other), covers, "{one} over {other}");
        }
    }

    /// Guards against an entry more or less, or in another place, that is taken for what was asked.
    #[test]
    fn a_pattern_wants_as_many_entries_in_its_order() {
        let entry = |key: &str, value: ValuePattern| EntryPattern {
            key: key.to_owned(),
            value,
            except: vec![ValuePattern::of("/b")],
            called: None,
        };
        let entries = vec![entry("path", ValuePattern::of("/*")), entry("user", ValuePattern::Any)];
        let pattern = DescriptorPattern { domain: "d".to_owned(), entries: Some(entries) };
        let is = |domain: &str, entries: &[(&str, &str)]| pattern.matches(&Descriptor { domain, entries });
        assert!(is("d", &[("path", "/a"), ("user", "")]));
        assert!(!is("e", &[("path", "/a"), ("user", "")]));
        assert!(!is("d", &[("user", ""), ("path", "/a")]));
        assert!(!is("d", &[("path", "/a")]));
        assert!(!is("d", &[("path", "/a"), ("user", ""), ("user", "")]));
        assert!(!is("d", &[("path", "/b"), ("user", "")]));
    }
}
