//! What changes from one policy to another: for each limit whether it becomes looser or tighter, by its bounds, and
//! what becomes of the counts it has; for each rule what else changes.
//!
//! Words are compared by nobody: what a limit admits is asked of its closed forms, over spans people think in. A limit
//! may be looser over a second and tighter over a day, and is then told as both.

mod limits;
mod rules;
mod settings;

use std::fmt;

use crate::policy::Policy;

/// What changes from one policy to another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The limits, those of the new policy in its order, then those that are gone. Unchanged ones are left out.
    pub limits: Vec<LimitDiff>,
    /// What else changes in rules, in the same order.
    pub rules: Vec<RuleDiff>,
    /// What changes outside of rules.
    pub settings: Vec<Change>,
}

/// What changes of one limit, or of one of its plans or overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitDiff {
    /// The name, `rule/limit`; of one that is gone, its old one.
    pub name: String,
    /// The plan, or the value of the key, whose terms these are.
    pub whose: Option<String>,
    /// The name it had in the old policy, when it had another.
    pub renamed_from: Option<String>,
    /// Whether it admits more or less.
    pub strictness: Strictness,
    /// What becomes of its counts.
    pub fate: Fate,
    /// What changes, in figures: bounds over spans first.
    pub changes: Vec<Change>,
    /// What to do about a fate that was perhaps not meant; empty when there is nothing.
    pub hint: String,
}

/// Whether a limit admits more or less than before.
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
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

/// What becomes of a limit's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// They go on as they are.
    Kept,
    /// They go on and are held against smaller numbers: whoever used more is refused until that is over.
    Clamped,
    /// They go on under another algorithm: the units in use are charged there.
    Carried,
    /// Every key begins with nothing used.
    Fresh,
    /// They are forgotten in their own time.
    Dropped,
}

/// What changes of one rule, its limits apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDiff {
    /// The rule's name.
    pub name: String,
    /// Whether the rule is new, gone or changed.
    pub kind: RuleChange,
    /// What changes.
    pub changes: Vec<Change>,
}

/// What happens to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleChange {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is there in both.
    Changed,
}

/// One thing that changes: `in any 1m: 10 -> 20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is.
    pub what: String,
    /// What it was.
    pub before: String,
    /// What it becomes.
    pub after: String,
}

impl Diff {
    /// Compares two policies.
    pub fn between(old: &Policy, new: &Policy) -> Self {
        Self {
            limits: limits::compare(old, new),
            rules: rules::compare(old, new),
            settings: settings::compare(old, new),
        }
    }

    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.rules.is_empty() && self.settings.is_empty()
    }
}

impl Change {
    pub(crate) fn new(what: impl Into<String>, before: impl fmt::Display, after: impl fmt::Display) -> Self {
        Self { what: what.into(), before: before.to_string(), after: after.to_string() }
    }

    /// Returns the change of something that is written alike in both, `None` when it is.
    pub(crate) fn of(what: &str, before: impl fmt::Display, after: impl fmt::Display) -> Option<Self> {
        let change = Self::new(what, before, after);
        (change.before != change.after).then_some(change)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.what, self.before, self.after)
    }
}

impl LimitDiff {
    /// Returns whether no key can have had a count under it.
    pub fn is_new(&self) -> bool {
        self.strictness == Strictness::Added
    }
}

impl Strictness {
    /// Returns whether more is admitted, over some span at least. A limit that is gone admits everything.
    pub fn is_looser(self) -> bool {
        matches!(self, Self::Looser | Self::Mixed | Self::Removed)
    }

    /// Returns whether less is admitted, over some span at least.
    pub fn is_tighter(self) -> bool {
        matches!(self, Self::Tighter | Self::Mixed | Self::Added)
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Looser => "looser",
            Self::Tighter => "tighter",
            Self::Mixed => "looser and tighter",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

impl Fate {
    /// Returns the words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Kept => "counts kept",
            Self::Clamped => "counts clamped",
            Self::Carried => "counts carried over",
            Self::Fresh => "starts fresh",
            Self::Dropped => "counts dropped",
        }
    }
}

impl RuleChange {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}
