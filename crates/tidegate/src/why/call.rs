//! Why a call about Envoy's descriptors gets the verdict it gets: of each descriptor what is told of a request.

use std::collections::HashMap;

use http::HeaderMap;
use tidegate_policy::{Counting, Mode, Policy, Seen};

use super::telling::{Part, Telling};
use super::{KeyWhy, LimitWhy, RuleWhy};
use crate::descriptors::{DescriptorAnswer, DescriptorAsk, DescriptorStatus, DescriptorsVerdict};
use crate::limiter::Snapshot;
use crate::options::CheckOptions;
use crate::verdict::{LimitDecision, Ruling, Verdict};

/// What is behind the verdict on a call.
#[derive(Debug, Clone)]
pub struct CallWhy {
    /// Every descriptor, in the order of the call.
    pub descriptors: Vec<DescriptorWhy>,
    /// The verdict on the call.
    pub verdict: Verdict,
}

/// What is behind the answer for one descriptor.
#[derive(Debug, Clone)]
pub struct DescriptorWhy {
    /// Every key that the file declares, as it was read; see [`Why::keys`](super::Why::keys).
    pub keys: Vec<KeyWhy>,
    /// Every rule, in the order of the file, the fallback last; one that another replaces does not apply. None where the call
    /// brings a limit that stands in for them.
    pub rules: Vec<RuleWhy>,
    /// What is said of it.
    pub answer: DescriptorAnswer,
}

impl CallWhy {
    /// Returns the limit that is told of a descriptor's answer, with what it said.
    pub fn told(&self, answer: &DescriptorAnswer) -> Option<&LimitDecision> {
        match answer.status {
            DescriptorStatus::Decided { by, .. } => self.verdict.decisions().get(by),
            DescriptorStatus::Unmatched | DescriptorStatus::Unlimited => None,
        }
    }
}

impl DescriptorWhy {
    /// Returns the limits of the rules that apply, in order.
    pub fn limits(&self) -> impl Iterator<Item = &LimitWhy> {
        self.rules.iter().flat_map(|rule| &rule.limits)
    }
}

impl Snapshot {
    /// Says why a call about descriptors would get the verdict it would get at this moment. It is a look: nothing is charged.
    ///
    /// Without a policy there is no rule to speak of.
    pub async fn why_descriptors(
        &self,
        asks: &[DescriptorAsk<'_>],
        counting: Counting,
        options: CheckOptions,
    ) -> CallWhy {
        let options = CheckOptions { peek: true, ..options };
        let DescriptorsVerdict { verdict, answers } = self.check_descriptors(asks, counting, options).await;
        // Planned a second time, for which limits are which descriptor's; of a call that is turned away, none.
        let call = self.inner.call(asks, counting, options).unwrap_or_default();
        let none = |answer| DescriptorWhy { keys: Vec::new(), rules: Vec::new(), answer };
        let Some(compiled) = &self.inner.policy else {
            return CallWhy { descriptors: answers.into_iter().map(none).collect(), verdict };
        };
        let headers = HeaderMap::new();
        let now = compiled.dates.at(options);
        let seen: Vec<Seen<'_>> =
            asks.iter().map(|ask| compiled.policy.see_descriptor(ask.descriptor, &headers, now)).collect();
        let replaced = replaced(&compiled.policy, asks, &seen);
        let telling = |(index, seen), is_left| {
            let part = Part { places: call.places(index), replaced: &replaced, is_left };
            let cost = asks.get(index).and_then(|ask: &DescriptorAsk<'_>| ask.hits).or(options.cost);
            Telling { compiled, seen, cost, verdict: &verdict, part: Some(part) }
        };
        let stands_in = |ask: &DescriptorAsk<'_>| ask.limit.is_some();
        let own = || seen.iter().enumerate().zip(asks);
        let is_left = !own().any(|(one, ask)| match &ask.limit {
            Some(limit) => !limit.is_shadow() && compiled.policy.mode == Mode::Enforce,
            None => telling(one, false).is_looked_at(),
        }) && !matches!(verdict.ruling(), Ruling::Denied(_));
        let descriptors = own().zip(answers).map(|((one, ask), answer)| {
            if stands_in(ask) {
                return none(answer);
            }
            let telling = telling(one, is_left);
            DescriptorWhy { keys: telling.keys(), rules: telling.rules(), answer }
        });
        CallWhy { descriptors: descriptors.collect(), verdict: verdict.clone() }
    }
}

/// Returns the rules that another one replaces in a call, each with the first that does.
fn replaced<'a>(
    policy: &'a Policy,
    asks: &[DescriptorAsk<'_>],
    seen: &'a [Seen<'a>],
) -> HashMap<&'a str, &'a str> {
    let mut replaced = HashMap::new();
    for (_, seen) in asks.iter().zip(seen).filter(|(ask, _)| ask.limit.is_none()) {
        for matched in policy.matching(seen) {
            let others = matched.rule.envoy.replaces.iter().filter(|name| **name != matched.rule.name);
            for name in others {
                replaced.entry(name.as_str()).or_insert(matched.rule.name.as_str());
            }
        }
    }
    replaced
}
