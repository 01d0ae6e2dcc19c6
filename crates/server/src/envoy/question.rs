//! Envoy's question, found to make sense.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use smallvec::SmallVec;
use tidegate::policy_file::Policy;
use tidegate::{Anchor, Limit, Quota, Span};

use super::message::{Asked, AskedDescriptor, AskedLimit};
use super::unit::Unit;

/// The most descriptors of a question, and entries of a descriptor. Envoy's routes decide how many there are, not clients,
/// and people write a few.
pub(crate) const MAX_DESCRIPTORS: usize = 128;
pub(crate) const MAX_ENTRIES: usize = 64;

/// The most hits of a descriptor: the most a limit may hold.
pub(crate) const MAX_HITS: u64 = 1 << 30;

/// A question that makes sense.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) domain: Text,
    pub(super) descriptors: Vec<Descriptor>,
}

/// One descriptor of it.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) entries: SmallVec<[(Text, Text); 2]>,
    /// The units it takes or gives back; `None` for each limit's own cost.
    pub(super) hits: Option<u32>,
    /// Whether they are given back.
    pub(super) gives_back: bool,
    /// The limit that stands in for the one of the policy.
    pub(super) limit: Option<Limit>,
}

/// What is wrong with a question, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nonsense(String);

impl fmt::Display for Nonsense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Question {
    /// Reads a question.
    ///
    /// # Errors
    /// When nobody can be meant by it.
    pub(super) fn of(asked: Asked) -> Result<Self, Nonsense> {
        if asked.domain.is_empty() {
            return Err(nonsense("the domain must not be empty; set `domain` in Envoy's ratelimit filter"));
        }
        let count = asked.descriptors.len();
        if count == 0 {
            return Err(nonsense("the descriptor list must not be empty; send at least one descriptor"));
        }
        if count > MAX_DESCRIPTORS {
            return Err(nonsense(format!("{count} descriptors; a call may have {MAX_DESCRIPTORS}")));
        }
        let usual = match asked.hits_addend {
            0 => None,
            hits => Some(units("hits_addend", hits.into())?),
        };
        let descriptors = asked.descriptors.into_iter().enumerate();
        Ok(Self {
            domain: Text::of(asked.domain),
            descriptors: descriptors
                .map(|(place, descriptor)| Descriptor::of(place, descriptor, usual))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Drops the limits that came along where the policy does not know the domain: nobody limits by that alone.
    pub(super) fn under(mut self, policy: Option<&Policy>) -> Self {
        if self.descriptors.iter().all(|descriptor| descriptor.limit.is_none()) {
            return self;
        }
        let mut patterns = policy.into_iter().flat_map(|policy| &policy.rules).flat_map(|rule| &rule.matches);
        let known =
            patterns.any(|it| it.descriptor.as_ref().is_some_and(|it| it.domain == self.domain.as_str()));
        if !known {
            self.descriptors.iter_mut().for_each(|descriptor| descriptor.limit = None);
        }
        self
    }
}

impl Descriptor {
    fn of(place: usize, asked: AskedDescriptor, usual: Option<u32>) -> Result<Self, Nonsense> {
        let count = asked.entries.len();
        if count == 0 {
            return Err(nonsense(format!("descriptors[{place}] has no entries; send at least one")));
        }
        if count > MAX_ENTRIES {
            return Err(nonsense(format!(
                "descriptors[{place}] has {count} entries; a descriptor may have {MAX_ENTRIES}"
            )));
        }
        if asked.entries.iter().any(|entry| entry.key.is_empty()) {
            return Err(nonsense(format!("descriptors[{place}] has an entry without a key; give it one")));
        }
        let own =
            asked.hits_addend.map(|hits| units(&format!("descriptors[{place}].hits_addend"), hits.value));
        let hits = own.transpose()?.or(usual);
        Ok(Self {
            entries: asked
                .entries
                .into_iter()
                .map(|entry| (Text::of(entry.key), Text::of(entry.value)))
                .collect(),
            // Of what is given back one unit is meant where none is named, not a limit's own cost.
            hits: if asked.is_negative_hits { hits.or(Some(1)) } else { hits },
            gives_back: asked.is_negative_hits,
            limit: asked.limit.map(|limit| given(place, limit)).transpose()?,
        })
    }

    /// Returns whether it asks without taking.
    pub(super) fn is_look(&self) -> bool {
        self.hits == Some(0) && !self.gives_back
    }

    /// Returns the entries as rules look at them.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// A text of a question, in the bytes it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text(Bytes);

impl Text {
    /// Returns bytes as text. Each that is none is shown as a replacement character: such values share a key, which limits more
    /// than was meant, while a question that is not answered lets pass.
    fn of(bytes: Bytes) -> Self {
        match String::from_utf8_lossy(&bytes) {
            Cow::Borrowed(_) => Self(bytes),
            Cow::Owned(text) => Self(text.into()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn units(what: &str, hits: u64) -> Result<u32, Nonsense> {
    let fits = u32::try_from(hits).ok().filter(|_| hits <= MAX_HITS);
    fits.ok_or_else(|| nonsense(format!("{what} is {hits}; a descriptor may take {MAX_HITS} at most")))
}

/// Returns the limit that came with a descriptor: windows of the clock, since that is what its numbers mean to whoever set
/// them. A count above what a limit may hold is that much.
fn given(place: usize, asked: AskedLimit) -> Result<Limit, Nonsense> {
    let unit = Unit::of_override(asked.unit).ok_or_else(|| {
        let unit = asked.unit;
        nonsense(format!("descriptors[{place}].limit has the unit {unit}, which is none; use SECOND to YEAR"))
    })?;
    let limit = u64::from(asked.requests_per_unit).min(MAX_HITS);
    let quota = Quota::fixed_window(limit, Span::from_secs(unit.seconds()), Anchor::Clock);
    let quota = quota.map_err(|error| nonsense(format!("descriptors[{place}].limit: {error}")))?;
    Ok(Limit::new(unit.override_name(), quota))
}

fn nonsense(words: impl Into<String>) -> Nonsense {
    Nonsense(words.into())
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::google::protobuf::UInt64Value;

    use super::super::message::AskedEntry;
    use super::*;

    fn entry(key: &str, value: &[u8]) -> AskedEntry {
        AskedEntry { key: key.to_owned().into(), value: value.to_vec().into() }
    }

    fn asked(descriptor: AskedDescriptor) -> Asked {
        Asked { domain: "shop".into(), descriptors: vec![descriptor], hits_addend: 0 }
    }

    fn simple() -> AskedDescriptor {
        AskedDescriptor { entries: vec![entry("path", b"/a")], ..AskedDescriptor::default() }
    }

    fn first(asked: Asked) -> Descriptor {
        Question::of(asked).unwrap().descriptors.remove(0)
    }

    /// Guards against questions that are answered although nobody can know what they mean.
    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        let no_key = AskedDescriptor { entries: vec![entry("", b"x")], ..AskedDescriptor::default() };
        let too_many =
            AskedDescriptor { hits_addend: Some(UInt64Value { value: (1 << 30) + 1 }), ..simple() };
        let no_unit =
            AskedDescriptor { limit: Some(AskedLimit { requests_per_unit: 1, unit: 0 }), ..simple() };
        let many = AskedDescriptor { entries: vec![entry("a", b""); 65], ..AskedDescriptor::default() };
        for (asked, says) in [
            (Asked { domain: Bytes::new(), ..asked(simple()) }, "domain"),
            (Asked { descriptors: Vec::new(), ..asked(simple()) }, "descriptor list"),
            (Asked { descriptors: vec![simple(); 129], ..asked(simple()) }, "129 descriptors"),
            (Asked { hits_addend: (1 << 30) + 1, ..asked(simple()) }, "hits_addend"),
            (asked(AskedDescriptor::default()), "descriptors[0] has no entries"),
            (asked(no_key), "without a key"),
            (asked(too_many), "descriptors[0].hits_addend"),
            (asked(no_unit), "descriptors[0].limit"),
            (asked(many), "65 entries"),
        ] {
            let Nonsense(words) = Question::of(asked).unwrap_err();
            assert!(words.contains(says), "{words}");
        }
    }

    #[test]
    fn a_descriptors_own_hits_win_and_zero_looks_while_none_at_all_leave_each_limit_its_cost() {
        assert_eq!(first(asked(simple())).hits, None);
        assert_eq!(first(Asked { hits_addend: 5, ..asked(simple()) }).hits, Some(5));
        let look = AskedDescriptor { hits_addend: Some(UInt64Value { value: 0 }), ..simple() };
        assert_eq!(first(Asked { hits_addend: 5, ..asked(look) }).hits, Some(0));
        let back = first(asked(AskedDescriptor { is_negative_hits: true, ..simple() }));
        assert_eq!((back.hits, back.gives_back), (Some(1), true));
    }

    /// Guards against an error for bytes that a client chose, after which Envoy would let the request pass.
    #[test]
    fn a_value_that_is_no_text_is_a_value_all_the_same() {
        let bytes = AskedDescriptor { entries: vec![entry("user", b"\xffx")], ..AskedDescriptor::default() };
        assert!(first(asked(bytes)).entries().eq([("user", "\u{fffd}x")]));
    }

    #[test]
    fn a_limit_that_comes_along_has_the_windows_of_the_clock() {
        let of = |requests_per_unit, unit| {
            let limit = Some(AskedLimit { requests_per_unit, unit });
            let limit = first(asked(AskedDescriptor { limit, ..simple() })).limit.unwrap();
            (limit.name().to_owned(), limit.quota().nominal(), limit.quota().window().as_micros() / 1_000_000)
        };
        assert_eq!(of(3, 2), ("envoy override/minute".to_owned(), 3, 60));
        assert_eq!(of(0, 5), ("envoy override/month".to_owned(), 0, 30 * 86_400));
        assert_eq!(of(u32::MAX, 6), ("envoy override/year".to_owned(), 1 << 30, 365 * 86_400));
    }
}
