//! Asking the store, and deciding without it.
//!
//! A refusal of a moment ago is remembered; a breaker keeps requests from waiting for a store that is gone; what the store
//! does not decide, the limits' choices for that case do.

use smallvec::SmallVec;
#[cfg(feature = "policy")]
use tidegate_algorithms::Ask;
use tidegate_algorithms::{Quota, Span, Timestamp};
use tidegate_store::{Check, Decided, Give, Refund, Store as _, StoreError};

use crate::combine;
use crate::denial::{Asked, Name};
use crate::limit::{Disclosure, OnStoreFailure};
#[cfg(feature = "policy")]
use crate::limiter::Registered;
use crate::limiter::{CheckOptions, Inner};
use crate::outage::{Degraded, Pass, monotonic};
use crate::plan::Plan;
use crate::settle::Charge;
use crate::verdict::{LimitDecision, Ruling, Verdict};

type Checks<'c> = SmallVec<[Check<'c>; 4]>;
type Names = SmallVec<[Name; 4]>;

impl Inner {
    /// Asks for a plan's decisions and combines them.
    pub(crate) async fn ask(&self, plan: &Plan, options: CheckOptions) -> Verdict {
        if plan.is_empty() {
            return Verdict::without_decisions(Ruling::Allow { delay: Span::ZERO });
        }
        let checks = plan.checks(&self.limits, options.max_delay);
        // Who only looks, or says what time it is, asks the store itself.
        let remembers = self.denial_cap.filter(|_| !options.peek && options.at.is_none());
        let names: Names = match remembers {
            Some(_) => checks.iter().map(|check| self.lasting.denials.name(check)).collect(),
            None => Names::new(),
        };
        if let Some(verdict) = self.remembered(plan, &checks, &names) {
            return verdict;
        }
        match self.store_answer(&checks, &names, options).await {
            Ok(answer) => {
                let mut verdict = combine::decided(plan, &self.limits, answer);
                for (decision, name) in verdict.decisions.iter_mut().zip(names) {
                    decision.name = Some(name);
                }
                verdict
            }
            Err(error) => {
                self.lasting.observer.store_error();
                tracing::debug!(%error, "decided without the store");
                self.without_store(plan, &checks, options)
            }
        }
    }

    /// Asks the store, unless it is known to be gone.
    async fn store_answer(
        &self,
        checks: &Checks<'_>,
        names: &Names,
        options: CheckOptions,
    ) -> Result<Decided, StoreError> {
        let ask = async {
            if options.peek {
                self.store.peek(checks, options.at).await
            } else {
                self.store.decide(checks, options.at).await
            }
        };
        if self.lasting.own_store.is_some() {
            // A store of this process has no outages.
            return ask.await;
        }
        let breaker = &self.lasting.outage.breaker;
        let sent = monotonic();
        let pass = breaker.pass(sent);
        if let Pass::Without(why) = &pass {
            return Err(StoreError::unavailable(format!("it did not answer lately: {why}")));
        }
        let answer = ask.await;
        let known = monotonic();
        self.lasting.observer.durations.record(known.saturating_duration_since(sent));
        match &answer {
            Ok(decided) => {
                breaker.answered(known);
                if let Some(cap) = self.denial_cap {
                    self.remember(checks, names, decided, Asked { sent, known, cap });
                }
            }
            Err(error) => breaker.failed(error, known),
        }
        drop(pass);
        answer
    }

    /// Returns the verdict on a request one of whose limits has just refused as much: the others are not asked.
    fn remembered(&self, plan: &Plan, checks: &Checks<'_>, names: &Names) -> Option<Verdict> {
        self.denial_cap?;
        let now = monotonic();
        let mut decisions: SmallVec<[LimitDecision; 4]> = SmallVec::new();
        let mut at = None;
        for (place, ((check, name), limit)) in
            checks.iter().zip(names).zip(plan.limits(&self.limits)).enumerate()
        {
            if check.shadow {
                continue;
            }
            if let Some((decision, when)) = self.lasting.denials.find(*name, check, now) {
                at = at.max(Some(when));
                decisions.push(LimitDecision::new(limit.clone(), decision, None, place));
            }
        }
        if decisions.is_empty() {
            return None;
        }
        let ruling = combine::ruling(&decisions);
        Some(Verdict { decisions, at, ..Verdict::without_decisions(ruling) })
    }

    fn remember(&self, checks: &Checks<'_>, names: &Names, decided: &Decided, asked: Asked) {
        for ((check, name), outcome) in checks.iter().zip(names).zip(&decided.outcomes) {
            if !check.shadow && !outcome.decision.is_admitted() {
                let what = (outcome.decision, decided.at);
                self.lasting.denials.remember((*name, check), what, asked);
            }
        }
    }

    /// Decides without the store: one enforced limit that denies then denies the request; else those that go on in this
    /// process decide it; else it passes uncounted.
    fn without_store(&self, plan: &Plan, checks: &Checks<'_>, options: CheckOptions) -> Verdict {
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
                let registered = self.limits.get(asked.limit)?;
                let id = store.limit(&registered.storage_name);
                Some((place, limit, check, id, check.quota.share_of(self.instances)))
            })
            .collect();
        let own = chosen.iter().map(|(_, _, check, id, share)| Check { limit: *id, quota: share, ..**check });
        let own: Checks<'_> = own.collect();
        let answer = if options.peek { store.peek(&own, options.at) } else { store.decide(&own, options.at) };
        let answer = answer.now()?.ok()?;
        let decisions: SmallVec<[LimitDecision; 4]> = chosen
            .iter()
            .zip(answer.outcomes)
            .map(|((place, limit, _, _, share), outcome)| LimitDecision {
                share: Some(*share),
                ..LimitDecision::new((*limit).clone(), outcome.decision, outcome.receipt, *place)
            })
            .collect();
        let ruling = combine::ruling(&decisions);
        Some(Verdict { decisions, at: Some(answer.at), ..Verdict::without_decisions(ruling) })
    }

    /// Gives charges back where they were made.
    ///
    /// # Errors
    /// When the shared store does not answer; what it was to give back is then unknown.
    pub(crate) async fn give_back<'c>(
        &self,
        given: impl Iterator<Item = (&'c Charge, Give)>,
        at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let (mut shared, mut own) = (SmallVec::<[Refund<'_>; 4]>::new(), SmallVec::<[Refund<'_>; 2]>::new());
        for (charge, give) in given {
            if let Some(name) = charge.name {
                self.lasting.denials.forget(name);
            }
            let refund = Refund { receipt: charge.receipt, quota: charge.quota(), give };
            if charge.share.is_some() { own.push(refund) } else { shared.push(refund) }
        }
        if !own.is_empty()
            && let Some(given) = self.lasting.outage.local.get()?.refund(&own, at).now()
        {
            given?;
        }
        if shared.is_empty() {
            return Ok(());
        }
        self.through(async { self.store.refund(&shared, at).await }).await
    }

    /// Forgets a key of a limit, here and in the store.
    ///
    /// # Errors
    /// When the store does not answer; whether it has forgotten is unknown.
    #[cfg(feature = "policy")]
    pub(crate) async fn forget_key(&self, registered: &Registered, key: &[u8]) -> Result<(), StoreError> {
        let limit = registered.id;
        self.through(async { self.store.reset(limit, key).await }).await?;
        // Afterwards: what was refused while the store was asked must not be remembered beyond it.
        for variant in &registered.variants {
            let check = Check { limit, key, quota: variant.quota(), ask: Ask::ONE, shadow: false };
            self.lasting.denials.forget(self.lasting.denials.name(&check));
        }
        let local = self.lasting.outage.local.get()?;
        match local.reset(local.limit(&registered.storage_name), key).now() {
            Some(forgotten) => forgotten,
            None => Ok(()),
        }
    }

    /// Asks whether the store answers.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let answer = self.store.ping().await;
        let breaker = &self.lasting.outage.breaker;
        match &answer {
            Ok(()) => breaker.answered(monotonic()),
            Err(error) => breaker.failed(error, monotonic()),
        }
        answer
    }

    /// Sends what is no decision through the breaker.
    async fn through(&self, call: impl Future<Output = Result<(), StoreError>>) -> Result<(), StoreError> {
        if self.lasting.own_store.is_some() {
            return call.await;
        }
        let breaker = &self.lasting.outage.breaker;
        let pass = breaker.pass(monotonic());
        if let Pass::Without(why) = &pass {
            return Err(StoreError::unavailable(format!("it did not answer lately: {why}")));
        }
        let answer = call.await;
        match &answer {
            Ok(()) => breaker.answered(monotonic()),
            Err(error) => breaker.failed(error, monotonic()),
        }
        drop(pass);
        answer
    }
}

impl Charge {
    /// Returns the numbers that the charge was made under.
    pub(crate) fn quota(&self) -> &Quota {
        self.share.as_ref().unwrap_or_else(|| self.limit.quota())
    }
}
