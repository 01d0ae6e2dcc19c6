//! Questions whose keys lie in several slots.
//!
//! A batch is charged slot by slot, in ascending order. When one refuses, what was charged before is given back by its
//! receipts, and those that are left are only looked at. So no limit is ever exceeded; for a moment another request may be
//! refused by a charge that is about to be given back.

use std::collections::BTreeMap;

use tidegate_algorithms::Timestamp;
use tidegate_store::{CheckOutcome, Decided, Give, Outcomes, StoreError};
use tokio::time::Instant;

use super::Cluster;
use crate::digest::slot;
use crate::error::{Failure, Kind};
use crate::lane::Together;
use crate::measures::Event;
use crate::op::{Answer, Digest, Op, OwnCheck, OwnRefund};

/// The checks of one slot, with their places in the batch.
type Part = Vec<(usize, OwnCheck)>;

/// What came of a batch so far.
#[derive(Debug)]
struct Progress {
    outcomes: Vec<Option<CheckOutcome>>,
    charged: Vec<(u16, Part)>,
    admitted: bool,
    at: Timestamp,
}

impl Cluster {
    /// Asks whoever has the slots of a question's keys.
    pub(crate) async fn ask(&self, op: Op, together: Together, deadline: Instant) -> Result<Answer, Failure> {
        match op {
            Op::Decide { checks, peek } => {
                self.decide(checks, peek, (together, deadline)).await.map(Answer::Decided)
            }
            Op::Refund(refunds) => self.refund(refunds, together, deadline).await.map(|()| Answer::Done),
            Op::Reset(digest) | Op::Inspect(digest) => {
                self.ask_slot(self.slot(digest), &op, together, deadline).await
            }
        }
    }

    fn slot(&self, digest: Digest) -> u16 {
        slot(&digest.redis_key(&self.0.lane_options.prefix))
    }

    async fn decide(
        &self,
        checks: Vec<OwnCheck>,
        peek: bool,
        (together, deadline): (Together, Instant),
    ) -> Result<Decided, Failure> {
        let mut parts: BTreeMap<u16, Part> = BTreeMap::new();
        let count = checks.len();
        for (place, check) in checks.into_iter().enumerate() {
            parts.entry(self.slot(check.digest)).or_default().push((place, check));
        }
        let mut progress = Progress {
            outcomes: vec![None; count],
            charged: Vec::new(),
            admitted: true,
            at: together.at.unwrap_or_default(),
        };
        for (slot, part) in parts {
            let looks = peek || !progress.admitted;
            match self.decide_part(slot, &part, looks, (together, deadline)).await {
                Ok(decided) => progress.note(slot, part, decided, looks),
                Err(failure) => return Err(self.give_up(progress, together, failure).await),
            }
        }
        if !progress.admitted && !progress.charged.is_empty() {
            let charged = std::mem::take(&mut progress.charged);
            let given = self.give_back(&charged, &progress.outcomes, together).await;
            for (slot, part) in charged {
                // Untouched numbers, where they can be had; those after the charge say a little less.
                let looked = self.decide_part(slot, &part, true, (together, deadline)).await.ok();
                progress.untouched(&part, looked.filter(|_| given));
            }
        }
        Ok(progress.decided())
    }

    async fn decide_part(
        &self,
        slot: u16,
        part: &Part,
        peek: bool,
        (together, deadline): (Together, Instant),
    ) -> Result<Decided, Failure> {
        let checks = part.iter().map(|(_, check)| *check).collect();
        match self.ask_slot(slot, &Op::Decide { checks, peek }, together, deadline).await? {
            Answer::Decided(decided) => Ok(decided),
            Answer::Done | Answer::State(_) => {
                Err(Failure::unreadable(StoreError::rejected("the script answered another question")))
            }
        }
    }

    /// Gives back what a batch was charged that will not be decided, and says whether anything of it may stay counted.
    async fn give_up(&self, progress: Progress, together: Together, failure: Failure) -> Failure {
        let given = progress.charged.is_empty()
            || self.give_back(&progress.charged, &progress.outcomes, together).await;
        if given { failure } else { Failure { error: failure.error.perhaps_counted(), ..failure } }
    }

    /// Gives charges back in a task of its own, so that nobody who leaves stops it half way; returns whether all are.
    async fn give_back(
        &self,
        charged: &[(u16, Part)],
        outcomes: &[Option<CheckOutcome>],
        together: Together,
    ) -> bool {
        let refunds: Vec<(u16, Vec<OwnRefund>)> = charged
            .iter()
            .map(|(slot, part)| {
                let refunds = part.iter().filter_map(|(place, check)| {
                    let receipt = outcomes.get(*place)?.as_ref()?.receipt?;
                    let (digest, quota) = (check.digest, check.quota);
                    Some(OwnRefund { digest, quota, receipt: *receipt.receipt(), give: Give::Charge })
                });
                (*slot, refunds.collect())
            })
            .collect();
        let cluster = self.clone();
        let deadline = Instant::now() + self.0.lane_options.timeout;
        let task = tokio::spawn(async move {
            let mut all = true;
            for (slot, refunds) in refunds.into_iter().filter(|(_, refunds)| !refunds.is_empty()) {
                let count = u64::try_from(refunds.len()).unwrap_or(u64::MAX);
                let answer = cluster.ask_slot(slot, &Op::Refund(refunds), together, deadline).await;
                cluster.0.counters.happened(Event::Compensated, if answer.is_ok() { count } else { 0 });
                all &= answer.is_ok();
            }
            all
        });
        task.await.unwrap_or(false)
    }

    async fn refund(
        &self,
        refunds: Vec<OwnRefund>,
        together: Together,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let mut parts: BTreeMap<u16, Vec<OwnRefund>> = BTreeMap::new();
        for refund in refunds {
            parts.entry(self.slot(refund.digest)).or_default().push(refund);
        }
        let mut failed = None;
        for (slot, refunds) in parts {
            // One node that is gone is no reason to keep what others were charged.
            if let Err(failure) = self.ask_slot(slot, &Op::Refund(refunds), together, deadline).await {
                failed = Some(failure);
            }
        }
        failed.map_or(Ok(()), |failure| {
            let error = match failure.kind {
                // Other parts were given back.
                Kind::Timeout => failure.error.perhaps_counted(),
                _ => failure.error,
            };
            Err(Failure { kind: failure.kind, error })
        })
    }
}

impl Progress {
    fn note(&mut self, slot: u16, part: Part, decided: Decided, looked: bool) {
        self.at = self.at.max(decided.at);
        self.admitted &= decided.admitted;
        for ((place, _), outcome) in part.iter().zip(decided.outcomes) {
            if let Some(held) = self.outcomes.get_mut(*place) {
                *held = Some(outcome);
            }
        }
        if decided.admitted && !looked {
            self.charged.push((slot, part));
        }
    }

    /// Takes the receipts of charges that were given back out, and puts the numbers without them in.
    fn untouched(&mut self, part: &Part, looked: Option<Decided>) {
        let mut numbers = looked.map(|decided| decided.outcomes.into_iter());
        for (place, _) in part {
            let Some(Some(outcome)) = self.outcomes.get_mut(*place) else { continue };
            outcome.receipt = None;
            if let Some(looked) = numbers.as_mut().and_then(Iterator::next) {
                outcome.decision =
                    tidegate_algorithms::Decision { answer: outcome.decision.answer, ..looked.decision };
            }
        }
    }

    fn decided(self) -> Decided {
        let outcomes: Outcomes = self.outcomes.into_iter().flatten().collect();
        Decided { admitted: self.admitted, at: self.at, outcomes }
    }
}
