//! Single changes, which way each points, and what several come to.

use std::cmp::Ordering;
use std::fmt;

/// One thing that changes: `in any 1m: 10 -> 20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is.
    pub what: String,
    /// What it was; empty for what is new.
    pub before: String,
    /// What it becomes; empty for what is gone.
    pub after: String,
    /// Which way it points.
    pub effect: Effect,
}

/// Which way a change points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Neither: nobody is let through or kept out by it.
    None,
    /// More is let through.
    Looser,
    /// Less is let through.
    Tighter,
    /// It cannot be told.
    Unclear,
}

/// Whether more or less is let through than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// The same.
    Same,
    /// More, over some span, and less over none.
    Looser,
    /// Less, over some span, and more over none.
    Tighter,
    /// More over some spans and less over others.
    Mixed,
    /// It cannot be told.
    Unclear,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

impl Change {
    /// Returns the change of something that is written alike in both, `None` when it is.
    pub(super) fn of(
        what: impl Into<String>,
        before: impl fmt::Display,
        after: impl fmt::Display,
        effect: Effect,
    ) -> Option<Self> {
        let (before, after) = (before.to_string(), after.to_string());
        (before != after).then(|| Self { what: what.into(), before, after, effect })
    }

    /// Returns what is new.
    pub(super) fn added(what: impl Into<String>, after: impl fmt::Display, effect: Effect) -> Self {
        Self { what: what.into(), before: String::new(), after: after.to_string(), effect }
    }

    /// Returns what is gone.
    pub(super) fn removed(what: impl Into<String>, before: impl fmt::Display, effect: Effect) -> Self {
        Self { what: what.into(), before: before.to_string(), after: String::new(), effect }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.before.as_str(), self.after.as_str()) {
            ("", after) => write!(f, "+ {}: {after}", self.what),
            (before, "") => write!(f, "- {}: {before}", self.what),
            (before, after) => write!(f, "{}: {before} -> {after}", self.what),
        }
    }
}

impl Effect {
    /// Returns the effect of a number that lets more through the greater it is.
    pub(super) fn of_more<T: Ord>(before: &T, after: &T) -> Self {
        match after.cmp(before) {
            Ordering::Greater => Self::Looser,
            Ordering::Less => Self::Tighter,
            Ordering::Equal => Self::None,
        }
    }

    /// Returns what several come to.
    pub(super) fn sum(effects: impl Iterator<Item = Self>) -> Self {
        effects.fold(Self::None, |sum, effect| match (sum, effect) {
            (Self::None, one) | (one, Self::None) => one,
            (one, other) if one == other => one,
            _ => Self::Unclear,
        })
    }
}

impl Strictness {
    /// Sums up which way several changes point.
    pub fn of(changes: &[Change]) -> Self {
        let has = |effect| changes.iter().any(|change| change.effect == effect);
        match (has(Effect::Looser), has(Effect::Tighter), has(Effect::Unclear)) {
            (false, false, false) => Self::Same,
            (true, true, _) => Self::Mixed,
            (_, _, true) => Self::Unclear,
            (true, ..) => Self::Looser,
            (_, true, _) => Self::Tighter,
        }
    }

    /// Returns whether more may be let through, over some span at least. What is gone lets everything through.
    pub fn is_looser(self) -> bool {
        matches!(self, Self::Looser | Self::Mixed | Self::Unclear | Self::Removed)
    }

    /// Returns whether less may be let through, over some span at least.
    pub fn is_tighter(self) -> bool {
        matches!(self, Self::Tighter | Self::Mixed | Self::Unclear | Self::Added)
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Looser => "looser",
            Self::Tighter => "tighter",
            Self::Mixed => "looser and tighter",
            Self::Unclear => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}
