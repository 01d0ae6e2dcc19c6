//! Deciding without the store, as the limits choose for that case.

use std::time::Instant;

use smallvec::SmallVec;
use tidegate_store::{Check, Store as _, StoreError};

use super::Degraded;
use crate::ask::Checks;
use crate::combine;
use crate::decisions::Decisions;
use crate::inner::Inner;
use crate::limit::{Disclosure, OnStoreFailure};
use crate::options::CheckOptions;
use crate::plan::Plan;
use crate::verdict::{LimitDecision, Ruling, Verdict};

impl Inner {
    /// Decides without the store: one enforced limit that denies then denies the request; else those that go on in this
    /// process decide it; else it passes uncounted.
    pub(crate) fn without_store(&self, plan: &Plan, checks: &Checks<'_>, options: CheckOptions) -> Verdict {
        let choices = || plan.limits(&self.limits).filter(|limit| !limit.is_shadow());
        let denies = choices().any(|limit| limit.store_failure() == OnStoreFailure::Deny);
        let goes_on = choices().any(|limit| limit.store_failure() == OnStoreFailure::Local);
        let local = if goes_on && !denies { self.decide_here(plan, checks, options) } else { None };
        let (how, verdict) = match local {
            Some(verdict) => (Degraded::Local, verdict),
            None if denies || goes_on => (Degraded::Denied, Verdict::without_decisions(Ruling::StoreDown)),
            None => (Degraded::Uncounted, Verdict::without_decisions(Ruling::Uncounted)),
        };
        if !options.peek {
            self.lasting.observer.without.count(how);
        }
        let discreet = choices().any(|limit| limit.disclosure() == Disclosure::Nothing);
        Verdict { degraded: Some(how), discreet, ..verdict }
    }

    /// Decides the limits that go on in this process, against this process's share of them; `None` when there is no store
    /// for that either.
    fn decide_here(&self, plan: &Plan, checks: &Checks<'_>, options: CheckOptions) -> Option<Verdict> {
        let store = match self.lasting.outage.local.get() {
            Ok(store) => store,
            Err(error) => {
                tracing::error!(%error, "no store of this process's own either");
                return None;
            }
        };
        let all = plan.asked().zip(plan.limits(&self.limits)).zip(checks).enumerate();
        let chosen = all.filter(|(_, ((_, limit), _))| limit.store_failure() == OnStoreFailure::Local);
        let chosen: SmallVec<[_; 4]> = chosen
            .filter_map(|(place, (((asked, _), limit), check))| {
                let known = plan.find(&self.limits, asked.limit)?;
                let id = store.limit(known.storage_name);
                Some((place, limit, check, id, check.quota.share_of(self.instances())))
            })
            .collect();
        let own = chosen.iter().map(|(_, _, check, id, share)| Check { limit: *id, quota: share, ..**check });
        let own: Checks<'_> = own.collect();
        let answer = if options.peek { store.peek(&own, options.at) } else { store.decide(&own, options.at) };
        let answer = answer.now()?.ok()?;
        let decisions: Decisions = chosen
            .iter()
            .zip(answer.outcomes)
            .map(|((place, limit, _, _, share), outcome)| LimitDecision {
                share: Some(Box::new(*share)),
                ..LimitDecision::new((*limit).clone(), outcome.decision, outcome.receipt, *place)
            })
            .collect();
        let ruling = combine::ruling(&decisions);
        Some(Verdict { decisions, at: Some(answer.at), ..Verdict::without_decisions(ruling) })
    }

    /// Notes that the store did not answer, and tells when that begins an outage.
    pub(crate) fn failed(&self, error: &StoreError, now: Instant) {
        if self.lasting.outage.breaker.failed(error, now) {
            let (what, [deny, allow, local]) = self.choices();
            tracing::error!(
                %error,
                "the store is lost: until it answers again, requests are decided without it; of the {what}, {deny} \
                 deny, {allow} allow, {local} go on in this process"
            );
        }
    }

    /// Returns how many rules, or limits where there are no rules, choose to deny, to allow and to go on.
    fn choices(&self) -> (&'static str, [usize; 3]) {
        let mut counts = [0_usize; 3];
        let mut count = |choice| {
            let place = match choice {
                OnStoreFailure::Deny => 0,
                OnStoreFailure::Allow => 1,
                OnStoreFailure::Local => 2,
            };
            if let Some(count) = counts.get_mut(place) {
                *count = count.saturating_add(1);
            }
        };
        #[cfg(feature = "policy")]
        if let Some(compiled) = &self.policy {
            let rules = compiled.policy.rules.iter().chain(&compiled.policy.fallback);
            rules.for_each(|rule| count(crate::compile::store_failure(rule.on_store_failure)));
            return ("rules", counts);
        }
        let limits = self.limits.iter().filter_map(|registered| registered.variants.first());
        limits.for_each(|limit| count(limit.store_failure()));
        ("limits", counts)
    }
}
