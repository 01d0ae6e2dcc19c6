//! Batches with counters: all else is decided first, then each counter is counted. When one refuses, what was charged before
//! it is given back, and those that are left are only looked at.

use tidegate_algorithms::{Decision, Timestamp};
use tidegate_store::{ChargeReceipt, Check, CheckOutcome, Decided, Give, LimitId, Refund, StoreError};

use tokio::time::Instant;

use super::{Tally, Told, What, window};
use crate::RedisStore;
use crate::error::Failure;
use crate::op::{Answer, Digest, Op, OwnCheck, OwnRefund};

/// A check of a batch with its place, and the name of the counter if it is one's.
#[derive(Debug, Clone)]
struct Part {
    place: usize,
    check: OwnCheck,
    counter: Option<Vec<u8>>,
}

/// What came of a batch so far.
#[derive(Debug)]
struct Progress {
    outcomes: Vec<Option<CheckOutcome>>,
    at: Timestamp,
    admitted: bool,
}

impl RedisStore {
    /// Decides a batch with counters in it, by the server's clock alone: their ends are Redis's own. Where several calls are
    /// needed they are made by a task of its own, which ends properly (all charged, or what was charged given back) although
    /// the caller may leave.
    pub(crate) async fn decided_with_counters(
        &self,
        checks: &[Check<'_>],
        at: Option<Timestamp>,
        peek: bool,
    ) -> Result<Decided, StoreError> {
        if at.is_some() {
            let words =
                "a shared counter ends by the server's clock, and an instant was given; ask without one";
            return Err(StoreError::rejected(words));
        }
        let own = self.names().checks(checks)?;
        let parts: Vec<Part> = checks
            .iter()
            .zip(own)
            .enumerate()
            .map(|(place, (given, check))| {
                let counter = self.names().is_counter(check.limit).then(|| given.key.to_vec());
                Part { place, check, counter }
            })
            .collect();
        let (counters, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.counter.is_some());
        if others.is_empty() && counters.len() == 1 {
            return self.decide_parts(others, counters, peek).await;
        }
        let store = self.clone();
        let task = tokio::spawn(async move { store.decide_parts(others, counters, peek).await });
        task.await
            .unwrap_or_else(|_| Err(StoreError::unavailable("the runtime was stopped").perhaps_counted()))
    }

    async fn decide_parts(
        &self,
        others: Vec<Part>,
        counters: Vec<Part>,
        peek: bool,
    ) -> Result<Decided, StoreError> {
        let count = others.len().saturating_add(counters.len());
        let mut progress = Progress { outcomes: vec![None; count], at: Timestamp::default(), admitted: true };
        if !others.is_empty() {
            let decided = self.decide_others(&others, peek).await?;
            progress.at = decided.at;
            progress.admitted = decided.admitted;
            for (part, outcome) in others.iter().zip(decided.outcomes) {
                progress.set(part.place, outcome);
            }
        }
        let mut charged = !peek && progress.admitted && !others.is_empty();
        for part in &counters {
            let looks = peek || !progress.admitted || part.check.ask.cost() == 0;
            let told = match self.ask_counter(part, looks).await {
                Ok(told) => told,
                Err(error) => {
                    let given = !charged || self.give_back(&others, &counters, &progress).await;
                    return Err(if given { error } else { error.perhaps_counted() });
                }
            };
            if others.is_empty() {
                progress.at = progress.at.max(told.at);
            }
            charged |= progress.note(part, told, !looks);
        }
        if !progress.admitted && charged {
            self.give_back(&others, &counters, &progress).await;
            self.leave_untouched(&others, &counters, &mut progress).await;
        }
        Ok(progress.decided())
    }

    async fn decide_others(&self, others: &[Part], peek: bool) -> Result<Decided, StoreError> {
        let checks = others.iter().map(|part| part.check).collect();
        match self.ask(Op::Decide { checks, peek }, None).await? {
            Answer::Decided(decided) => Ok(decided),
            _ => Err(Failure::other_answer().error),
        }
    }

    async fn ask_counter(&self, part: &Part, looks: bool) -> Result<Told, StoreError> {
        let window = window(&part.check.quota);
        let units = part.check.ask.cost();
        let what = if looks { What::Look { window } } else { What::Count { units, window } };
        let name = part.counter.clone().unwrap_or_default();
        if !looks {
            self.given().note(part.check.digest, &name);
        }
        self.ask_tally(Tally { name, what }).await
    }

    /// Asks a counter.
    pub(crate) async fn ask_tally(&self, tally: Tally) -> Result<Told, StoreError> {
        match self.ask(Op::Counter(tally), None).await? {
            Answer::Told(told) => Ok(told),
            _ => Err(Failure::other_answer().error),
        }
    }

    /// Gives back all that a batch was charged, and says whether all of it was.
    async fn give_back(&self, others: &[Part], counters: &[Part], progress: &Progress) -> bool {
        let receipt = |part: &Part| progress.outcomes.get(part.place)?.as_ref()?.receipt;
        let refunds: Vec<OwnRefund> = others
            .iter()
            .filter_map(|part| {
                let (digest, quota) = (part.check.digest, part.check.quota);
                Some(OwnRefund { digest, quota, receipt: *receipt(part)?.receipt(), give: Give::Charge })
            })
            .collect();
        let mut all = refunds.is_empty() || self.ask(Op::Refund(refunds), None).await.is_ok();
        for part in counters {
            let Some((tally, name)) = receipt(part).zip(part.counter.clone()) else { continue };
            all &= self.ask_tally(Tally { name, what: giving(&tally) }).await.is_ok();
        }
        all
    }

    /// Takes the receipts out of what was given back, and puts the numbers without it in, where they can be had.
    async fn leave_untouched(&self, others: &[Part], counters: &[Part], progress: &mut Progress) {
        if !others.is_empty() {
            let looked = self.decide_others(others, true).await.ok();
            let mut looked = looked.into_iter().flat_map(|decided| decided.outcomes);
            for part in others {
                progress.give(part.place, looked.next().map(|outcome| outcome.decision));
            }
        }
        for part in counters {
            let told = self.ask_counter(part, true).await.ok();
            progress.give(part.place, told.map(|told| told.decision(&part.check.quota, 0, true)));
        }
    }

    /// Gives back what was charged to counters, by receipts: as long as the window lasts that was charged.
    pub(crate) async fn refund_counter(&self, refund: &Refund<'_>, deadline: Instant) -> Result<(), Failure> {
        let digest = Digest::of_key(refund.receipt.key());
        let Some(name) = self.given().name(digest) else { return Ok(()) };
        let what = if refund.give == Give::All { What::Forget } else { giving(&refund.receipt) };
        self.ask_until(Op::Counter(Tally { name, what }), None, deadline).await.map(drop)
    }

    /// Returns whether a limit's keys are names of counters.
    pub(crate) fn is_counter(&self, limit: LimitId) -> bool {
        self.names().is_counter(limit)
    }
}

/// Returns the question that takes a charge back.
fn giving(receipt: &ChargeReceipt) -> What {
    let ends = match receipt.receipt().place() {
        tidegate_algorithms::Place::HitWindow { closes_at, .. } => closes_at / 1_000,
        _ => 0,
    };
    What::Give { units: receipt.units(), ends }
}

impl Progress {
    fn set(&mut self, place: usize, outcome: CheckOutcome) {
        if let Some(held) = self.outcomes.get_mut(place) {
            *held = Some(outcome);
        }
    }

    /// Notes what a counter told; returns whether it was charged.
    fn note(&mut self, part: &Part, told: Told, counted: bool) -> bool {
        let OwnCheck { quota, ask, shadow, limit, digest } = part.check;
        let decision = told.decision(&quota, ask.cost(), counted);
        self.admitted &= shadow || decision.is_admitted();
        let charged = counted && decision.is_admitted();
        let receipt =
            charged.then(|| ChargeReceipt::new(limit, digest.to_key(), &quota, told.receipt(ask.cost())));
        self.set(part.place, CheckOutcome { decision, receipt });
        charged
    }

    fn give(&mut self, place: usize, untouched: Option<Decision>) {
        let Some(Some(outcome)) = self.outcomes.get_mut(place) else { return };
        outcome.receipt = None;
        if let Some(untouched) = untouched {
            outcome.decision = Decision { answer: outcome.decision.answer, ..untouched };
        }
    }

    fn decided(self) -> Decided {
        let outcomes = self.outcomes.into_iter().flatten().collect();
        Decided { admitted: self.admitted, at: self.at, outcomes }
    }
}
