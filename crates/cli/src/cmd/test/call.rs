//! Steps that are calls of Envoy's about descriptors.

use serde_json::{Value, json};
use tidegate::policy_file::suite::{Call, DescriptorExpect};
use tidegate::policy_file::{Counting, Descriptor, Policy};
use tidegate::why::Why;
use tidegate::{
    CheckOptions, DescriptorAnswer, DescriptorAsk, DescriptorStatus, DescriptorsVerdict, LimitDecision,
    Snapshot, Verdict,
};

use super::compare::Difference;

/// What was decided of a call.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) verdict: Verdict,
    answers: Vec<DescriptorAnswer>,
    /// Each descriptor as people read it, with the rules that apply to it.
    descriptors: Vec<(String, Vec<String>)>,
}

/// Asks about a call.
pub(super) async fn ask(in_force: &Snapshot, policy: &Policy, call: &Call, options: CheckOptions) -> Told {
    let entries: Vec<Vec<(&str, &str)>> = call
        .descriptors
        .iter()
        .map(|one| one.entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
        .collect();
    let asks: Vec<DescriptorAsk<'_>> = entries
        .iter()
        .zip(&call.descriptors)
        .map(|(entries, one)| {
            let descriptor = Descriptor { domain: &call.domain.name, entries };
            DescriptorAsk { descriptor, hits: one.hits, limit: None }
        })
        .collect();
    let counting = policy.envoy.as_ref().map_or(Counting::AllOrNothing, |face| face.counting);
    let DescriptorsVerdict { verdict, answers } = in_force.check_descriptors(&asks, counting, options).await;
    let rule = |index: &usize| policy.rules.get(*index).map(|rule| rule.name.clone());
    let rules = answers.iter().map(|answer| answer.rules.iter().filter_map(rule).collect());
    let descriptors = asks.iter().map(|ask| ask.descriptor.to_string()).zip(rules).collect();
    Told { verdict, answers, descriptors }
}

impl Told {
    /// Returns the rules that apply to any of the descriptors, each once; the fallback where one of its limits was asked.
    pub(super) fn applying(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let fallback = self.verdict.decisions().iter().any(|one| one.limit.name().starts_with("fallback/"));
        let rules = self.descriptors.iter().flat_map(|(_, rules)| rules).map(String::as_str);
        for name in rules.chain(fallback.then_some("fallback")) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns what is left of a limit: the least, where several of its keys were asked.
    pub(super) fn remaining(&self, limit: &str) -> String {
        let asked = self.verdict.decisions().iter().filter(|one| one.limit.name() == limit);
        let least = asked.map(|one| one.decision.remaining).min();
        least.map_or_else(|| "it was not asked".to_owned(), |least| least.to_string())
    }

    /// Returns what is otherwise than expected of the descriptors.
    pub(super) fn differences(&self, expected: &[DescriptorExpect]) -> Vec<Difference> {
        let mut list = Vec::new();
        for ((expect, answer), number) in expected.iter().zip(&self.answers).zip(1..) {
            let mut differ = |what: &str, expected: String, got: String| {
                if expected != got {
                    let field = format!("descriptor {number} {what}");
                    list.push(Difference { place: expect.place, field, expected, got });
                }
            };
            let by = self.told_by(answer);
            if let Some(status) = expect.status {
                differ("status", status.name().to_owned(), status_name(answer.status).to_owned());
            }
            if let Some(limit) = &expect.limit {
                let wanted = limit.as_ref().map_or("none", |limit| &limit.name);
                differ("limit", wanted.to_owned(), by.map_or("none", |one| one.limit.name()).to_owned());
            }
            if let Some(remaining) = expect.remaining {
                let left = by.map(|one| one.decision.remaining.to_string());
                let left = left.unwrap_or_else(|| "no limit is told of it".to_owned());
                differ("remaining", remaining.to_string(), left);
            }
        }
        list
    }

    fn told_by(&self, answer: &DescriptorAnswer) -> Option<&LimitDecision> {
        match answer.status {
            DescriptorStatus::Decided { by, .. } => self.verdict.decisions().get(by),
            DescriptorStatus::Unmatched | DescriptorStatus::Unlimited => None,
        }
    }

    /// Returns a line for each descriptor, and one for each limit that was asked.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((descriptor, rules), answer) in self.descriptors.iter().zip(&self.answers) {
            let rules = if rules.is_empty() { "no rule".to_owned() } else { rules.join(", ") };
            lines.push(format!("{descriptor}: {}, by {rules}", status_name(answer.status)));
        }
        for one in self.verdict.decisions() {
            let (left, most) = (one.decision.remaining, one.decision.limit);
            lines.push(format!("  {}: {left} of {most} left", one.limit.name()));
        }
        lines
    }

    /// Returns the descriptors as JSON.
    pub(super) fn json(&self) -> Value {
        let each = self.descriptors.iter().zip(&self.answers).map(|((descriptor, rules), answer)| {
            let limit = self.told_by(answer).map(|one| one.limit.name());
            json!({ "descriptor": descriptor, "rules": rules, "status": status_name(answer.status), "limit": limit })
        });
        each.collect()
    }
}

/// Returns what a test file calls what is said of a descriptor.
pub(crate) fn status_name(status: DescriptorStatus) -> &'static str {
    match status {
        DescriptorStatus::Unmatched => "unmatched",
        DescriptorStatus::Unlimited => "unlimited",
        DescriptorStatus::Decided { over: true, .. } => "over",
        DescriptorStatus::Decided { over: false, .. } => "ok",
    }
}

/// Returns a call as a line: `domain shop, 2 descriptors`.
pub(super) fn line(call: &Call) -> String {
    let count = call.descriptors.len();
    let of = if count == 1 { "1 descriptor".to_owned() } else { format!("{count} descriptors") };
    format!("domain {}, {of}", call.domain.name)
}

/// What is behind a verdict: of a request, or of a call.
#[derive(Debug, Clone)]
pub(super) enum Behind {
    Request(Box<Why>),
    Call(Box<Told>),
}

impl Behind {
    pub(super) fn verdict(&self) -> &Verdict {
        match self {
            Self::Request(why) => &why.verdict,
            Self::Call(told) => &told.verdict,
        }
    }

    /// Returns the rules that apply.
    pub(super) fn applying(&self) -> Vec<&str> {
        match self {
            Self::Request(why) => why.applying().collect(),
            Self::Call(told) => told.applying(),
        }
    }
}
