//! From a call's descriptors to what is asked: which rules apply, which of them count, and the plan of their limits.

use std::collections::HashSet;
use std::sync::Arc;

use http::HeaderMap;
use smallvec::SmallVec;
use tidegate_policy as file;
use tidegate_policy::{Descriptor, Matched, Seen};

use super::DescriptorAsk;
use crate::compile::Compiled;
use crate::inner::Inner;
use crate::options::CheckOptions;
use crate::plan::Plan;
use crate::policy::{Reading, denial};
use crate::verdict::Ruling;

/// The name under which all limits are counted that stand in for what the policy says. No rule can be called so.
const STANDING_IN: &str = "(descriptor)";

/// What a call asks.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) plan: Plan,
    pub(super) parts: SmallVec<[Part; 1]>,
}

/// What is asked about one of its descriptors.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) rules: SmallVec<[usize; 2]>,
    pub(super) unlimited: bool,
    /// The places of its limits in the plan.
    pub(super) places: SmallVec<[usize; 4]>,
    /// Those of its limits that refuse only with all others of their kind.
    pub(super) quotas: SmallVec<[usize; 2]>,
}

/// A descriptor's rules, those that replace others and those that are replaced among them.
type Applying<'a> = SmallVec<[Matched<'a>; 1]>;
type AllSeen<'a> = SmallVec<[Seen<'a>; 1]>;

impl Call {
    /// Returns the places in the plan of the limits of one descriptor.
    pub(crate) fn places(&self, descriptor: usize) -> &[usize] {
        self.parts.get(descriptor).map_or(&[], |part| &part.places)
    }

    pub(super) fn has_quota(&self) -> bool {
        self.parts.iter().any(|part| !part.quotas.is_empty())
    }
}

impl Inner {
    /// Plans a call.
    ///
    /// # Errors
    /// With the ruling when no store has to be asked for it.
    pub(crate) fn call(
        &self,
        asks: &[DescriptorAsk<'_>],
        counting: file::Counting,
        options: CheckOptions,
    ) -> Result<Call, Ruling> {
        let mut call = Call { parts: asks.iter().map(|_| Part::default()).collect(), ..Call::default() };
        if let Some(compiled) = &self.policy {
            compiled.plan_call(self, asks, options, &mut call)?;
        } else {
            for (ask, part) in asks.iter().zip(&mut call.parts) {
                self.stand_in(ask, (&mut call.plan, part), false);
            }
        }
        if counting == file::Counting::Each {
            call.plan.watch(0..call.plan.len());
        }
        Ok(call)
    }

    /// Plans the limit that stands in for what the policy says; returns whether there is an enforced one.
    fn stand_in(&self, ask: &DescriptorAsk<'_>, (plan, part): (&mut Plan, &mut Part), shadow: bool) -> bool {
        let Some(limit) = &ask.limit else { return false };
        let limit = if shadow { limit.clone().with_shadow(true) } else { limit.clone() };
        let cost = ask.hits.unwrap_or(limit.cost());
        part.places.push(plan.len());
        self.push_own(plan, (&limit, &Arc::from(STANDING_IN)), cost, |out| write_key(ask.descriptor, out));
        !limit.is_shadow()
    }
}

impl Compiled {
    fn plan_call(
        &self,
        inner: &Inner,
        asks: &[DescriptorAsk<'_>],
        options: CheckOptions,
        call: &mut Call,
    ) -> Result<(), Ruling> {
        if !options.peek {
            self.count_request();
        }
        let shadow = self.policy.mode == file::Mode::Shadow;
        let headers = HeaderMap::new();
        let now = self.dates.at(options);
        let seen: AllSeen<'_> =
            asks.iter().map(|ask| self.policy.see_descriptor(ask.descriptor, &headers, now)).collect();
        let applying = self.applying(asks, &seen, options);
        let mut enforced = false;
        for (index, (ask, matched)) in asks.iter().zip(&applying).enumerate() {
            let Some(part) = call.parts.get_mut(index) else { continue };
            if ask.limit.is_some() {
                enforced |= inner.stand_in(ask, (&mut call.plan, part), shadow);
                continue;
            }
            let options = CheckOptions { cost: ask.hits.or(options.cost), ..options };
            enforced |= self.plan_part(matched, options, &mut call.plan, part)?;
        }
        if !enforced {
            self.plan_fallback(asks, &seen, options, call);
        }
        Ok(())
    }

    /// Returns each descriptor's rules but those that are replaced, and counts once a call the rules that found something.
    fn applying<'a>(
        &'a self,
        asks: &[DescriptorAsk<'_>],
        seen: &'a [Seen<'a>],
        options: CheckOptions,
    ) -> SmallVec<[Applying<'a>; 1]> {
        let all = asks.iter().zip(seen).map(|(ask, seen)| {
            let stands_in = ask.limit.is_some();
            let applying = self.policy.matching(seen).filter(|_| !stands_in);
            applying.collect::<Applying<'a>>()
        });
        let mut all: SmallVec<[Applying<'a>; 1]> = all.collect();
        let mut found: SmallVec<[&Matched<'a>; 4]> = all.iter().flatten().collect();
        found.sort_unstable_by_key(|matched| matched.index);
        found.dedup_by_key(|matched| matched.index);
        for matched in found {
            self.count_match(matched, options);
        }
        let replaced: HashSet<&'a String> = all
            .iter()
            .flatten()
            .flat_map(|matched| {
                let rule: &'a file::Rule = matched.rule;
                rule.envoy.replaces.iter().filter(move |name| **name != rule.name)
            })
            .collect();
        for applying in &mut all {
            applying.retain(|matched| !replaced.contains(&matched.rule.name));
        }
        all
    }

    /// Plans the limits of one descriptor; returns whether an enforced one is among them.
    fn plan_part(
        &self,
        applying: &[Matched<'_>],
        options: CheckOptions,
        plan: &mut Plan,
        part: &mut Part,
    ) -> Result<bool, Ruling> {
        let mut enforced = false;
        for matched in applying {
            part.rules.extend(matched.index);
            if let Some(denial) = denial(matched.rule) {
                return Err(Ruling::Denied(denial));
            }
            let first = plan.len();
            enforced |=
                self.plan_rule(matched, options, (plan, Reading::Descriptor)).map_err(Ruling::BadRequest)?;
            part.places.extend(first..plan.len());
            if matched.rule.envoy.quota {
                part.quotas.extend(first..plan.len());
                plan.watch(first..plan.len());
            }
            part.unlimited |= matched.rule.envoy.unlimited;
        }
        Ok(enforced)
    }

    /// Plans the fallback for each descriptor that is not unlimited, as far as its keys can be read. Where several ask as
    /// much of one key it is asked once.
    fn plan_fallback(
        &self,
        asks: &[DescriptorAsk<'_>],
        seen: &[Seen<'_>],
        options: CheckOptions,
        call: &mut Call,
    ) {
        let (since, mut counted) = (call.plan.len(), false);
        for ((ask, seen), part) in asks.iter().zip(seen).zip(&mut call.parts) {
            let Some(fallback) = self.policy.fallback_for(seen).filter(|_| !part.unlimited) else { continue };
            if !std::mem::replace(&mut counted, true) {
                self.count_match(&fallback, options);
            }
            let options = CheckOptions { cost: ask.hits.or(options.cost), ..options };
            let first = call.plan.len();
            // A key that cannot be read has its limit left out: there is nothing to turn the call away for.
            let _ = self.plan_rule(&fallback, options, (&mut call.plan, Reading::Leftover));
            part.places.extend(call.plan.merge(since, first));
        }
    }
}

/// Writes the key of a limit that stands in: the domain and all entries, each with its length, so that no two descriptors
/// have one.
fn write_key(descriptor: Descriptor<'_>, out: &mut Vec<u8>) {
    let entries = descriptor.entries.iter().flat_map(|(key, value)| [*key, *value]);
    for text in std::iter::once(descriptor.domain).chain(entries) {
        out.extend_from_slice(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    }
}
