//! What changes from one policy to another: for each limit whether it becomes looser or tighter, by its bounds, and
//! what becomes of the counts it has; for each rule what else changes.
//!
//! Words are compared by nobody: what a limit admits is asked of its closed forms, over spans people think in. A limit
//! may be looser over a second and tighter over a day, and is then told as both. Where nobody can tell which way a change
//! points (another match, another source of a plan) it is told as unclear, and counts as both for whoever denies.
//! Nothing that two policies differ in goes untold: what has no words of its own is caught by comparing the whole.

mod answers;
mod around;
mod bounds;
mod effect;
mod faces;
mod keys;
mod limits;
mod rules;
mod settings;
mod store;

use crate::limit::Terms;
use crate::policy::Policy;

pub use effect::{Change, Effect, Strictness};

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
    /// The plan, or the digest of the key's value, whose terms these are.
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
    /// The name it had in the old policy, when it had another.
    pub renamed_from: Option<String>,
    /// Whether it lets more or less through, as far as its limits do not say.
    pub strictness: Strictness,
    /// What changes.
    pub changes: Vec<Change>,
    /// What to do about what was perhaps not meant; empty when there is nothing.
    pub hint: String,
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

impl Diff {
    /// Returns whether more may be let through than before, by a limit, a rule or a setting.
    pub fn is_looser(&self) -> bool {
        self.strictness().any(Strictness::is_looser)
    }

    /// Returns whether less may be let through than before, by a limit, a rule or a setting.
    pub fn is_tighter(&self) -> bool {
        self.strictness().any(Strictness::is_tighter)
    }

    /// Returns whether some limit that is in both policies starts fresh, or one that seems to be under another name.
    pub fn starts_fresh(&self) -> bool {
        self.limits.iter().any(LimitDiff::starts_fresh)
    }

    fn strictness(&self) -> impl Iterator<Item = Strictness> {
        let limits = self.limits.iter().map(|limit| limit.strictness);
        let rules = self.rules.iter().map(|rule| rule.strictness);
        limits.chain(rules).chain([Strictness::of(&self.settings)])
    }
}

/// Returns whether terms admit more or less than others.
pub(crate) fn strictness(before: &Terms, after: &Terms) -> Strictness {
    Strictness::of(&bounds::bounds(before, after))
}

impl LimitDiff {
    /// Returns whether no key can have had a count under it.
    pub fn is_new(&self) -> bool {
        self.strictness == Strictness::Added
    }

    /// Returns whether keys lose a count that they have: the limit is in both policies and starts fresh, or seems to be one
    /// that is gone, under another name.
    pub fn starts_fresh(&self) -> bool {
        self.fate == Fate::Fresh && (!self.is_new() || !self.hint.is_empty())
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
