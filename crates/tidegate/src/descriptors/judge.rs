//! From the decisions of a call to what is said of it and of each of its descriptors.

use tidegate_algorithms::{Ask, Decision, Retry, Timestamp};
use tidegate_store::{Check, Store as _};

use super::ask::{Call, Part};
use super::{DescriptorAnswer, DescriptorStatus};
use crate::combine;
use crate::inner::Inner;
use crate::options::CheckOptions;
use crate::settle::{Settled, Settlement};
use crate::verdict::{LimitDecision, Ruling, Verdict, tightest};

impl Call {
    /// Returns what is to be said of each descriptor.
    pub(super) fn answers(&self, verdict: &Verdict) -> Vec<DescriptorAnswer> {
        let answer = |part: &Part| {
            let own =
                || verdict.decisions.iter().enumerate().filter(|(_, it)| part.places.contains(&it.place));
            let enforced = || own().filter(|(_, decision)| decision.is_enforced());
            let over = enforced().any(|(_, decision)| !decision.decision.is_admitted());
            let by = tightest(enforced).or_else(|| tightest(own));
            let status = match by {
                Some(by) => DescriptorStatus::Decided { by, over },
                None if part.unlimited && part.places.is_empty() => DescriptorStatus::Unlimited,
                None => DescriptorStatus::Unmatched,
            };
            DescriptorAnswer { rules: part.rules.to_vec(), status }
        };
        self.parts.iter().map(answer).collect()
    }

    /// Leaves the refusals of quota rules out of the ruling while not all of them refuse; of several that all do, all but
    /// those of the descriptor that is the first to be admitted again.
    pub(super) fn judge(&self, verdict: &mut Verdict) {
        if !self.has_quota() || !matches!(verdict.ruling, Ruling::Allow { .. } | Ruling::Refuse { .. }) {
            return;
        }
        let quotas = || self.parts.iter().enumerate().filter(|(_, part)| !part.quotas.is_empty());
        let wait = |part: &Part| -> Option<Retry> {
            let refusing = verdict.decisions.iter().filter(|it| part.quotas.contains(&it.place));
            refusing.filter(|it| it.is_enforced()).filter_map(|it| it.decision.retry()).max()
        };
        let first = quotas().map(|(index, part)| Some((wait(part)?, index))).collect::<Option<Vec<_>>>();
        let first = first.and_then(|waits| waits.into_iter().min()).map(|(_, index)| index);
        let counts = |decision: &LimitDecision| {
            quotas().all(|(index, part)| Some(index) == first || !part.quotas.contains(&decision.place))
        };
        let excused: Vec<bool> = verdict.decisions.iter().map(|it| !counts(it)).collect();
        for (decision, excused) in verdict.decisions.iter_mut().zip(excused) {
            decision.excused = excused && !decision.decision.is_admitted();
        }
        verdict.ruling = combine::ruling(&verdict.decisions);
    }
}

impl Inner {
    /// Gives back what a call was charged that its quota rules refuse, and what a descriptor of an admitted call was that
    /// they refuse by itself.
    pub(super) async fn give_back_refused(
        &self,
        call: &Call,
        answers: &[DescriptorAnswer],
        verdict: &mut Verdict,
        at: Option<Timestamp>,
    ) {
        let refused = !verdict.is_allowed();
        let over = |(part, answer): (&Part, &DescriptorAnswer)| {
            let is_over = matches!(answer.status, DescriptorStatus::Decided { over: true, .. });
            (is_over && !part.quotas.is_empty()).then(|| part.places.clone())
        };
        let places: Vec<usize> = call.parts.iter().zip(answers).filter_map(over).flatten().collect();
        let charges = verdict.take_charges_where(|it| refused || places.contains(&it.place));
        if charges.is_empty() {
            return;
        }
        let settlement = Settlement::refund(charges);
        if let Err(error) = self.give_back(settlement.charges(), at).await {
            tracing::debug!(%error, "what a refused call was charged could not be given back");
            return;
        }
        verdict.account_for(&Settled::of(settlement));
    }

    /// Takes what limits that refused several units at once had left, as envoyproxy/ratelimit does, which counts before it
    /// compares. It is a call of its own, since how much is left is known by then only: what others took meanwhile is theirs,
    /// and where a window ends between the two it is the next one's. The wait that is told stays that of the refusal: for
    /// windows by the clock it is the same, for other quotas the least it can be.
    pub(super) async fn use_up(&self, call: &Call, verdict: &mut Verdict, options: CheckOptions) {
        if verdict.degraded.is_some() {
            return;
        }
        let checks = call.plan.checks(&self.limits, options.max_delay);
        let refused = verdict.decisions.iter().enumerate().filter(|(_, it)| !it.decision.is_admitted());
        let left = refused.filter(|(_, decision)| decision.decision.remaining > 0);
        let left = left.filter_map(|(index, decision)| {
            let ask = Ask::units(decision.decision.remaining).within(options.max_delay);
            Some((index, Check { ask, shadow: true, ..*checks.get(decision.place)? }))
        });
        let (places, asked): (Vec<usize>, Vec<Check<'_>>) = left.unzip();
        if asked.is_empty() {
            return;
        }
        // Where it is not answered the units stay, for whoever asks for so few.
        let Ok(decided) = self.through(async { self.store.decide(&asked, options.at).await }).await else {
            return;
        };
        for (index, outcome) in places.into_iter().zip(decided.outcomes) {
            if let Some(LimitDecision { decision, .. }) = verdict.decisions.get_mut(index) {
                *decision = Decision { answer: decision.answer, ..outcome.decision };
            }
        }
    }
}
