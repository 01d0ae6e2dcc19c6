//! Terms that differ: plans, and overrides for single keys.

use std::borrow::Cow;

use tidegate_algorithms::Timestamp;

use crate::date;
use crate::key::Part;
use crate::limit::{Limit, Terms};
use crate::overlay::Found;
use crate::request::{Ambiguous, Facts};
use crate::values::Values;

/// The plans of a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Plans {
    /// The index of the plan of those for whom nothing else is said.
    pub default: usize,
    /// The plans, in the order of the file; at least one.
    pub list: Vec<Plan>,
    pub(crate) by: PlanBy,
}

/// One plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it says and allows.
    pub terms: Terms,
}

/// What tells a request's plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PlanBy {
    /// A header field of a trusted peer, which names the plan.
    Header(Part),
    /// A claim of a verified token, which names the plan.
    Claim(Part),
    /// A key, and the index of the plan of some of its values.
    Table(Part, Values<usize>),
}

/// Other terms for one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The key's value as the file writes it: the value itself, or `sha256:` and its digest.
    pub value: String,
    /// The instant from which it no longer holds, if any.
    pub until: Option<Timestamp>,
    /// Why.
    pub because: String,
    /// What it says and allows.
    pub terms: Terms,
}

/// The terms that were chosen for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Their index among [`Limit::variants`].
    pub variant: usize,
    /// Whether the request names a plan that the limit does not have, so that the default stands in for it.
    pub unknown_plan: bool,
    /// Whether the limit does not look at the request, since an operator has turned it off for a while.
    pub off: bool,
}

impl Choice {
    fn of(variant: usize) -> Self {
        Self { variant, unknown_plan: false, off: false }
    }
}

impl Plans {
    /// Returns the name of what tells a request's plan: a key, or what is read.
    pub fn by(&self) -> &str {
        match &self.by {
            PlanBy::Header(part) | PlanBy::Claim(part) | PlanBy::Table(part, _) => &part.name,
        }
    }

    /// Returns what tells a request's plan.
    pub(crate) fn part(&self) -> &Part {
        match &self.by {
            PlanBy::Header(part) | PlanBy::Claim(part) | PlanBy::Table(part, _) => part,
        }
    }

    /// Returns whether the body has to be read to choose.
    pub fn needs_body(&self) -> bool {
        match &self.by {
            PlanBy::Header(part) | PlanBy::Claim(part) | PlanBy::Table(part, _) => part.needs_body(),
        }
    }

    /// Returns whether the choice depends on the instant of the request.
    pub(crate) fn needs_date(&self) -> bool {
        match &self.by {
            PlanBy::Header(part) | PlanBy::Claim(part) | PlanBy::Table(part, _) => part.needs_date(),
        }
    }

    /// Adds the names of the keys it looks at, each once.
    pub(crate) fn sources<'a>(&'a self, names: &mut Vec<&'a str>) {
        if let PlanBy::Table(part, _) = &self.by {
            part.sources(names);
        }
    }

    /// Returns whether plans are chosen by the same source, and a table gives the same values the same plans. Plans that
    /// only one of the two has, behind all others, make no difference.
    pub(crate) fn chooses_alike(&self, other: &Self) -> bool {
        let names = self.list.iter().zip(&other.list);
        self.by == other.by && names.into_iter().all(|(one, other)| one.name == other.name)
    }

    /// Returns the name of the plan that a request asks for in so many words, whether there is one of that name or not.
    fn asked<'a>(&self, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
        match &self.by {
            PlanBy::Header(part) | PlanBy::Claim(part) => part.text(facts).ok().flatten(),
            PlanBy::Table(..) => None,
        }
    }

    fn choose(&self, facts: &Facts<'_>) -> Result<Choice, Ambiguous> {
        let part = match &self.by {
            PlanBy::Table(part, values) => {
                return Ok(Choice::of(values.read(part, facts)?.unwrap_or(self.default)));
            }
            PlanBy::Header(_) if !facts.client().is_some_and(|client| client.peer_trusted) => {
                return Ok(Choice::of(self.default));
            }
            PlanBy::Header(part) | PlanBy::Claim(part) => part,
        };
        let Some(name) = part.text(facts)? else { return Ok(Choice::of(self.default)) };
        let found = self.list.iter().position(|plan| plan.name == name);
        let variant = found.unwrap_or(self.default);
        Ok(Choice { unknown_plan: found.is_none(), ..Choice::of(variant) })
    }
}

impl Override {
    /// Returns the last day on which it holds, as the file writes it, if it ends.
    pub fn last_day(&self) -> Option<String> {
        self.until.map(date::day_before)
    }

    /// Returns whether it holds at an instant; one that ends does not where the instant is not known.
    pub fn holds(&self, now: Option<Timestamp>) -> bool {
        self.until.is_none_or(|until| now.is_some_and(|now| now < until))
    }
}

impl Limit {
    /// Chooses the terms for a request.
    ///
    /// An exception that an operator has made for the request's key goes before an override of the file, and that before
    /// its plan.
    ///
    /// # Errors
    /// When what chooses can be read in more than one way.
    pub fn choose(&self, facts: &Facts<'_>) -> Result<Choice, Ambiguous> {
        match self.exception_for(facts)? {
            Some(Found::Off) => return Ok(Choice { off: true, ..Choice::of(0) }),
            Some(Found::Terms { first, by_plan }) => {
                let plan = if by_plan { self.choose_plan(facts)? } else { Choice::of(0) };
                let before = self.own_variants().saturating_add(first);
                return Ok(Choice { variant: before.saturating_add(plan.variant), ..plan });
            }
            None if self.is_off() => return Ok(Choice { off: true, ..Choice::of(0) }),
            None => {}
        }
        if let Some(index) = self.override_for(facts)? {
            let before = self.plans.as_ref().map_or(1, |plans| plans.list.len());
            return Ok(Choice::of(before.saturating_add(index)));
        }
        self.choose_plan(facts)
    }

    fn choose_plan(&self, facts: &Facts<'_>) -> Result<Choice, Ambiguous> {
        self.plans.as_ref().map_or(Ok(Choice::of(0)), |plans| plans.choose(facts))
    }

    /// Returns the name of the plan that a request asks for in a header field or a claim: of whoever sends it, so nothing
    /// to show as it is.
    pub fn plan_asked<'a>(&self, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
        self.plans.as_ref()?.asked(facts)
    }

    /// Returns the override for the request's key that no longer holds, if there is one.
    pub(crate) fn ended_override(&self, facts: &Facts<'_>) -> Option<&Override> {
        let found = self.overridden.read(self.key.parts.first()?, facts).ok().flatten()?;
        let now = facts.now()?;
        self.overrides.get(found).filter(|one| !one.holds(Some(now)))
    }

    /// Returns the index of the override that holds for the request's key, if one does.
    pub(crate) fn override_for(&self, facts: &Facts<'_>) -> Result<Option<usize>, Ambiguous> {
        let Some(part) = self.key.parts.first() else { return Ok(None) };
        let found = self.overridden.read(part, facts)?;
        let holds = |index: &usize| self.overrides.get(*index).is_some_and(|one| one.holds(facts.now()));
        Ok(found.filter(holds))
    }
}
