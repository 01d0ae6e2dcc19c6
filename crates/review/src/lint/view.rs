//! A policy as the rules of the review look at it.

use tidegate_algorithms::{Quota, Span, Timestamp};
use tidegate_policy::{Class, Code, Limit, Mode, Policy, Rule, StoreChoice};

use super::reach;
use crate::guess::{DAY, Guess};

/// The chance within a year that is borne where the file does not say one.
pub const USUAL_BUDGET: f64 = 0.01;

/// A policy, and what is derived from it more than once.
pub(super) struct View<'p> {
    pub(super) policy: &'p Policy,
    /// An instant of today, if it is known.
    pub(super) today: Option<Timestamp>,
    /// By rule, the numbers of the others that cover it, looked up once; only of rules that are asked for what they meet.
    covering: Vec<Vec<usize>>,
}

/// A rule with its number; the fallback is the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'p> {
    pub(super) index: usize,
    pub(super) rule: &'p Rule,
}

impl Subject<'_> {
    pub(super) fn class(self) -> Class {
        self.rule.class
    }

    /// Returns whether the rule guards who somebody is.
    pub(super) fn is_sign_in(self) -> bool {
        matches!(self.rule.class, Class::Verify | Class::Recovery | Class::Login)
    }
}

impl<'p> View<'p> {
    pub(super) fn of(policy: &'p Policy, today: Option<Timestamp>) -> Self {
        let rules = &policy.rules;
        let covering = rules.iter().enumerate().map(|(index, rule)| {
            if !rule.class.is_guarded() && rule.guesses.is_none() {
                return Vec::new();
            }
            let others = rules.iter().enumerate().filter(|(other, _)| *other != index);
            let limiting = others.filter(|(_, other)| !other.limits.is_empty() && other.covers(rule));
            limiting.map(|(other, _)| other).collect()
        });
        Self { policy, today, covering: covering.collect() }
    }

    pub(super) fn rules(&self) -> impl Iterator<Item = Subject<'p>> + use<'p> {
        self.policy
            .rules
            .iter()
            .chain(&self.policy.fallback)
            .enumerate()
            .map(|(index, rule)| Subject { index, rule })
    }

    /// Returns the rules that guard who somebody is.
    pub(super) fn sign_ins(&self) -> impl Iterator<Item = Subject<'p>> + use<'p> {
        self.rules().filter(|subject| {
            subject.is_sign_in() && subject.rule.refuse.is_none() && !subject.rule.envoy.unlimited
        })
    }

    /// Returns every limit with its rule.
    pub(super) fn limits(&self) -> impl Iterator<Item = (Subject<'p>, &'p Limit)> + use<'p> {
        self.rules().flat_map(|subject| subject.rule.limits.iter().map(move |limit| (subject, limit)))
    }

    pub(super) fn rule(&self, index: usize) -> Option<&'p Rule> {
        self.rules().nth(index).map(|subject| subject.rule)
    }

    /// Returns whether a limit refuses. A file that is in shadow mode as a whole is looked at as what it is to become.
    pub(super) fn refuses(&self, limit: &Limit) -> bool {
        self.policy.mode == Mode::Shadow || limit.mode == Mode::Enforce
    }

    /// Returns the limits that refuse and that every request of a rule meets: its own, and those of rules that cover it.
    pub(super) fn met_by(&self, subject: Subject<'p>) -> Vec<&'p Limit> {
        let covering = self.covering.get(subject.index).into_iter().flatten();
        let covering = covering.filter_map(|index| self.policy.rules.get(*index));
        let rules = std::iter::once(subject.rule).chain(covering);
        rules.flat_map(|rule| &rule.limits).filter(|limit| self.refuses(limit)).collect()
    }

    /// Returns those of the limits a rule's requests meet that count all tries at one account, with their loosest terms.
    pub(super) fn on_account(&self, subject: Subject<'p>) -> Vec<(&'p Limit, Quota)> {
        let met = self.met_by(subject).into_iter().filter(|limit| reach::holds_for_one(&limit.key));
        met.map(|limit| (limit, loosest(limit))).collect()
    }

    /// Returns the code that a rule's requests guess at.
    pub(super) fn code(&self, rule: &Rule) -> Option<(&'p Code, Guess)> {
        let name = rule.guesses.as_deref()?;
        let code = self.policy.codes.iter().find(|code| code.name == name)?;
        Guess::of(code).ok().map(|guess| (code, guess))
    }

    /// Returns in how many places each count is kept apart: one a region, and one an instance in memory.
    pub(super) fn copies(&self) -> u32 {
        let instances = if self.is_in_memory() { self.policy.instances } else { 1 };
        self.policy.topology.regions.saturating_mul(instances)
    }

    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.policy.store, StoreChoice::Memory(_))
    }

    /// Returns the chance within a year that is borne, and whether the file says it.
    pub(super) fn budget(&self) -> (f64, bool) {
        let said = self.policy.budget.map(|budget| budget.guess_per_year);
        (said.unwrap_or(USUAL_BUDGET), said.is_some())
    }
}

/// Returns the terms of a limit that let most through in a day.
pub(super) fn loosest(limit: &Limit) -> Quota {
    let terms = limit.variants().map(|(_, terms)| terms.quota);
    terms.max_by_key(|quota| quota.most_from_idle(DAY)).unwrap_or(limit.terms.quota)
}

/// Returns whether a limit looks back a day or more.
pub(super) fn is_long(quota: &Quota) -> bool {
    quota.window() >= DAY
}

/// Returns how many units a quota nominally allows in how long, as words.
pub(super) fn nominal(quota: &Quota) -> String {
    format!("{} in {}", quota.nominal(), quota.window())
}

/// An hour.
pub(super) const HOUR: Span = Span::from_secs(3_600);
