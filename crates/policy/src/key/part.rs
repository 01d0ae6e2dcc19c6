//! One part of a key: what it is read from, and what is found there.

use std::borrow::Cow;

use super::source::Unread;
use super::value::{self, Value};
use super::{Normalizer, Origin, Part, Presence, Source, SourceKind, push_choice};
use crate::problem::{At, Place};
use crate::request::{Ambiguous, Facts};

impl Part {
    /// Builds a part that is declared nowhere.
    pub(crate) fn new(name: String, called: Vec<String>, from: Origin) -> Self {
        Self { name, called, from, at: At(Place::START) }
    }

    /// Returns the parameter of the path that the part cannot do without.
    pub(crate) fn path_parameter(&self) -> Option<&str> {
        match &self.from {
            Origin::One(Source { kind: SourceKind::Path(name), .. }) => Some(name),
            Origin::Derived(derived) => derived.of.path_parameter(),
            _ => None,
        }
    }

    /// Returns whether every value of it is a phone number in international form.
    pub(crate) fn is_phone_number(&self) -> bool {
        match &self.from {
            Origin::One(source) => source.normalize.iter().any(|step| matches!(step, Normalizer::E164(_))),
            Origin::FirstOf(parts) => parts.iter().all(Self::is_phone_number),
            Origin::Global | Origin::Derived(_) => false,
        }
    }

    /// Adds the names of what is read, each once.
    pub(crate) fn sources<'a>(&'a self, names: &mut Vec<&'a str>) {
        let own = match &self.from {
            Origin::Global => return,
            Origin::One(source) => source.ready_name(&self.name),
            Origin::FirstOf(parts) => return parts.iter().for_each(|part| part.sources(names)),
            Origin::Derived(derived) => {
                derived.of.sources(names);
                &self.name
            }
        };
        if !names.contains(&own) {
            names.push(own);
        }
    }

    /// Returns whether it may be read from the body.
    pub(crate) fn needs_body(&self) -> bool {
        match &self.from {
            Origin::Global => false,
            Origin::One(source) => source.kind.needs_body(),
            Origin::FirstOf(parts) => parts.iter().any(Self::needs_body),
            Origin::Derived(derived) => derived.of.needs_body(),
        }
    }

    /// Returns whether what is read depends on the instant.
    pub(crate) fn needs_date(&self) -> bool {
        match &self.from {
            Origin::Global => false,
            Origin::One(source) => source.kind.needs_date(),
            Origin::FirstOf(parts) => parts.iter().any(Self::needs_date),
            Origin::Derived(derived) => derived.of.needs_date(),
        }
    }

    /// Returns the value as text, normalised and never hashed, for tables and comparisons: an address with its
    /// prefix (`192.0.2.0/24`) unless that is the whole address, of a `first_of` the first that is there. `None` when
    /// there is none, and for `global`.
    pub(crate) fn text<'a>(&self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Ambiguous> {
        Ok(self.find(facts)?.and_then(|found| found.value.text()))
    }

    /// Returns the value as text, and whether it is an address: a text that somebody sends must not stand for one.
    pub(crate) fn value<'a>(&self, facts: &Facts<'a>) -> Result<Option<(Cow<'a, str>, bool)>, Ambiguous> {
        let Some(found) = self.find(facts)? else { return Ok(None) };
        let is_address = matches!(found.value, Value::Address(..));
        Ok(found.value.text().map(|text| (text, is_address)))
    }

    /// Returns whether it is an address, whatever the request.
    pub(crate) fn is_address(&self) -> bool {
        matches!(&self.from, Origin::One(Source { kind: SourceKind::ClientIp { .. }, .. }))
    }

    /// Returns whether it is an address for some requests.
    pub(crate) fn may_be_address(&self) -> bool {
        match &self.from {
            Origin::FirstOf(parts) => parts.iter().any(Self::is_address),
            Origin::One(_) | Origin::Global | Origin::Derived(_) => self.is_address(),
        }
    }

    /// Returns whether it is read from that place, and nothing else.
    pub(crate) fn reads(&self, kind: &SourceKind) -> bool {
        matches!(&self.from, Origin::One(source) if source.kind == *kind)
    }

    /// Returns whether it is the route, and nothing else, whatever the request.
    pub(crate) fn is_route(&self) -> bool {
        matches!(&self.from, Origin::One(Source { kind: SourceKind::Route, .. }))
    }

    /// Returns whether a value that the file writes is meant as an address, since the part, or one it chooses from, is one.
    pub(crate) fn reads_as_address(&self, value: &str) -> bool {
        match &self.from {
            Origin::One(_) => self.is_address() && value::looks_like_address(value),
            Origin::FirstOf(parts) => parts.iter().any(|part| part.reads_as_address(value)),
            Origin::Global | Origin::Derived(_) => false,
        }
    }

    /// Returns what [`Part::text`] gives for a value that the file writes: one text for each way the value can be
    /// found, which a `first_of` has several of; for an address, only those that are one. The error says why it is
    /// no value of the part, as the end of a sentence that begins with the value.
    pub(crate) fn written(&self, value: &str) -> Result<Vec<String>, &'static str> {
        match &self.from {
            Origin::Global => Err("is a value, and `global` has none"),
            Origin::One(source) => {
                Ok(source.written(value)?.text().map(Cow::into_owned).into_iter().collect())
            }
            Origin::Derived(derived) => {
                Ok(derived.written(value)?.text().map(Cow::into_owned).into_iter().collect())
            }
            Origin::FirstOf(parts) => {
                let mut ways = Vec::new();
                let mut why = None;
                let address = self.reads_as_address(value);
                for part in parts.iter().filter(|part| !address || part.reads_as_address(value)) {
                    match part.written(value) {
                        Ok(found) => ways.extend(found),
                        Err(reason) => why = why.or(Some(reason)),
                    }
                }
                why.filter(|_| ways.is_empty()).map_or(Ok(ways), Err)
            }
        }
    }

    pub(super) fn read(&self, facts: &Facts<'_>, out: &mut Vec<u8>) -> Result<Presence<'_>, Ambiguous> {
        let Some(found) = self.find(facts)? else { return Ok(Presence::Missing { what: &self.name }) };
        if let Some(index) = found.choice {
            push_choice(out, index);
        }
        found.value.push(out);
        Ok(Presence::Present)
    }

    pub(super) fn find<'a>(&self, facts: &Facts<'a>) -> Result<Option<Found<'a>>, Ambiguous> {
        self.find_or_refuse(facts).map_err(|refused| {
            let (Unread::OtherBody(why) | Unread::Ambiguous(why)) = refused.unread;
            Ambiguous::new(refused.part.to_owned(), why)
        })
    }

    pub(super) fn find_or_refuse<'a>(&self, facts: &Facts<'a>) -> Result<Option<Found<'a>>, Refused<'_>> {
        let value = match &self.from {
            Origin::Global => Some(Value::Everyone),
            Origin::One(source) => {
                let read = source.read(&self.name, facts);
                read.map_err(|unread| Refused { part: &self.name, unread })?
            }
            Origin::FirstOf(parts) => return Self::find_first(parts, facts),
            Origin::Derived(derived) => derived.read(&self.name, facts)?,
        };
        Ok(value.map(|value| Found { choice: None, value }))
    }

    /// Finds the first alternative that is there. One that needs another kind of body gives way to the next, since
    /// a form and a JSON document are rightly alternatives; only when none is there is it an error.
    fn find_first<'a, 'p>(parts: &'p [Self], facts: &Facts<'a>) -> Result<Option<Found<'a>>, Refused<'p>> {
        let mut other_body = None;
        for (index, part) in parts.iter().enumerate() {
            match part.find_or_refuse(facts) {
                Ok(None) => {}
                // The file is read so that no choice stands within a choice.
                Ok(Some(found)) => return Ok(Some(Found { choice: Some(index), ..found })),
                Err(refused) if matches!(refused.unread, Unread::OtherBody(_)) => {
                    other_body = other_body.or(Some(refused));
                }
                Err(refused) => return Err(refused),
            }
        }
        other_body.map_or(Ok(None), Err)
    }
}

/// Why a part cannot be read, or one that it is read from.
pub(super) struct Refused<'p> {
    pub(super) part: &'p str,
    pub(super) unread: Unread,
}

/// What a part was found to be.
pub(super) struct Found<'a> {
    /// Which of a `first_of` it was.
    pub(super) choice: Option<usize>,
    pub(super) value: Value<'a>,
}
