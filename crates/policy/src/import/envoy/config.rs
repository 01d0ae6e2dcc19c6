//! A configuration file of envoyproxy/ratelimit as it is meant.

use tidegate_algorithms::Span;

use crate::file::Node;
use crate::problem::Place;

/// A domain with its descriptors.
#[derive(Debug)]
pub(super) struct Domain {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) descriptors: Vec<Descriptor>,
}

/// A level of descriptors: an entry's key, perhaps its value, and what becomes of a descriptor that ends or goes on here.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) place: Place,
    pub(super) key: String,
    /// `None` for any value; with a star in it, a pattern.
    pub(super) value: Option<String>,
    pub(super) limit: Option<RateLimit>,
    pub(super) children: Vec<Descriptor>,
    pub(super) metadata: Option<Node>,
    pub(super) flags: Flags,
    /// The words it has that say something of its limit, each where it stands.
    pub(super) of_a_limit: Vec<(&'static str, Place)>,
}

/// What is said of a descriptor by yes or no.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are what the file says, each by itself")]
pub(super) struct Flags {
    pub(super) shadow: bool,
    pub(super) quota: bool,
    pub(super) detailed_metric: bool,
    pub(super) value_to_metric: bool,
    pub(super) share_threshold: bool,
}

/// How much is allowed, and what that limit is called.
#[derive(Debug)]
pub(super) struct RateLimit {
    pub(super) allowance: Allowance,
    /// Empty when it has none.
    pub(super) name: String,
    /// The names of the limits that do not count when this one applies.
    pub(super) replaces: Vec<(String, Place)>,
}

/// How much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowance {
    Unlimited,
    Per { requests: u32, unit: Unit },
}

/// The length of a window; they lie by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    /// Every unit with its name, and the window as a policy file writes it.
    const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Second, "second", "1s"),
        (Self::Minute, "minute", "1m"),
        (Self::Hour, "hour", "1h"),
        (Self::Day, "day", "1d"),
        (Self::Week, "week", "7d"),
        (Self::Month, "month", "30d"),
        (Self::Year, "year", "365d"),
    ];

    /// Returns the unit of a name, in whatever case.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(unit, _, _)| *unit)
    }

    /// Returns every unit's name.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|(_, name, _)| *name)
    }

    /// Returns the window as a policy file writes it.
    pub(super) fn written(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _, _)| *unit == self).map_or("", |(_, _, written)| written)
    }

    /// Returns the window.
    pub(super) fn window(self) -> Span {
        crate::file::span(self.written()).unwrap_or_default()
    }
}

impl Descriptor {
    /// Returns whether its value is a pattern.
    pub(super) fn is_wildcard(&self) -> bool {
        self.value.as_ref().is_some_and(|value| value.contains('*'))
    }

    /// Returns whether each value that it stands for is counted by itself.
    pub(super) fn varies(&self) -> bool {
        self.value.is_none() || self.is_wildcard() && !self.flags.share_threshold
    }
}
