//! From the store's answer to a verdict. Pure.

use smallvec::SmallVec;
use tidegate_algorithms::{Answer, Retry, Span};
use tidegate_store::Decided;

use crate::limit::{Limit, OnStoreFailure};
use crate::limiter::Registered;
use crate::plan::Plan;
use crate::verdict::{LimitDecision, Ruling, Verdict};

/// Combines the decisions of a plan's limits.
pub(crate) fn decided(plan: &Plan, limits: &[Registered], answer: Decided) -> Verdict {
    let decisions: SmallVec<_> = plan
        .limits(limits)
        .zip(answer.outcomes)
        .map(|(limit, outcome)| LimitDecision {
            limit: limit.clone(),
            decision: outcome.decision,
            receipt: outcome.receipt,
        })
        .collect();
    let ruling = ruling(&decisions);
    Verdict { decisions, at: Some(answer.at), ..Verdict::without_decisions(ruling) }
}

/// Combines the limits' choices for a store that does not answer.
pub(crate) fn store_down<'a>(limits: impl Iterator<Item = &'a Limit>) -> Verdict {
    let mut enforced = limits.filter(|limit| !limit.is_shadow());
    let denies = enforced.any(|limit| limit.store_failure() == OnStoreFailure::Deny);
    Verdict::without_decisions(if denies { Ruling::StoreDown } else { Ruling::Uncounted })
}

fn ruling(decisions: &[LimitDecision]) -> Ruling {
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
