//! What is told of a request or a descriptor: its rules, its keys, and what every limit says.

use std::collections::HashMap;

use tidegate_policy as file;
use tidegate_policy::{Fit, Matched, RuleTrace, Seen, Whose};

use super::{ChosenTerms, KeyWhy, LimitWhy, Looked, RuleWhy};
use crate::compile::Compiled;
use crate::plan::Terms;
use crate::verdict::{BadKey, LimitDecision, Ruling, Verdict};

/// What is told of one request, or of one descriptor of a call.
pub(super) struct Telling<'a> {
    pub(super) compiled: &'a Compiled,
    pub(super) seen: &'a Seen<'a>,
    pub(super) cost: Option<u32>,
    pub(super) verdict: &'a Verdict,
    /// What it is among others, if it is a descriptor of a call.
    pub(super) part: Option<Part<'a>>,
}

/// What a descriptor is in its call.
pub(super) struct Part<'a> {
    /// The places of its limits in the plan of the call; none when the call is turned away.
    pub(super) places: &'a [usize],
    /// The rules that another one replaces in this call, each with that one.
    pub(super) replaced: &'a HashMap<&'a str, &'a str>,
    /// Whether no enforced limit looks at any descriptor, so that the fallback does.
    pub(super) is_left: bool,
}

impl Telling<'_> {
    pub(super) fn rules(&self) -> Vec<RuleWhy> {
        let policy = &self.compiled.policy;
        let mut rules: Vec<_> = policy.trace(self.seen).iter().map(|trace| self.rule(trace)).collect();
        if let Some(fallback) = policy.fallback_for(self.seen) {
            let (applies, because) = match &self.part {
                Some(_) if self.is_unlimited() => (false, "is not for what is unlimited"),
                Some(part) if part.is_left => {
                    (true, "applies, since no enforced limit looked at any descriptor")
                }
                Some(_) => (false, "is for calls of which no enforced limit looks at any descriptor"),
                None if self.reaches_fallback() => (true, "applies, since no enforced limit looked"),
                None => (false, "is for what no enforced limit looks at"),
            };
            rules.push(RuleWhy {
                name: fallback.rule.name.clone(),
                applies,
                because: because.to_owned(),
                limits: if applies { self.limits(&fallback) } else { Vec::new() },
            });
        }
        rules
    }

    fn rule(&self, trace: &RuleTrace<'_>) -> RuleWhy {
        let (name, because) = (trace.rule.name.clone(), because(&trace.fit));
        let none = |because| RuleWhy { name: name.clone(), applies: false, because, limits: Vec::new() };
        let Some(matched) = trace.fit.matched() else { return none(because) };
        if let Some(by) = self.replaced_by(trace.rule) {
            return none(format!("{because}, but {by} replaces it"));
        }
        let envoy = &trace.rule.envoy;
        let because = match (envoy.unlimited, envoy.quota) {
            (true, _) => format!("{because} and limits nothing: it is unlimited"),
            (_, true) => {
                format!("{because}; it is a quota, which refuses only when all quotas of the call do")
            }
            _ => because,
        };
        RuleWhy { name, applies: true, because, limits: self.limits(matched) }
    }

    /// Returns the rule that replaces another one in the call, if one does.
    fn replaced_by(&self, rule: &file::Rule) -> Option<&str> {
        self.part.as_ref()?.replaced.get(rule.name.as_str()).copied()
    }

    /// Returns the rules that apply and that no other replaces.
    fn applying(&self) -> impl Iterator<Item = Matched<'_>> {
        let matching = self.compiled.policy.matching(self.seen);
        matching.filter(|matched| self.replaced_by(matched.rule).is_none())
    }

    fn is_unlimited(&self) -> bool {
        self.applying().any(|matched| matched.rule.envoy.unlimited)
    }

    /// Reads the keys that are declared under every rule that applies, since a path may have its own parts for each.
    pub(super) fn keys(&self) -> Vec<KeyWhy> {
        let policy = &self.compiled.policy;
        let mut keys: Vec<KeyWhy> = Vec::new();
        for matched in policy.matching(self.seen).chain(policy.fallback_for(self.seen)) {
            for part in policy.show_keys(&matched.facts).flatten() {
                match keys.iter_mut().find(|known| known.name == part.name) {
                    None => keys.push(KeyWhy::of(part)),
                    Some(known) if known.value.is_none() && part.value.is_some() => *known = KeyWhy::of(part),
                    Some(_) => {}
                }
            }
        }
        keys
    }

    /// Returns whether every enforced limit of the rules that apply leaves the request alone.
    fn reaches_fallback(&self) -> bool {
        !self.is_looked_at() && !matches!(self.verdict.ruling(), Ruling::Denied(_))
    }

    /// Returns whether an enforced limit of the rules that apply looks.
    pub(super) fn is_looked_at(&self) -> bool {
        let looks = |matched: &Matched<'_>, limit: &file::Limit| {
            let mode = match self.read(limit, matched, &mut Vec::new()) {
                Ok(None) => return false,
                Ok(Some(terms)) => limit.mode_of(terms.variant),
                Err(_) => limit.mode,
            };
            mode == file::Mode::Enforce
        };
        self.applying().any(|matched| matched.rule.limits.iter().any(|limit| looks(&matched, limit)))
    }

    fn limits(&self, matched: &Matched<'_>) -> Vec<LimitWhy> {
        matched.rule.limits.iter().map(|limit| self.limit(limit, matched)).collect()
    }

    fn limit(&self, limit: &file::Limit, matched: &Matched<'_>) -> LimitWhy {
        let shown = limit.key.show(&matched.facts).unwrap_or_default();
        let key = shown.into_iter().map(KeyWhy::of);
        let mut bytes = Vec::new();
        let looked = match self.read(limit, matched, &mut bytes) {
            // Of a descriptor that no rule has anything for, what cannot be read is left out.
            Err(_) if self.part.is_some() && matched.index.is_none() => Looked::Skipped,
            Err(bad) => Looked::Unreadable(bad),
            Ok(None) => Looked::Skipped,
            Ok(Some(terms)) => Looked::Asked {
                units: terms.cost,
                terms: chosen(limit, terms.variant),
                decision: self.decision(&limit.name).cloned().map(Box::new),
            },
        };
        let is_counted = matches!(looked, Looked::Asked { .. }) && !limit.key.is_global();
        let counted = is_counted.then(|| (limit.storage_name().to_owned(), bytes));
        let mut notes =
            if matches!(looked, Looked::Asked { .. }) { limit.unheeded(&matched.facts) } else { Vec::new() };
        notes.extend(limit.exceptions(&matched.facts).into_iter().map(exception));
        LimitWhy { name: limit.name.clone(), key: key.collect(), looked, notes, counted }
    }

    fn read(
        &self,
        limit: &file::Limit,
        matched: &Matched<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Terms>, BadKey> {
        self.compiled.read(limit, (matched, None), self.cost, out)
    }

    fn decision(&self, limit: &str) -> Option<&LimitDecision> {
        // Several descriptors of a call may ask one limit, each about another key.
        let own = |decision: &&LimitDecision| {
            self.part.as_ref().is_none_or(|part| part.places.contains(&decision.place))
        };
        self.verdict.decisions().iter().filter(own).find(|decision| decision.limit.name() == limit)
    }
}

/// Says why a rule applies or does not, and what that means for a rule that refuses.
fn because(fit: &Fit<'_>) -> String {
    match fit.matched().and_then(|matched| Some((matched.rule.refuse.as_ref()?, matched.rule.mode))) {
        Some((refuse, file::Mode::Enforce)) => format!("{fit} and lets nothing through: {}", refuse.because),
        Some((refuse, file::Mode::Shadow)) => {
            format!("{fit} and would let nothing through, were it no shadow: {}", refuse.because)
        }
        None => fit.to_string(),
    }
}

/// Says what an operator's exception does with a request, until when, and why.
fn exception(overlay: &file::overlay::Overlay) -> String {
    let whose = if overlay.key.is_some() { "this key" } else { "everybody" };
    let because: String = overlay.because.chars().flat_map(char::escape_debug).collect();
    let until = file::overlay::instant(overlay.until);
    format!("overridden for {whose} until {until}: {}, because \"{because}\"", overlay.set)
}

/// Says which terms a limit was asked under, if it has several.
fn chosen(limit: &file::Limit, variant: usize) -> Option<ChosenTerms> {
    let (whose, _) = limit.variants().nth(variant)?;
    Some(match whose {
        Whose::Everybody => return None,
        Whose::Plan(name) => {
            let plans = limit.plans.as_ref()?;
            let because = if plans.default == variant {
                format!("is the default plan; others are named by {}", plans.by())
            } else {
                format!("is the plan that {} names", plans.by())
            };
            ChosenTerms { name: name.to_owned(), because }
        }
        Whose::Key(value) => {
            let found = limit.overrides.iter().find(|one| one.value == value).map(|one| one.because.as_str());
            let made = || limit.overlays.list().iter().find(|one| one.key.as_deref() == Some(value));
            let because = found.or_else(|| made().map(|one| one.because.as_str())).unwrap_or_default();
            ChosenTerms { name: value.to_owned(), because: format!("has its own terms: {because}") }
        }
    })
}
