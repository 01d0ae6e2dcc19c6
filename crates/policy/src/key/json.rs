//! One value of a JSON document, found by a pointer without building the document.
//!
//! On the pointer's way every member is compared without regard to case: a second one, or one in another spelling, is
//! refused, because parsers differ in which they take. Text and whole numbers are values (`7` and `"7"` are one
//! key, since servers convert); null is a missing one; everything else is refused. Nesting costs no stack where it
//! is passed over, and is refused from 128 levels where it is followed.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::source::Unread;

/// A pointer of RFC 6901, split into its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    steps: Vec<String>,
}

impl fmt::Display for Pointer {
    /// Writes the pointer as the file does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

impl Pointer {
    /// Reads a pointer; `None` unless it has a step and begins each with a slash.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let steps = text.strip_prefix('/')?.split('/');
        let steps: Option<Vec<String>> = steps.map(unescape).collect();
        steps.map(|steps| Self { steps })
    }

    /// Points at the document itself.
    pub(crate) fn whole() -> Self {
        Self { steps: Vec::new() }
    }
}

/// Replaces `~1` and `~0`; `None` for any other tilde.
fn unescape(step: &str) -> Option<String> {
    let mut parts = step.split('~');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest =
            part.strip_prefix('1').map(|rest| ('/', rest)).or(part.strip_prefix('0').map(|rest| ('~', rest)));
        let (letter, rest) = rest?;
        out.push(letter);
        out.push_str(rest);
    }
    Some(out)
}

/// Finds the pointer's value in a document.
pub(super) fn find<'a>(pointer: &Pointer, text: &'a str) -> Result<Option<Cow<'a, str>>, Unread> {
    let found = follow(pointer, Take::Value, text)?;
    Ok(found.and_then(|found| if let Found::Value(value) = found { Some(value) } else { None }))
}

/// Counts the items of the list a pointer leads to; `None` when there is no list.
pub(super) fn length(pointer: &Pointer, text: &str) -> Result<Option<u64>, Unread> {
    let found = follow(pointer, Take::Length, text)?;
    Ok(found.and_then(|found| if let Found::Length(items) = found { Some(items) } else { None }))
}

/// What is taken at the end of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    /// A text or a whole number.
    Value,
    /// How many items a list has.
    Length,
}

/// What was found at the end of a pointer.
enum Found<'a> {
    Value(Cow<'a, str>),
    Length(u64),
}

fn follow<'a>(pointer: &Pointer, take: Take, text: &'a str) -> Result<Option<Found<'a>>, Unread> {
    let why = Cell::new(None);
    let mut document = serde_json::Deserializer::from_str(text);
    let seed = Follow { steps: &pointer.steps, take, why: &why };
    let found = seed.deserialize(&mut document).and_then(|found| document.end().map(|()| found));
    match found {
        Ok(found) => Ok(found),
        Err(_) => Err(Unread::Ambiguous(why.get().unwrap_or("is in a body that is not valid JSON"))),
    }
}

/// Follows the rest of a pointer into a value.
#[derive(Clone, Copy)]
struct Follow<'p> {
    steps: &'p [String],
    take: Take,
    /// Why the document was refused, when it was not for its syntax.
    why: &'p Cell<Option<&'static str>>,
}

impl Follow<'_> {
    fn refuse<T, E: serde::de::Error>(&self, why: &'static str) -> Result<T, E> {
        self.why.set(Some(why));
        Err(E::custom(why))
    }

    /// Ends at a scalar: the value when the pointer ends here as well and one is wanted, nothing otherwise.
    fn scalar<'a>(&self, value: impl FnOnce() -> Cow<'a, str>) -> Option<Found<'a>> {
        self.wants_value().then(|| Found::Value(value()))
    }

    fn wants_value(&self) -> bool {
        self.steps.is_empty() && self.take == Take::Value
    }
}

impl<'de> DeserializeSeed<'de> for Follow<'_> {
    type Value = Option<Found<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Follow<'_> {
    type Value = Option<Found<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(self.scalar(|| Cow::Borrowed(value)))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(self.scalar(|| Cow::Owned(value.to_owned())))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(self.scalar(|| Cow::Owned(value.to_string())))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(self.scalar(|| Cow::Owned(value.to_string())))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
        if self.wants_value() { self.refuse("is neither text nor a whole number") } else { Ok(None) }
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
        if self.wants_value() { self.refuse("is neither text nor a whole number") } else { Ok(None) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let Some((step, steps)) = self.steps.split_first() else {
            return match self.take {
                Take::Value => self.refuse("is neither text nor a whole number"),
                Take::Length => count(items),
            };
        };
        let wanted = step.parse::<usize>().ok();
        let mut found = None;
        let mut index = 0_usize;
        loop {
            let more = if Some(index) == wanted {
                let item = items.next_element_seed(Follow { steps, ..self })?;
                let more = item.is_some();
                found = item.flatten();
                more
            } else {
                items.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                return Ok(found);
            }
            index = index.saturating_add(1);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let Some((step, steps)) = self.steps.split_first() else {
            if self.take == Take::Value {
                return self.refuse("is neither text nor a whole number");
            }
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        let mut found = None;
        let mut seen = false;
        while let Some(likeness) = members.next_key_seed(Compare(step))? {
            match likeness {
                Likeness::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
                Likeness::Same if !seen => {
                    seen = true;
                    found = members.next_value_seed(Follow { steps, ..self })?;
                }
                Likeness::Same => return self.refuse("is there more than once"),
                Likeness::OtherCase => return self.refuse("is there in another spelling"),
            }
        }
        Ok(found)
    }
}

fn count<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Option<Found<'de>>, A::Error> {
    let mut length = 0_u64;
    while items.next_element::<IgnoredAny>()?.is_some() {
        length = length.saturating_add(1);
    }
    Ok(Some(Found::Length(length)))
}

/// Compares a member's name with a step.
struct Compare<'p>(&'p str);

enum Likeness {
    Same,
    OtherCase,
    Other,
}

impl<'de> DeserializeSeed<'de> for Compare<'_> {
    type Value = Likeness;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Likeness, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Compare<'_> {
    type Value = Likeness;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Likeness, E> {
        // For a parser that keeps names as C does, a NUL ends one.
        let bare = name.split('\0').next().unwrap_or_default();
        Ok(match () {
            () if name == self.0 => Likeness::Same,
            () if folded(bare).eq(folded(self.0)) => Likeness::OtherCase,
            () => Likeness::Other,
        })
    }
}

/// Returns a name's letters without regard to case, the long s and the Kelvin sign included.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}
