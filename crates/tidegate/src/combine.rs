//! From the store's answer to a verdict. Pure.

use smallvec::SmallVec;
use tidegate_algorithms::{Answer, Retry, Span};
use tidegate_store::Decided;

use crate::inner::Registered;
use crate::plan::Plan;
use crate::verdict::{LimitDecision, Ruling, Verdict};

/// Combines the decisions of a plan's limits.
pub(crate) fn decided(plan: &Plan, limits: &[Registered], answer: Decided) -> Verdict {
    let decisions: SmallVec<_> = plan
        .limits(limits)
        .zip(answer.outcomes)
        .enumerate()
        .map(|(place, (limit, outcome))| {
            LimitDecision::new(limit.clone(), outcome.decision, outcome.receipt, place)
        })
        .collect();
    let ruling = ruling(&decisions);
    Verdict { decisions, at: Some(answer.at), ..Verdict::without_decisions(ruling) }
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
