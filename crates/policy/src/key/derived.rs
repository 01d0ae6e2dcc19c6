//! What another key's phone number tells: its country, and its beginning.

use std::borrow::Cow;

use super::Part;
use super::part::Refused;
use super::phone::{beginning, country, is_beginning, is_country};
use super::source::Unread;
use super::value::Value;
use crate::request::Facts;

/// A part that is read from a phone number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Derived {
    pub(crate) kind: DerivedKind,
    /// The key that gives the number.
    pub(crate) of: Box<Part>,
    /// Whether the digest is counted.
    pub(crate) hash: bool,
}

/// What is read from a phone number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DerivedKind {
    /// The region's two letters, or `001` for numbers of no country.
    Country,
    /// The number without its last four digits.
    Prefix,
}

impl Derived {
    /// Reads it: given ready-made under its own name, else from the number, which may be given so as well.
    pub(super) fn read<'a, 'p>(
        &'p self,
        name: &'p str,
        facts: &Facts<'a>,
    ) -> Result<Option<Value<'a>>, Refused<'p>> {
        if let Some(ready) = facts.ready(name).filter(|ready| !ready.is_empty()) {
            let value = self.written(ready);
            return value.map(Some).map_err(|why| Refused { part: name, unread: Unread::Ambiguous(why) });
        }
        let number = self.of.find_or_refuse(facts)?.and_then(|found| found.value.text());
        Ok(number.map(|number| {
            self.value(match self.kind {
                DerivedKind::Country => Cow::Borrowed(country(&number)),
                DerivedKind::Prefix => Cow::Owned(beginning(&number).to_owned()),
            })
        }))
    }

    /// Reads a value that is written out: a region's letters, or a beginning of numbers.
    pub(super) fn written<'a>(&self, text: &'a str) -> Result<Value<'a>, &'static str> {
        let (fits, why) = match self.kind {
            DerivedKind::Country => {
                (is_country(text), "is not a region with phone numbers, such as US, FR or 001")
            }
            DerivedKind::Prefix => (
                is_beginning(text),
                "is not the beginning of phone numbers, with + and without the last four digits",
            ),
        };
        if fits { Ok(self.value(Cow::Borrowed(text))) } else { Err(why) }
    }

    fn value<'a>(&self, text: Cow<'a, str>) -> Value<'a> {
        if self.hash { Value::Hashed(text) } else { Value::Text(text) }
    }
}

#[cfg(test)]
mod tests;
