//! From the store's answer to a verdict. Pure.

use tidegate_algorithms::{Answer, Retry, Span};
use tidegate_store::Decided;

use crate::inner::Registered;
use crate::plan::Plan;
use crate::verdict::{LimitDecision, Ruling, Verdict};

/// Combines the decisions of a plan's limits into a verdict, where it is: one is large, and is not moved about.
pub(crate) fn decided(plan: &Plan, limits: &[Registered], answer: &Decided, verdict: &mut Verdict) {
    for (place, (limit, outcome)) in plan.limits(limits).zip(&answer.outcomes).enumerate() {
        let (decision, receipt) = (outcome.decision, outcome.receipt);
        verdict.decisions.push(LimitDecision::new(limit.clone(), decision, receipt, place));
    }
    verdict.ruling = ruling(&verdict.decisions);
    verdict.at = Some(answer.at);
}

/// Returns what the enforced decisions among these come to.
pub(crate) fn ruling(decisions: &[LimitDecision]) -> Ruling {
    let mut longest: Option<Retry> = None;
    let mut delay = Span::ZERO;
    for decision in decisions.iter().filter(|decision| decision.is_enforced()) {
        match decision.decision.answer {
            Answer::Refuse(retry) => longest = longest.max(Some(retry)),
            Answer::Admit { delay: own } => delay = delay.max(own),
        }
    }
    match longest {
        Some(retry) => Ruling::Refuse { retry },
        None => Ruling::Allow { delay },
    }
}
